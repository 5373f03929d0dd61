package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "vitrine"

// topLevel is all that may stand beside dotfiles.
var topLevel = strings.Fields("main.go ui runtime store tools llm trace assets go.mod go.sum README.md LICENSE main_test.go testdata")

// arrows are the imports of our own packages that the design allows, by top-level folder; a folder may import itself.
// main may import all, and all may import runtime/clock.
var arrows = map[string][]string{
	"assets":  {},
	"llm":     {},
	"trace":   {"llm"},
	"tools":   {"llm"},
	"runtime": {"llm", "tools", "trace", "assets"},
	"store":   {"llm", "tools", "trace", "runtime"},
	"ui":      {"runtime", "trace", "tools", "llm", "assets"},
}

// uiNever are folders under allowed arrows that ui must still not know: it goes through the ports of runtime.
var uiNever = []string{"llm/openai", "tools/builtin", "tools/shell", "tools/mcp"}

const clockFolder = "runtime/clock"

// sourceFile is one Go file that is no test.
type sourceFile struct {
	path string // from the root, with slashes
	ast  *ast.File
}

func (f sourceFile) folder() string { return path.Dir(f.path) }

// sourceTree is the program's Go files, tests left out, by folder.
type sourceTree struct {
	fset  *token.FileSet
	files []sourceFile
}

func (t *sourceTree) add(name string, src any) error {
	f, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, sourceFile{path: filepath.ToSlash(name), ast: f})
	return nil
}

// packages groups the files by folder, in order.
func (t *sourceTree) packages() (folders []string, files map[string][]sourceFile) {
	files = map[string][]sourceFile{}
	for _, f := range t.files {
		if files[f.folder()] == nil {
			folders = append(folders, f.folder())
		}
		files[f.folder()] = append(files[f.folder()], f)
	}
	return folders, files
}

func (t *sourceTree) at(f sourceFile, n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.path, t.fset.Position(n.Pos()).Line)
}

func loadTree(t *testing.T) *sourceTree {
	t.Helper()
	tree := &sourceTree{fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		return tree.add(name, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// imports gives the paths that f imports.
func imports(f sourceFile) (paths []string) {
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

func under(folder, root string) bool { return folder == root || strings.HasPrefix(folder, root+"/") }

// checkImports finds edges that no arrow allows.
func checkImports(t *sourceTree) (bad []string) {
	for _, f := range t.files {
		from := f.folder()
		top, _, _ := strings.Cut(from, "/")
		for _, p := range imports(f) {
			to, ours := strings.CutPrefix(p, module+"/")
			switch {
			case from == clockFolder && strings.Contains(p, "."), from == clockFolder && ours:
				bad = append(bad, fmt.Sprintf("%s imports %s: %s uses the standard library only", f.path, p, clockFolder))
			case !ours || from == "." || to == clockFolder:
			case top == "ui" && slices.ContainsFunc(uiNever, func(n string) bool { return under(to, n) }):
				bad = append(bad, fmt.Sprintf("%s imports %s: ui reaches it through a port of runtime", f.path, p))
			default:
				toTop, _, _ := strings.Cut(to, "/")
				if toTop != top && !slices.Contains(arrows[top], toTop) {
					bad = append(bad, fmt.Sprintf("%s imports %s: no arrow from %s to %s", f.path, p, top, toTop))
				}
			}
		}
	}
	return bad
}

// checkShape finds functions and files that are too long and package names that say nothing.
func checkShape(t *sourceTree) (bad []string) {
	for _, f := range t.files {
		if name := f.ast.Name.Name; slices.Contains([]string{"util", "utils", "common", "helper", "helpers"}, name) {
			bad = append(bad, fmt.Sprintf("%s: package %s does not say what it is for", f.path, name))
		}
		if n := t.fset.File(f.ast.Pos()).LineCount(); n > 500 {
			bad = append(bad, fmt.Sprintf("%s has %d lines, more than 500", f.path, n))
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			name := "a function literal"
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = n.Name.Name
			case *ast.FuncLit:
			default:
				return true
			}
			if lines := t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1; lines >= 100 {
				bad = append(bad, fmt.Sprintf("%s: %s has %d lines, not under 100", t.at(f, n), name, lines))
			}
			return true
		})
	}
	return bad
}

// checkPorts finds exported interfaces of package runtime with more than eight methods.
func checkPorts(t *sourceTree) (bad []string) {
	for _, f := range t.files {
		if f.folder() != "runtime" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if i, ok := spec.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > 8 {
					bad = append(bad, fmt.Sprintf("%s: port %s has %d methods, more than 8", t.at(f, n), spec.Name.Name, i.Methods.NumFields()))
				}
			}
			return true
		})
	}
	return bad
}

