package words_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"vitrine/ui/words"
)

// listed is a package as go list gives it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// program is the program's own packages, type-checked: those that use texts, and those whose errors and notices are told.
type program struct {
	fset *token.FileSet
	pkgs map[string]*checked
}

type checked struct {
	files []*ast.File
	info  *types.Info
}

// load gives the program; it is checked once for all tests.
func load(t *testing.T) *program {
	t.Helper()
	if testing.Short() {
		t.Skip("type-checks the program")
	}
	prog, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

var loaded = sync.OnceValues(check)

// check type-checks our packages from source, over the export data of all else.
func check() (*program, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "vitrine")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath == "vitrine" || strings.HasPrefix(p.ImportPath, "vitrine/") {
			ours = append(ours, p)
		}
	}
	prog := &program{fset: token.NewFileSet(), pkgs: map[string]*checked{}}
	conf := types.Config{Importer: importer.ForCompiler(prog.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	for _, p := range ours {
		c := &checked{info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(prog.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			c.files = append(c.files, f)
		}
		if _, err := conf.Check(p.ImportPath, prog.fset, c.files, c.info); err != nil {
			return nil, err
		}
		prog.pkgs[p.ImportPath] = c
	}
	return prog, nil
}

// at is a place as file:line within the module.
func (p *program) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	root, _ := filepath.Abs("../..")
	name, err := filepath.Rel(root, pos.Filename)
	if err != nil {
		name = pos.Filename
	}
	return fmt.Sprintf("%s:%d", filepath.ToSlash(name), pos.Line)
}

// each calls f for every string constant that is written in a package, the whole of one that is joined by +.
func (c *checked) each(f func(e ast.Expr, tv types.TypeAndValue, value string, parents []ast.Node)) {
	for _, file := range c.files {
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			switch e.(type) {
			case *ast.BasicLit, *ast.BinaryExpr:
			default:
				return true
			}
			tv := c.info.Types[e]
			if tv.Value == nil || tv.Value.Kind() != constant.String {
				return true
			}
			f(e, tv, constant.StringVal(tv.Value), stack)
			stack = stack[:len(stack)-1]
			return false
		})
	}
}

// isType says that a type is one of package words.
func isType(t types.Type, name string) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "vitrine/ui/words"
}

// Every text has Chinese, every entry of a table is used, and the arguments fit the verbs.
func TestTextsAndTablesMatch(t *testing.T) {
	prog := load(t)
	used := map[words.Text]bool{}
	for path, c := range prog.pkgs {
		tables := path == "vitrine/ui/words"
		c.each(func(e ast.Expr, tv types.TypeAndValue, value string, parents []ast.Node) {
			if !isType(tv.Type, "Text") || value == "" || tables && inTable(parents) {
				return
			}
			used[words.Text(value)] = true
			if _, ok := words.Table()[words.Text(value)]; !ok && word.MatchString(words.Plain(value)) {
				t.Errorf("%s: %q has no Chinese: add it to a table of ui/words", prog.at(e), value)
			}
			if call, first := callOf(parents); call != nil && call.Ellipsis == token.NoPos {
				if want, got := words.Verbs(value), len(call.Args)-first-1; got != want && (got > 0 || want > 0) {
					t.Errorf("%s: %q takes %d arguments and has %d", prog.at(e), value, want, got)
				}
			}
		})
		for _, file := range c.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && isType(c.info.Types[call.Fun].Type, "Text") && c.info.Types[call.Fun].IsType() && c.info.Types[call.Args[0]].Value == nil && path != "vitrine/ui/words" {
					t.Errorf("%s: a Text that is no constant; Tell is for texts from elsewhere", prog.at(call))
				}
				return true
			})
		}
	}
	for text := range words.Table() {
		if !used[text] {
			t.Errorf("%q stands in a table and nothing says it", text)
		}
	}
}

// inTable says that a constant stands in one of the tables.
func inTable(parents []ast.Node) bool {
	for _, n := range parents {
		if f, ok := n.(*ast.FuncDecl); ok {
			return strings.HasSuffix(f.Name.Name, "Table")
		}
	}
	return false
}

// word is what makes a text one that needs a translation.
var word = regexp.MustCompile(`[A-Za-z]`)

