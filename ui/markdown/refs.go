package markdown

import (
	"strings"

	"github.com/yuin/goldmark/parser"
)

// refs are the link targets that stand apart from their links: [label]: target.
type refs struct {
	defs []parser.Reference
	late bool // one came after text that may use it
}

// maxRefs bounds how many are kept.
const maxRefs = 500

// line notes the definition that a line holds, if any.
func (r *refs) line(line string) {
	col, rest := indentation(line)
	if col >= 4 || len(rest) < 5 || rest[0] != '[' || len(r.defs) >= maxRefs {
		return
	}
	label, target, ok := strings.Cut(rest[1:], "]:")
	target = strings.TrimSpace(target)
	if !ok || label == "" || target == "" || strings.ContainsAny(label, "[]") || label[0] == '^' { // a footnote points nowhere
		return
	}
	target, _, _ = strings.Cut(target, " ")
	r.defs = append(r.defs, parser.NewReference([]byte(label), []byte(strings.Trim(target, "<>")), nil))
	r.late = true
}

func (r *refs) context() parser.Context {
	ctx := parser.NewContext()
	for _, d := range r.defs {
		ctx.AddReference(d)
	}
	return ctx
}
