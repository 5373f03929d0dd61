package scripted

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// wrongType is how the decoder tells that a value is of another type than its key; it names types of Go.
var wrongType = regexp.MustCompile(`^cannot decode TOML ([a-z ]+) into (?:struct field \S+ of type )?(\S+)$`)

// DecodeError puts the place that the decoder found in front of what is wrong.
func DecodeError(name string, err error) error {
	out := &ParseError{File: name, Line: 1, Column: 1, Message: err.Error()}
	var strict *toml.StrictMissingError
	var de *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		de = &strict.Errors[0]
		out.Message = fmt.Sprintf("unknown key %q", de.Key()[len(de.Key())-1])
	case errors.As(err, &de):
		out.Message = strings.TrimPrefix(de.Error(), "toml: ")
		if m := wrongType.FindStringSubmatch(out.Message); m != nil {
			out.Message = fmt.Sprintf("must be %s, not %s", wanted(m[2]), given(m[1]))
		}
	default:
		return out
	}
	out.Line, out.Column = de.Position()
	return out
}

// wanted says what a value of a type of Go is called in a file.
func wanted(goType string) string {
	switch {
	case goType == "string":
		return "a text in quotes"
	case goType == "int":
		return "a whole number"
	case goType == "bool":
		return "true or false"
	case strings.HasSuffix(strings.ToLower(goType), ".duration"):
		return `a time in quotes, such as "1.5s"`
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "a table"
}

// given says what stands there.
func given(kind string) string {
	switch kind {
	case "integer":
		return "a whole number"
	case "float":
		return "a number"
	case "boolean":
		return "true or false"
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "inline table":
		return "a table"
	}
	return "a date or a time of day"
}

// Position finds a key by its path. The path begins with the name of a table; i is which one of [[table]], or less than zero for
// other tables, and for keys before the first. What does not stand there by itself is where the longest beginning of its path is.
func Position(data []byte, i int, path ...string) (line, column int) {
	for len(path) > 1 && path[len(path)-1] == "" {
		path = path[:len(path)-1]
	}
	f := finder{path: path, line: 1, column: 1}
	f.p.Reset(data)
	in, n := 0, -1 // how much of the path the table that is read now has, and which of its name it is
	for f.p.NextExpression() {
		e := f.p.Expression()
		k := e.Key()
		if e.Kind == unstable.KeyValue {
			if in >= 0 && (i < 0 || n == i || in == 0) {
				f.value(e, in)
			}
			continue
		}
		if k.Next() && string(k.Node().Data) == path[0] && e.Kind == unstable.ArrayTable && k.IsLast() {
			n++
		}
		if in = -1; i < 0 || n == i {
			in = f.keys(e.Key(), 0)
		}
	}
	return f.line, f.column
}

// finder keeps the deepest place of a path so far.
type finder struct {
	p            unstable.Parser
	path         []string
	depth        int
	line, column int
}

// keys goes on with a path of which so much was found; what is returned is how much is found then, or -1 when it is another path.
func (f *finder) keys(k unstable.Iterator, found int) int {
	for k.Next() {
		if found >= len(f.path) || string(k.Node().Data) != f.path[found] {
			return -1
		}
		if found++; found > f.depth {
			at := f.p.Shape(k.Node().Raw).Start
			f.depth, f.line, f.column = found, at.Line, at.Column
		}
	}
	return found
}

// value looks through a key with its value, which may be a table.
func (f *finder) value(e *unstable.Node, found int) {
	found = f.keys(e.Key(), found)
	if found < 0 || e.Value().Kind != unstable.InlineTable {
		return
	}
	for in := e.Value().Children(); in.Next(); {
		f.value(in.Node(), found)
	}
}
