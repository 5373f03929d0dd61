package demo

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/tools/builtin"
)

// found is the table [files] of a session with these messages.
func found(messages ...runtime.MessageRow) map[string]string {
	s := NewStory("files", func(s string) string { return strings.ReplaceAll(s, "secret", "*****") })
	for _, m := range messages {
		s.Message(m)
	}
	return s.files.table(s.hide)
}

func call(tool, args, result string) []runtime.MessageRow {
	return []runtime.MessageRow{
		{Kind: llm.KindAssistant, ToolCalls: []llm.ToolCall{{ID: tool + args, Name: tool, Arguments: args}}},
		{Kind: llm.KindTool, ToolName: tool, ToolCallID: tool + args, Content: result},
	}
}

// What a session found in its folder is in the script: as it was before the session wrote it.
func TestStoryHasTheFiles(t *testing.T) {
	read := func(name, lines, form, text string) []runtime.MessageRow {
		data, err := json.Marshal(map[string]any{"ok": true, "data": map[string]string{"path": name, "lines": lines, "form": form, "text": text}})
		if err != nil {
			t.Fatal(err)
		}
		return call(readTool, `{"path":"`+name+`"}`, string(data))
	}
	wrote := func(name, content, change string) []runtime.MessageRow {
		return call(writeTool, `{"path":"`+name+`","content":"`+content+`"}`, `{"ok":true,"data":{"path":"`+name+`","version":"x","change":"`+change+`"}}`)
	}
	list := func(at string, names ...string) []runtime.MessageRow {
		data, err := json.Marshal(map[string]any{"ok": true, "data": map[string]any{"path": at, "names": names}})
		if err != nil {
			t.Fatal(err)
		}
		return call(listTool, `{"path":"`+at+`"}`, string(data))
	}
	said := func(text string, files ...attach.File) []runtime.MessageRow {
		return []runtime.MessageRow{{Kind: llm.KindUser, RunID: "r", Content: attach.Compose(text, files)}}
	}
	for name, c := range map[string]struct {
		messages [][]runtime.MessageRow
		want     map[string]string
	}{
		"read":          {[][]runtime.MessageRow{read("a/b.txt", "1-2 of 2", "", "1\tone\n2\ttwo\n")}, map[string]string{"a/b.txt": "one\ntwo\n"}},
		"masked":        {[][]runtime.MessageRow{read("secret.txt", "1-1 of 1", "", "1\tthe secret\n")}, map[string]string{"*****.txt": "the *****\n"}},
		"in two parts":  {[][]runtime.MessageRow{read("a", "3-3 of 4", "", "3\tthree\n"), read("a", "1-1 of 4, use offset=2 for the next", "", "1\tone\n")}, map[string]string{"a": "one\n\nthree\n\n"}},
		"then written":  {[][]runtime.MessageRow{read("a", "1-1 of 1", "", "1\told\n"), wrote("a", "new", "+1 -1"), read("a", "1-1 of 1", "", "1\tnew\n")}, map[string]string{"a": "old\n"}},
		"made by it":    {[][]runtime.MessageRow{wrote("a", "new", "new file, +1"), read("a", "1-1 of 1", "", "1\tnew\n"), list(".", "a")}, map[string]string{}},
		"as it was":     {[][]runtime.MessageRow{wrote("a", "same", "unchanged")}, map[string]string{"a": "same"}},
		"refused":       {[][]runtime.MessageRow{call(readTool, `{"path":"a"}`, `{"ok":false,"error":{"code":"not_found"}}`), call(readTool, `{"path":"a"}`, `cut off {`)}, map[string]string{}},
		"listed":        {[][]runtime.MessageRow{list("src", "a.go", "deep/", "deep/b.go", "none/", "l -> a.go", "data/ (the program's own)", "x<U+202E>", "long [the entry has 900 bytes]")}, map[string]string{"src/a.go": "", "src/deep/b.go": "", "src/none/": ""}},
		"then read":     {[][]runtime.MessageRow{list(".", "a"), read("a", "1-1 of 1", "", "1\tit\n")}, map[string]string{"a": "it\n"}},
		"a link":        {[][]runtime.MessageRow{call(readTool, `{"path":"./l"}`, `{"ok":true,"data":{"path":"a","lines":"1-1 of 1","text":"1\tit\n"}}`)}, map[string]string{"a": "it\n", "l": "it\n"}},
		"a long line":   {[][]runtime.MessageRow{read("a", "1-1 of 1", "", "1\tabc [the line has 9 bytes; the first 3 are shown]\n")}, map[string]string{"a": "abc.....\n"}},
		"attached":      {[][]runtime.MessageRow{said("look", attach.File{Name: "a", Bytes: 5, Text: "it"}, attach.File{Name: "b", Refused: attach.Gone}, attach.File{Name: "c", Refused: attach.Folder})}, map[string]string{"a": "it\n\n\n", "c/": ""}},
		"outside":       {[][]runtime.MessageRow{read("../x", "1-1 of 1", "", "1\tit\n"), read("/x", "1-1 of 1", "", "1\tit\n"), list(".", "a\\b", "c:d")}, map[string]string{}},
		"file, folder":  {[][]runtime.MessageRow{read("a", "1-1 of 1", "", "1\tit\n"), read("a/b", "1-1 of 1", "", "1\tit\n"), list(".", "a/")}, map[string]string{"a/b": "it\n"}},
		"endless":       {[][]runtime.MessageRow{read("a", "1-1 of more than 900000000", "", "1\tit\n")}, map[string]string{"a": "it\n" + strings.Repeat("\n", mostLines-1)}},
		"a long one":    {[][]runtime.MessageRow{said("look", attach.File{Name: "a", Bytes: 1 << 40, Text: "x"}, attach.File{Name: "b", Bytes: 2, Text: "it"})}, map[string]string{"a": "x" + strings.Repeat("\n", mostText-1), "b": ""}},
		"another later": {[][]runtime.MessageRow{read("a", "1-1 of 1", "", "1\tit\n"), read("a", "1-1 of 1", "", "1\tother\n")}, map[string]string{"a": "it\n"}},
	} {
		if diff := cmp.Diff(c.want, found(slices.Concat(c.messages...)...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	s := NewStory("attached", nil)
	for _, m := range append(said("look at @a", attach.File{Name: "a", Bytes: 2, Text: "it"}), runtime.MessageRow{Kind: llm.KindAssistant, Content: "seen"}) {
		m.RunID = "r"
		s.Message(m)
	}
	text, err := s.Script()
	if err != nil || !strings.Contains(string(text), "\nenter = 'look at @a '\n") || !strings.Contains(string(text), "[files]\na = 'it'\n") || strings.Contains(string(text), "attached file") {
		t.Errorf("%v\n%s", err, text)
	}
}

// A file that a tool read as a whole is in the script as it was, whatever its line ends.
func TestStoryHasWholeFiles(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	all := builtin.Files(builtin.Deps{Root: root})
	reader := all[slices.IndexFunc(all, func(x tools.Tool) bool { return x.Name() == readTool })]
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "one", "部署 x", "\ttab", "1\t2", "a [the line"}), 0, 6).Draw(t, "lines")
		content := strings.Join(lines, end)
		if len(lines) > 0 && rapid.Bool().Draw(t, "ended") {
			content += end
		}
		if rapid.Bool().Draw(t, "marked") {
			content = "\ufeff" + content
		}
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var messages []runtime.MessageRow
		for _, args := range []string{`{"path":"a","limit":2}`, `{"path":"a","offset":2}`} {
			raw := json.RawMessage(args)
			out, err := reader.Run(t.Context(), tools.Call{Key: "k"}, raw)
			if err != nil {
				continue // past the end
			}
			data, err := json.Marshal(map[string]any{"ok": true, "data": out.Data})
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, call(readTool, args, string(data))...)
		}
		if got := found(messages...)["a"]; got != content {
			t.Fatalf("%q became %q of %v", content, got, messages)
		}
	})
}

