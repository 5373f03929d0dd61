package words_test

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vitrine/ui/words"
)

// speaking are the packages whose literals may reach people.
var speaking = strings.Fields("ui ui/chat ui/cli ui/demo ui/dialog ui/export ui/input ui/line ui/list ui/record ui/sidebar ui/theme ui/traceview")

// showing are the functions whose text arguments are shown as they are.
var showing = strings.Fields("Say Bold Weight say tell tellFor")

// phrase is two words in a row, which no identifier holds.
var phrase = regexp.MustCompile(`[A-Za-z]{2,},? [A-Za-z]{2,}`)

// tags are those of HTML.
var tags = regexp.MustCompile(`<[^>]*>`)

// TestLiteralsGoThroughTheTables finds English that reaches people without being a Text: phrases anywhere, and any word in the
// place of a text that is shown. What an error says has to be known to Tell.
func TestLiteralsGoThroughTheTables(t *testing.T) {
	prog := load(t)
	used := map[string]bool{}
	for _, path := range speaking {
		c := prog.pkgs["vitrine/"+path]
		if c == nil {
			t.Fatalf("no package %s", path)
		}
		c.each(func(e ast.Expr, tv types.TypeAndValue, value string, parents []ast.Node) {
			if isType(tv.Type, "Text") || isType(tv.Type, "One") || !word.MatchString(words.Plain(value)) {
				return
			}
			shown := called(parents, showing)
			if !shown && !phrase.MatchString(tags.ReplaceAllString(words.Plain(value), "")) || strings.HasPrefix(value, "<!doctype html>") {
				return
			}
			switch why, ok := data[value]; {
			case ok:
				used[value] = true
				if why == "" {
					t.Errorf("%q: no reason given", value)
				}
			case quiet(parents):
			case !toldText(value):
				t.Errorf("%s: %q reaches people and is no Text (a text of ours goes through T, an error's is in told*.go, data is listed here)", prog.at(e), value)
			}
		})
	}
	for value := range data {
		if !used[value] {
			t.Errorf("%q is listed and stands nowhere", value)
		}
	}
}

// data are literals that are no texts, each with the reason.
var data = map[string]string{
	"no line end after the last line": "what read_file tells the model",
	"byte order mark":                 "what read_file tells the model",
	" Enter":                          "a key",
	"models coming":                   "the id of an item",
	"models failed":                   "the id of an item",
	"unfinished runs":                 "the id of a notice",
	"%s panic in %s: %v\n%s\n":        "goes into the log",
	"made of a stored session: its replies are scripted, its tools run again": "goes into a script",
	"%s %s; the screen shows:\n%s":                                            "for tests",
	"; the screen shows:\n":                                                   "for tests: cli.DemoError leaves the screen out",
	`<use href="#r%d"`:                                                        "SVG",
	".m%d{animation:m%d %ss step-end infinite}\n@keyframes m%d{":              "SVG",
	"export ID":           "how a command is written",
	"export CAST":         "how a command is written",
	"from ID":             "how a command is written",
	"search WORDS":        "how a command is written",
	"show ID":             "how a command is written",
	"delete ID":           "how a command is written",
	"Available Commands:": "Cobra's, which is replaced",
	"Global Flags:":       "Cobra's, which is replaced",
	`Use "{{.CommandPath}} [command] --help" for more information about a command.`:                                                           "Cobra's, which is replaced",
	"  vitrine run \"what is (17+5)*3?\"\n  git diff | vitrine run -\n  vitrine run --session notes --json \"add a todo: submit the report\"": "commands to be copied",
}

// called says that the innermost call around a constant is one of the functions.
func called(parents []ast.Node, names []string) bool {
	for _, n := range slices.Backward(parents) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			return slices.Contains(names, f.Sel.Name)
		case *ast.Ident:
			return slices.Contains(names, f.Name)
		}
		return false
	}
	return false
}

// quiet says that a constant is no text by where it stands: tags, imports, cases, comparisons, keys of maps, panics.
func quiet(parents []ast.Node) bool {
	for i, n := range slices.Backward(parents) {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.CaseClause:
			return true
		case *ast.Field:
			return n.Tag != nil && parents[len(parents)-1] == ast.Node(n.Tag)
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				name = f.Sel.Name
			case *ast.Ident:
				name = f.Name
			}
			return slices.Contains([]string{"panic", "MustCompile", "HasPrefix", "CutPrefix", "TrimPrefix", "HasSuffix", "TrimSuffix"}, name)
		case *ast.BinaryExpr:
			if op := n.Op.String(); op == "==" || op == "!=" {
				return true
			}
		case *ast.KeyValueExpr:
			if i > 0 && n.Key == parents[i+1] {
				return true
			}
		case *ast.BlockStmt, *ast.FuncDecl:
			return false
		}
	}
	return false
}

var han = regexp.MustCompile(`\p{Han}`)

// toldText says that Tell knows a text or, where it is joined of pieces, a format that it is a piece of.
func toldText(value string) bool {
	sample := words.Filled(value)
	if han.MatchString(words.Chinese.Tell(sample)) || han.MatchString(words.Chinese.Tell(strings.Trim(sample, " :;,.\""))) {
		return true
	}
	piece := strings.Trim(value, " :;,.\"")
	for en := range words.Told() {
		if strings.Contains(en, piece) {
			return true
		}
	}
	return false
}