// resolve says what the identifiers of one package mean. Imports are not loaded, so only names of the package itself and
// of imports are known, which is what the checks need.
func (t *sourceTree) resolve(files []sourceFile) *types.Info {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Error: func(error) {}, Importer: emptyImports{}, FakeImportC: true}
	asts := make([]*ast.File, len(files))
	for i, f := range files {
		asts[i] = f.ast
	}
	_, _ = conf.Check(files[0].folder(), t.fset, asts, info) // names that imports would give are errors and expected
	return info
}

type emptyImports struct{}

func (emptyImports) Import(p string) (*types.Package, error) {
	if p == "unsafe" {
		return types.Unsafe, nil
	}
	// The name that a package clause would give: the last element that is no version, without a suffix like .v1.
	name := path.Base(p)
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(name) {
		name = path.Base(path.Dir(p))
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "go-"), ".")
	pkg := types.NewPackage(p, name)
	pkg.MarkComplete()
	return pkg, nil
}

// selected gives path and name when e is a name of an imported package.
func selected(info *types.Info, e ast.Expr) (pkg, name string) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	if p, ok := info.Uses[id].(*types.PkgName); ok {
		return p.Imported().Path(), sel.Sel.Name
	}
	return "", ""
}

// initialisers may be called for a package-level variable: what they make does not change.
var initialisers = strings.Fields(`errors.New fmt.Errorf regexp.MustCompile strings.NewReplacer time.Date reflect.TypeFor
	reflect.TypeOf sync.OnceValue sync.OnceValues len cap min max append string`)

// checkState finds package-level variables that hold state. A variable is none when it has a first value whose kind does
// not change by itself (a literal, a conversion, a call of initialisers, or any call if the comment says "immutable"), and
// when no statement of the program writes to it, to a part of it, or takes its address. Embedded files need no first value.
func checkState(t *sourceTree) (bad []string) {
	folders, files := t.packages()
	written := map[string]string{} // "folder.name" -> where
	infos := map[string]*types.Info{}
	for _, folder := range folders {
		infos[folder] = t.resolve(files[folder])
		for _, f := range files[folder] {
			for _, e := range writes(f.ast) {
				if key := packageVar(infos[folder], folder, e); key != "" {
					written[key] = t.at(f, e)
				}
			}
		}
	}
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if name.Name == "_" {
						continue
					}
					at := fmt.Sprintf("%s: package variable %s", t.at(f, name), name.Name)
					if why := unsafeStart(infos[f.folder()], gen, spec, i); why != "" {
						bad = append(bad, at+" "+why)
					}
					if where := written[f.folder()+"."+name.Name]; where != "" {
						bad = append(bad, at+" is written to or has its address taken at "+where)
					}
				}
			}
		}
	}
	return bad
}

// unsafeStart says what is wrong with the first value of the variable, if anything.
func unsafeStart(info *types.Info, gen *ast.GenDecl, spec *ast.ValueSpec, i int) string {
	comment := gen.Doc.Text() + spec.Doc.Text() + spec.Comment.Text()
	if len(spec.Values) == 0 {
		if gen.Doc != nil && strings.Contains(commentSource(gen.Doc), "//go:embed ") || spec.Doc != nil && strings.Contains(commentSource(spec.Doc), "//go:embed ") {
			return ""
		}
		return "has no first value, so it is there to be changed"
	}
	why := ""
	ast.Inspect(spec.Values[min(i, len(spec.Values)-1)], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ChanType:
			why = "is a channel"
		case *ast.UnaryExpr:
			if n.Op == token.AND && !strings.Contains(comment, "immutable") {
				why = "is a pointer to something that can change"
			}
		case *ast.CompositeLit:
			if pkg, name := selected(info, n.Type); pkg == "sync" || pkg == "sync/atomic" || pkg == "bytes" {
				why = "is a " + pkg + "." + name
			}
		case *ast.CallExpr:
			if !harmless(info, n) && !strings.Contains(comment, "immutable") {
				why = "is made by a call and no comment says that it is immutable"
			}
		}
		return true
	})
	return why
}

