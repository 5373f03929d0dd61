package tools

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"vitrine/llm"
)

// maxKnown bounds the list of known tools in an error, in characters.
const maxKnown = 800

// Registry holds the tools of a program. It does not change after NewRegistry and is safe for concurrent use.
type Registry struct {
	sorted  []Tool
	byName  map[string]Tool
	folded  map[string]Tool
	version string
}

// NewRegistry makes a registry. It panics when a name is not usable or when two names differ in case only.
func NewRegistry(list ...Tool) *Registry {
	r := &Registry{
		sorted: slices.Clone(list),
		byName: make(map[string]Tool, len(list)),
		folded: make(map[string]Tool, len(list)),
	}
	slices.SortFunc(r.sorted, func(a, b Tool) int { return cmp.Compare(a.Name(), b.Name()) })
	h := sha256.New()
	for _, t := range r.sorted {
		name := t.Name()
		if !validName(name) {
			panic(fmt.Sprintf("tool name %q: use 1 to 64 of a-z A-Z 0-9 _ -", name))
		}
		if _, ok := r.folded[strings.ToLower(name)]; ok {
			panic(fmt.Sprintf("tool name %q is taken", name))
		}
		r.byName[name] = t
		r.folded[strings.ToLower(name)] = t
		fmt.Fprintf(h, "%q %q %q\n", name, t.Description(), t.Schema())
	}
	r.version = hex.EncodeToString(h.Sum(nil))[:16]
	return r
}

// validName is what every provider accepts as a tool's name.
func validName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= 64
}

// Get gives the tool of a name as a model wrote it. Beside the exact name it takes one that differs in case, in space around
// it, and in a leading "functions."; nothing else is guessed. The error is CodeUnknownTool and lists the known tools.
func (r *Registry) Get(name string) (Tool, *Error) {
	if t, ok := r.byName[name]; ok {
		return t, nil
	}
	if len(name) <= 256 {
		key := strings.ToLower(strings.TrimSpace(name))
		key = strings.TrimSpace(strings.TrimPrefix(key, "functions."))
		if t, ok := r.folded[key]; ok {
			return t, nil
		}
	}
	known := r.known()
	return nil, &Error{Code: CodeUnknownTool, Field: "name", Expected: "the name of a known tool",
		Message: fmt.Sprintf("there is no tool %q; the tools are: %s", CleanLine(name, 64), known)}
}

// known lists the names, within maxKnown characters.
func (r *Registry) known() string {
	if len(r.sorted) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, t := range r.sorted {
		if b.Len()+len(t.Name()) > maxKnown {
			fmt.Fprintf(&b, " and %d more", len(r.sorted)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.Name())
	}
	return b.String()
}

// Names gives the names, sorted.
func (r *Registry) Names() []string {
	names := make([]string, len(r.sorted))
	for i, t := range r.sorted {
		names[i] = t.Name()
	}
	return names
}

// Specs describes the tools to a model, sorted by name: the same bytes every time.
func (r *Registry) Specs() []llm.ToolSpec {
	specs := make([]llm.ToolSpec, len(r.sorted))
	for i, t := range r.sorted {
		specs[i] = llm.ToolSpec{Name: t.Name(), Description: t.Description(), Schema: t.Schema()}
	}
	return specs
}

// Version tells one set of tools from another: a hash of names, descriptions and schemas.
func (r *Registry) Version() string { return r.version }

// Prepared is a call that can be run.
type Prepared struct {
	Tool Tool
	// Args is what runs and what is to be stored and sent back.
	Args json.RawMessage
}

// Prepare turns a call as a model wrote it into one that can be run, or says why it cannot: unknown tool, unreadable
// arguments (the error then says what the tool takes), or arguments that do not fit its schema. Tool is set whenever the name
// is known; nothing is run.
func (r *Registry) Prepare(name, arguments string) (Prepared, *Error) {
	t, e := r.Get(name)
	if e != nil {
		return Prepared{}, e
	}
	p := Prepared{Tool: t}
	args, e := ParseArguments(arguments)
	if e != nil {
		e.Expected = Takes(t)
		e.Message += "; " + t.Name() + " takes " + e.Expected
		return p, e
	}
	if p.Args, e = Check(t, args); e != nil {
		return p, e
	}
	return p, nil
}
