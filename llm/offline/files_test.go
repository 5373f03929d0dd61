package offline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/tools"
)

// names are the tools of the last question's calls.
func (d *desk) names() string {
	var list []string
	for _, c := range d.calls {
		list = append(list, c.Name)
	}
	return strings.Join(list, " ")
}

func (d *desk) file(name, content string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) holds(name string) string {
	d.t.Helper()
	got, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(got)
}

// Files are listed, read and written with the real tools, and the answers say what the results said.
func TestFiles(t *testing.T) {
	d := newDesk(t)
	contains(t, d.ask("list the files"), "nothing in this folder")
	d.file("src/a.go", "package a\n\n// it has ``` in it\n")
	d.file("dos.txt", "a\r\nb")
	d.file("empty", "")
	contains(t, d.ask("list the files"), "In this folder, 1-3 of 3:", "src/", "dos.txt")
	contains(t, d.ask("list the files in src"), "In src, 1-1 of 1:", "a.go")
	contains(t, d.ask("列出 src 目录下的文件"), "src，1-1 of 1：", "a.go")
	contains(t, d.ask("read src/a.go"), "src/a.go, lines 1-3 of 3:", "````text\npackage a\n\n// it has ``` in it\n````")
	contains(t, d.ask("读取 dos.txt 的内容"), "dos.txt，第 1-2 of 2 行： (CRLF in 1 lines only; no line end", "a\nb")
	contains(t, d.ask("read the file empty"), "empty is empty")
	contains(t, d.ask("read nothing.txt"), "Reading nothing.txt did not work: nothing.txt is not there")
	contains(t, d.ask("read ../x.txt"), "lies outside")
	contains(t, d.ask("list the files in nothing"), "Listing nothing did not work")

	contains(t, d.ask("write notes.txt with one. And 2+3?"), "Wrote notes.txt: new file, +1.")
	if d.names() != "read_file write_file" || d.holds("notes.txt") != "one. And 2+3?\n" {
		t.Errorf("%s: %q", d.names(), d.holds("notes.txt"))
	}
	contains(t, d.ask("写入 notes.txt，内容为 你好，世界。"), "已写入 notes.txt：+1 -1。")
	if d.names() != "read_file write_file" || d.holds("notes.txt") != "你好，世界。\n" {
		t.Errorf("%s: %q", d.names(), d.holds("notes.txt"))
	}
	contains(t, d.ask("把 你好，世界。 写入 notes.txt"), "unchanged", "the file held this already")
	contains(t, d.ask("create an empty file called notes.txt"), "is there already")
	contains(t, d.ask("create an empty file called fresh"), "Wrote fresh: new file, +0.")
	contains(t, d.ask("write src with x"), "fits none of them") // src looks like no path
}

// What is denied or refused is told, and nothing is tried again.
func TestFilesRefused(t *testing.T) {
	d := newDesk(t)
	d.fail = func(call llm.ToolCall) *tools.Result {
		if call.Name == toolWrite {
			return &tools.Result{Error: &tools.Error{Code: tools.CodeDenied, Message: "the user said no"}}
		}
		return nil
	}
	contains(t, d.ask("write a.txt with x"), "Writing a.txt did not work: it was denied (the user said no).")
	contains(t, d.ask("创建文件 a.txt，内容：x"), "写入 a.txt 没有成功：被拒绝了（the user said no）。")
	d.file("bytes.txt", "a\x00")
	contains(t, d.ask("write bytes.txt with x"), "Reading bytes.txt did not work: bytes.txt is no text")
	if d.names() != "read_file" {
		t.Error(d.names())
	}
	d.req.Tools = nil
	contains(t, d.ask("list the files"), "I need the tool list_dir")
	contains(t, d.ask("write a.txt with x"), "I need the tool read_file")
}

// Whatever is to be written gets there as it was said, but for what is never echoed, and is not taken for requests.
func TestFileContentProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"what is 2+3?", "add a todo: pay", "to file x.txt", "remember that", "你好。", "with", ": ", "\n", "  ", "read go.mod", "Ünï", "１２", "'", "a \"b\" c", "list the files", "，内容为 ", strings.Repeat("long ", 4000)})
		content := "x " + strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ") + " y"
		ask := rapid.SampledFrom([]string{"write a/b.txt with %s", "Please create the file a/b.txt with content: %s", "写入 a/b.txt，内容为 %s", "創建文件 a/b.txt，內容：%s"}).Draw(t, "ask")
		ins := intentsOf(fmt.Sprintf(ask, content))
		if len(ins) != 1 || ins[0].action != toolWrite || ins[0].path != "a/b.txt" || ins[0].text != content+"\n" {
			t.Fatalf("%q is %s", fmt.Sprintf(ask, content), brief(ins))
		}
	})
}