func commentSource(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// harmless reports whether a call is a conversion or one of initialisers.
func harmless(info *types.Info, call *ast.CallExpr) bool {
	fun := ast.Unparen(call.Fun)
	if x, ok := fun.(*ast.IndexExpr); ok {
		fun = x.X
	}
	if info.Types[fun].IsType() {
		return true
	}
	switch fun := fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.InterfaceType, *ast.StarExpr, *ast.FuncType, *ast.StructType:
		return true
	case *ast.Ident:
		if _, ok := info.Uses[fun].(*types.TypeName); ok {
			return true
		}
		return slices.Contains(initialisers, fun.Name)
	}
	pkg, name := selected(info, fun)
	if pkg == "encoding/json" && name == "RawMessage" {
		return true
	}
	return slices.Contains(initialisers, path.Base(pkg)+"."+name)
}

// writes gives the expressions of f that are assigned to, changed in place, or have their address taken.
func writes(f *ast.File) (targets []ast.Expr) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				targets = append(targets, n.Lhs...)
			}
		case *ast.IncDecStmt:
			targets = append(targets, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				targets = append(targets, n.Key)
				if n.Value != nil {
					targets = append(targets, n.Value)
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				targets = append(targets, n.X)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, id.Name) {
				targets = append(targets, n.Args[0])
			}
		}
		return true
	})
	return targets
}

// packageVar gives "folder.name" when e is, or is a part of, a package-level variable of ours.
func packageVar(info *types.Info, folder string, e ast.Expr) string {
	for {
		if pkg, name := selected(info, e); pkg != "" {
			to, ours := strings.CutPrefix(pkg, module+"/")
			if !ours {
				return ""
			}
			return to + "." + name
		}
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.Ident:
			if v, ok := info.Uses[x].(*types.Var); ok && v.Parent() == v.Pkg().Scope() {
				return folder + "." + x.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// ownTime are the folders whose time and concurrency come from runtime/clock.
var ownTime = []string{"ui", "runtime", "tools", "store", "trace", "llm"}

// freeTime are the folders in them that may use what is forbidden, for the reasons that the design gives.
var freeTime = []string{clockFolder, "llm/openai", "llm/llmtest", "ui/bench"}

// edgeFiles are single files that may, because they stand between the program and the terminal or its signals.
var edgeFiles = []string{"ui/cli/edge.go", "ui/cli/suspend_unix.go", "ui/paint/terminal_unix.go"}

// forbidden are the names that runtime/clock replaces, by import path; an empty list forbids the whole package.
var forbidden = map[string][]string{
	"time": strings.Fields("Now Since Until Sleep After AfterFunc NewTimer NewTicker Tick"),
	"context": strings.Fields(`WithCancel WithCancelCause WithTimeout WithTimeoutCause WithDeadline WithDeadlineCause
		AfterFunc`),
	"sync":                       strings.Fields("WaitGroup Cond NewCond"),
	"charm.land/bubbletea/v2":    strings.Fields("Tick Every"),
	"golang.org/x/sync/errgroup": nil,
}

// checkTime finds time and concurrency that do not come from runtime/clock.
func checkTime(t *sourceTree) (bad []string) {
	folders, files := t.packages()
	for _, folder := range folders {
		within := func(root string) bool { return under(folder, root) }
		if !slices.ContainsFunc(ownTime, within) || slices.ContainsFunc(freeTime, within) {
			continue
		}
		info := t.resolve(files[folder])
		for _, f := range files[folder] {
			if slices.Contains(edgeFiles, f.path) {
				continue
			}
			for _, p := range imports(f) {
				if names, ok := forbidden[p]; ok && names == nil {
					bad = append(bad, fmt.Sprintf("%s imports %s", f.path, p))
				}
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if what := forbiddenNode(info, n); what != "" {
					bad = append(bad, fmt.Sprintf("%s: %s", t.at(f, n), what))
				}
				return true
			})
		}
	}
	return bad
}

func forbiddenNode(info *types.Info, n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectStmt:
		return "select"
	case *ast.GoStmt:
		return "go statement"
	case *ast.ChanType:
		return "channel"
	case *ast.SendStmt:
		return "send on a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receive from a channel"
		}
	case *ast.SelectorExpr:
		if pkg, name := selected(info, n); slices.Contains(forbidden[pkg], name) {
			return pkg + "." + name
		}
	}
	return ""
}