// The table [files] is refused where it is wrong, and what it says lies in the folder.
func TestFilesOfAScript(t *testing.T) {
	const step = "\n[[step]]\nenter = \"x\"\n"
	for text, want := range map[string]string{
		`"../a" = "x"`:                     `f.toml:2:1: "../a" is no path inside the demo's folder`,
		`"/a" = "x"`:                       `f.toml:2:1: "/a" is no path inside`,
		`"." = ""`:                         `f.toml:2:1: "." is no path inside`,
		`"./" = ""`:                        `f.toml:2:1: "./" is no path inside`,
		`"a//b" = "x"`:                     `f.toml:2:1: "a//b" is no path inside`,
		`"a\\b" = "x"`:                     `f.toml:2:1: "a\\b" is no path inside`,
		`"c:x" = "x"`:                      `f.toml:2:1: "c:x" is no path inside`,
		`"a\nb" = "x"`:                     `f.toml:2:1: "a\nb" is no path inside`,
		`"" = "x"`:                         `"" is no path inside`,
		"ok = \"x\"\n\"a/\" = \"x\"":       `f.toml:3:1: "a/" is a folder, and a folder has no text`,
		"\"a/b\" = \"x\"\n\"a\" = \"x\"":   `f.toml:2:1: "a" is a file too`,
		"\"a/b/\" = \"\"\n\"a/b\" = \"x\"": `f.toml:2:1: "a/b" is a file too`,
		"a = 1":                            "f.toml:2:",
	} {
		if _, err := ParseScript("f.toml", []byte("[files]\n"+text+step)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	s, err := ParseScript("f.toml", []byte("[files]\n\"notes.txt\" = \"\"\"\none\ntwo\n\"\"\"\n\"a/b/c.md\" = \"deep\"\n\"a/d/\" = \"\"\n\"空 白.txt\" = \"\""+step))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		if e.IsDir() {
			got[filepath.ToSlash(name)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(at)
		got[filepath.ToSlash(name)] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(s.Files)
	want["a/"], want["a/b/"] = "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Any texts of files come back from the script as they were attached.
func TestStoryKeepsFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 40, -1).Draw(t, "text")
		name := rapid.StringMatching(`[a-z"' \.部#=\[\]]{1,8}`).Draw(t, "name")
		s := NewStory("files", nil)
		for _, m := range []runtime.MessageRow{
			{Kind: llm.KindUser, RunID: "r", Content: attach.Compose("look", []attach.File{{Name: name, Bytes: int64(len(text)), Text: text}})},
			{Kind: llm.KindAssistant, RunID: "r", Content: "seen"},
		} {
			s.Message(m)
		}
		file, err := s.Script()
		if err != nil {
			t.Fatal(err)
		}
		script, err := ParseScript("f.toml", file)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		if _, err := (&Script{Files: map[string]string{name: ""}}).checkFiles(); err != nil {
			return // no name of a file in a script
		}
		if got, ok := script.Files[name]; !ok || got != text {
			t.Fatalf("%q of %q became %q\n%s", text, name, got, file)
		}
	})
}
