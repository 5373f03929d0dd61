package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRegistry(t *testing.T) {
	r := NewRegistry(echo[pathIn]("write", SideEffect), echo[noIn]("Alpha", ReadOnly), echo[pathIn]("read_file", ReadOnly))
	if diff := cmp.Diff([]string{"Alpha", "read_file", "write"}, r.Names()); diff != "" {
		t.Error(diff)
	}
	specs := r.Specs()
	for i, n := range r.Names() {
		if specs[i].Name != n || specs[i].Description == "" || !strings.HasPrefix(string(specs[i].Schema), "{") {
			t.Errorf("spec %d: %+v", i, specs[i])
		}
	}
	other := NewRegistry(echo[noIn]("Alpha", ReadOnly), echo[pathIn]("read_file", ReadOnly), echo[pathIn]("write", SideEffect))
	if r.Version() != other.Version() || len(r.Version()) != 16 {
		t.Errorf("the order of registration shows: %s %s", r.Version(), other.Version())
	}
	if v := NewRegistry(echo[noIn]("Alpha", ReadOnly), echo[noIn]("read_file", ReadOnly), echo[pathIn]("write", SideEffect)).Version(); v == r.Version() {
		t.Error("another schema has the same version")
	}
	for _, list := range [][]Tool{
		{echo[noIn]("a", ReadOnly), echo[noIn]("A", ReadOnly)},
		{named{name: "no good"}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v accepted", list)
				}
			}()
			NewRegistry(list...)
		}()
	}
}

// named has a name that New would refuse.
type named struct {
	Tool
	name string
}

func (n named) Name() string { return n.name }

// B053
func TestRegistryNames(t *testing.T) {
	r := NewRegistry(echo[pathIn]("read_file", ReadOnly), echo[noIn]("todo", OwnData))
	for _, name := range []string{"read_file", "Read_File", "functions.read_file", "read_file ", " Functions.READ_FILE\n"} {
		if tool, err := r.Get(name); err != nil || tool.Name() != "read_file" {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"execute_python", "", " ", "readfile", "read-file", "read_file()", "tools.read_file", "functions.", "functions.functions.read_file",
		strings.Repeat("x", 5000), strings.Repeat(" ", 5000) + "todo", "todo\x1b[31m", "\xff", "\u202etodo",
	} {
		tool, err := r.Get(name)
		if err == nil {
			t.Errorf("%q is %s", name, tool.Name())
			continue
		}
		if err.Code != CodeUnknownTool || err.Retryable || !strings.Contains(err.Message, "read_file, todo") {
			t.Errorf("%q: %+v", name, err)
		}
		// B016: the name is shown without what a terminal would act on.
		if len(err.Message) > 300 || !utf8.ValidString(err.Message) || strings.ContainsAny(err.Message, "\x1b\u202e\n") {
			t.Errorf("%q: message %q", name, err.Message)
		}
	}
	var many []Tool
	for i := range 400 {
		many = append(many, echo[noIn](fmt.Sprintf("tool_with_a_long_name_%03d", i), ReadOnly))
	}
	_, err := NewRegistry(many...).Get("nope")
	if n := utf8.RuneCountInString(err.Message); n > 1000 || !strings.Contains(err.Message, "more") {
		t.Errorf("%d characters: %s", n, err.Message)
	}
	if _, err := NewRegistry().Get("nope"); !strings.Contains(err.Message, "the tools are: none") {
		t.Error(err.Message)
	}
}

func TestPrepare(t *testing.T) {
	ran := 0
	write := New("write", "", SideEffect, func(context.Context, Call, pathIn) (Output, error) { ran++; return Output{}, nil })
	list := New("list_dir", "", ReadOnly, func(context.Context, Call, noIn) (Output, error) { ran++; return Output{}, nil })
	r := NewRegistry(write, list)
	for _, args := range []string{"", "   "} { // B046
		if p, err := r.Prepare("list_dir", args); err != nil || string(p.Args) != "{}" || p.Tool.Name() != "list_dir" {
			t.Errorf("%q: %+v %v", args, p, err)
		}
		if p, err := r.Prepare("write", args); err == nil || err.Field != "path" || p.Tool == nil || p.Args != nil {
			t.Errorf("%q: %+v %v", args, p, err)
		}
	}
	// B049 B050: malformed arguments never become {}, and the error says what the tool takes.
	for _, tt := range []struct {
		tool, args string
		code       Code
		want       []string
	}{
		{"write", `{"cmd": "rm -rf build", `, CodeTruncatedArguments, []string{"invalid JSON", "incomplete", `"path"`}},
		{"write", `{"path":"app/page.tsx","content":"abc`, CodeTruncatedArguments, []string{"invalid JSON", "incomplete"}},
		{"write", `{"path":"app/page.tsx"`, CodeTruncatedArguments, []string{"incomplete"}},
		{"list_dir", `not json`, CodeMalformedArguments, []string{"invalid JSON", "no required keys"}},
		{"nope", `{}`, CodeUnknownTool, []string{"list_dir, write"}},
	} {
		p, err := r.Prepare(tt.tool, tt.args)
		if err == nil || err.Code != tt.code || p.Args != nil {
			t.Errorf("%s: %+v %v", tt.args, p, err)
			continue
		}
		text := string(EncodeResult(ErrorResult(err)))
		for _, w := range tt.want {
			if !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), w) {
				t.Errorf("%s: result %s lacks %q", tt.args, text, w)
			}
		}
	}
	if ran != 0 {
		t.Errorf("%d tools ran", ran)
	}
}