func TestLayoutOfTopLevel(t *testing.T) {
	var names []string
	// What git ignores (a built program, the data of a trial run) is no part of the project.
	if out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output(); err == nil {
		for line := range strings.Lines(string(out)) {
			name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "/")
			names = append(names, name)
		}
	} else {
		entries, err := os.ReadDir(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		ofTests, _ := path.Match("main_*_test.go", name)
		if !ofTests && !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			t.Errorf("%s may not stand at the top level", name)
		}
	}
}

func TestLayoutOfSource(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all of the source")
	}
	tree := loadTree(t)
	for name, check := range map[string]func(*sourceTree) []string{
		"imports": checkImports, "shape": checkShape, "ports": checkPorts, "state": checkState, "time": checkTime,
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range check(tree) {
				t.Error(b)
			}
		})
	}
}

// TestLayoutChecksSee has the checks look at small files that break one rule each, or none.
func TestLayoutChecksSee(t *testing.T) {
	for _, c := range []struct {
		path, src string
		check     func(*sourceTree) []string
		want      []string
	}{
		{"llm/a.go", `package llm; import _ "vitrine/trace"`, checkImports, []string{"llm/a.go imports vitrine/trace: no arrow from llm to trace"}},
		{"llm/scripted/a.go", `package scripted; import (_ "vitrine/llm"; _ "vitrine/runtime/clock")`, checkImports, nil},
		{"runtime/prompt/a.go", `package prompt; import _ "vitrine/store"`, checkImports, []string{"runtime/prompt/a.go imports vitrine/store: no arrow from runtime to store"}},
		{"ui/chat/a.go", `package chat; import (_ "vitrine/llm/openai"; _ "vitrine/tools/builtin"; _ "vitrine/llm")`, checkImports, []string{
			"ui/chat/a.go imports vitrine/llm/openai: ui reaches it through a port of runtime",
			"ui/chat/a.go imports vitrine/tools/builtin: ui reaches it through a port of runtime",
		}},
		{"runtime/clock/a.go", `package clock; import (_ "sync"; _ "golang.org/x/sys/unix")`, checkImports, []string{"runtime/clock/a.go imports golang.org/x/sys/unix: runtime/clock uses the standard library only"}},
		{"main.go", `package main; import (_ "vitrine/store"; _ "vitrine/ui")`, checkImports, nil},
		{"ui/a.go", "package util; func f() {" + strings.Repeat("\n", 99) + "}" + strings.Repeat("\n", 401) + "var x = 1", checkShape, []string{
			"ui/a.go: package util does not say what it is for", "ui/a.go has 501 lines, more than 500", "ui/a.go:1: f has 100 lines, not under 100",
		}},
		{"ui/a.go", "package ui; func f() {" + strings.Repeat("\n", 98) + "}", checkShape, nil},
		{"runtime/a.go", `package runtime; type P interface { A(); B(); C(); D(); E(); F(); G(); H(); I() }`, checkPorts, []string{"runtime/a.go:1: port P has 9 methods, more than 8"}},
		{"ui/a.go", `package ui; import ("errors"; "regexp"); var _ = 1; var e = errors.New("x"); var r = regexp.MustCompile("x"); var t = map[string]int{"a": 1}; var b = []byte("x"); func f() int { t := map[int]int{}; t[1] = 2; return t[1] }`, checkState, nil},
		{"ui/a.go", "package ui\nimport \"embed\"\n//go:embed x\nvar f embed.FS", checkState, nil},
		{"ui/a.go", "package ui\n// t is immutable.\nvar t = build()", checkState, nil},
		{"ui/a.go", "package ui\nvar t = build()", checkState, []string{"ui/a.go:2: package variable t is made by a call and no comment says that it is immutable"}},
		{"ui/a.go", "package ui\nimport \"sync\"\nvar n int\nvar mu = sync.Mutex{}\nvar p = &struct{}{}", checkState, []string{
			"ui/a.go:3: package variable n has no first value, so it is there to be changed",
			"ui/a.go:4: package variable mu is a sync.Mutex",
			"ui/a.go:5: package variable p is a pointer to something that can change",
		}},
		{"ui/a.go", "package ui\nvar t = map[string]int{}\nfunc f() { t[\"a\"]++ }", checkState, []string{"ui/a.go:2: package variable t is written to or has its address taken at ui/a.go:3"}},
		{"ui/a.go", "package ui\nvar t = []int{1}\nfunc f() *int { return &t[0] }", checkState, []string{"ui/a.go:2: package variable t is written to or has its address taken at ui/a.go:3"}},
		{"store/a.go", "package store\nimport (\"time\"; c \"context\")\nfunc f(ctx c.Context) { _ = time.Now(); _, _ = c.WithCancel(ctx); _ = c.WithoutCancel(ctx) }", checkTime, []string{"store/a.go:3: time.Now", "store/a.go:3: context.WithCancel"}},
		{"ui/a.go", "package ui\nimport (tea \"charm.land/bubbletea/v2\"; _ \"golang.org/x/sync/errgroup\")\nvar t = tea.Tick\nfunc f(c chan int) {\n go f(nil)\n select {}\n c <- 1\n <-c }", checkTime, []string{
			"ui/a.go imports golang.org/x/sync/errgroup", "ui/a.go:3: charm.land/bubbletea/v2.Tick", "ui/a.go:4: channel", "ui/a.go:5: go statement", "ui/a.go:6: select",
			"ui/a.go:7: send on a channel", "ui/a.go:8: receive from a channel",
		}},
		{"llm/openai/a.go", "package openai\nfunc f() { go f() }", checkTime, nil},
		{"runtime/clock/a.go", "package clock\nfunc f() { go f() }", checkTime, nil},
		{"trace/a.go", "package trace\ntype time struct{ Now int }\nfunc f(time time) int { return time.Now }", checkTime, nil},
	} {
		tree := &sourceTree{fset: token.NewFileSet()}
		if err := tree.add(c.path, c.src); err != nil {
			t.Fatal(err)
		}
		got := c.check(tree)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%.200s\n-want +got:\n%s", strings.Join(strings.Fields(c.src), " "), d)
		}
	}
}

// TestLibcIsTheOneOfSQLite: the driver's generated code fits one version of libc only, and go get can move it.
func TestLibcIsTheOneOfSQLite(t *testing.T) {
	cmd := exec.Command("go", "list", "-m", "-json", "modernc.org/sqlite", "modernc.org/libc")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	mods := map[string]struct{ Path, Version, GoMod string }{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var m struct{ Path, Version, GoMod string }
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		mods[m.Path] = m
	}
	mod, err := os.ReadFile(mods["modernc.org/sqlite"].GoMod)
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`(?m)^\s*(?:require\s+)?modernc\.org/libc\s+(v\S+)`).FindSubmatch(mod)
	if pin == nil {
		t.Fatal("the go.mod of modernc.org/sqlite names no modernc.org/libc")
	}
	if got, want := mods["modernc.org/libc"].Version, string(pin[1]); got != want {
		t.Errorf("modernc.org/libc is %s, modernc.org/sqlite was made for %s", got, want)
	}
}