// callOf gives the call of T, N or a line that the constant is an argument of, and its place among the arguments.
func callOf(parents []ast.Node) (*ast.CallExpr, int) {
	if len(parents) < 2 {
		return nil, 0
	}
	call, ok := parents[len(parents)-2].(*ast.CallExpr)
	if !ok {
		return nil, 0
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"T", "N", "line", "progress", "head"}, sel.Sel.Name) {
		return nil, 0
	}
	return call, slices.Index(call.Args, parents[len(parents)-1].(ast.Expr))
}

// elsewhere are texts of the system and of libraries.
var elsewhere = []string{"permission denied", "no space left on device", "read-only file system", "is a directory", "not a directory", "no such file or directory", "connection refused", "context deadline exceeded", "flag needs an argument: %s",
	"unexpected end of JSON input", "invalid character %s looking for beginning of value", "invalid character %s after object key:value pair",
	"invalid character %s after object key", "invalid character %s after array element", "invalid character %s in string literal",
	"invalid character %s looking for beginning of object key string", "invalid character %s after top-level value"}

// profiles is the profiles' file, which holds hints.
func profiles(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../llm/profile/profiles.toml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), `\"`, `"`)
}

// saying are the fields, and the functions, that take what a model client says.
var (
	sayingFields = []string{"Message", "message", "Why", "Todo", "Hint", "what"}
	sayingFuncs  = []string{"note", "told", "alien"}
)

// Whatever model clients say of servers, and whatever the profiles advise, has Chinese.
func TestModelClientsAreTold(t *testing.T) {
	prog := load(t)
	told := words.Told()
	check := func(at, text string) {
		text = strings.Trim(text, " ;:,.")
		if !strings.Contains(text, " ") { // a name
			return
		}
		for en := range told {
			if strings.Contains(en, text) {
				return
			}
		}
		t.Errorf("%s: %q has no Chinese: add it to toldModels", at, text)
	}
	names := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		}
		return ""
	}
	found := 0
	for _, path := range []string{"vitrine/llm", "vitrine/llm/openai", "vitrine/llm/protocol"} {
		c := prog.pkgs[path]
		c.each(func(e ast.Expr, _ types.TypeAndValue, value string, parents []ast.Node) {
			for i, n := range slices.Backward(parents[:len(parents)-1]) {
				says := false
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					says = n.Value == parents[i+1] && slices.Contains(sayingFields, names(n.Key))
				case *ast.AssignStmt:
					says = len(n.Lhs) == 1 && slices.Contains(sayingFields, names(n.Lhs[0])) && n.Rhs[0] == parents[i+1]
				case *ast.CallExpr:
					says = slices.Contains(sayingFuncs, names(n.Fun))
				}
				if says {
					found++
					check(prog.at(e), value)
					return
				}
			}
		})
	}
	for _, line := range regexp.MustCompile(`(?m)^(?:no_tools|not_found|tool_text|think_text|buffered|truncated|overflow) = "(.*)"$`).FindAllStringSubmatch(profiles(t), -1) {
		found++
		if zh := words.Chinese.Tell(line[1]); zh == line[1] {
			t.Errorf("a profile's hint has no Chinese: %q", line[1])
		}
	}
	if found < 50 {
		t.Errorf("%d texts were found", found)
	}
}

// Every format of what other parts tell is still made by one of them, as a whole or as a part of a longer constant.
func TestTold(t *testing.T) {
	prog := load(t)
	var all strings.Builder
	for path, c := range prog.pkgs {
		c.each(func(_ ast.Expr, tv types.TypeAndValue, value string, parents []ast.Node) {
			if path != "vitrine/ui/words" {
				all.WriteString(value + "\n")
			}
		})
	}
	all.WriteString(profiles(t))
	for en := range words.Told() {
		if slices.Contains(elsewhere, en) {
			continue
		}
		for _, piece := range words.Pieces(en) {
			if piece = strings.Trim(piece, ` .,;:()"`); !strings.Contains(all.String(), piece) && !strings.Contains(strings.ReplaceAll(all.String(), "_", " "), piece) {
				t.Errorf("told: %q is made nowhere: %q", en, piece)
			}
		}
	}
}
