package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"vitrine/ui/demo"
)

var updateREADME = flag.Bool("update-readme", false, "write the picture of the screen into the README")

// The picture in the README is what the program shows for the same keys today.
func TestREADMEPicture(t *testing.T) {
	n := 0
	p := startPlay(t, t.TempDir(), stage{w: 120, h: 32, grapheme: true, ids: func() string { n++; return fmt.Sprintf("id-%06d", n) }})
	p.ask("remember that the deploy is on Friday")
	p.ask("add a todo: submit the report")
	p.Press("ctrl+x", "n")
	p.until("a second tab", func(s demo.Screen) bool { return s.Has("2 new") || s.Has("❯2") })
	p.ask("什么是上下文窗口？")
	p.Press("alt+1")
	p.Enter("what is (17+5)*3, and when is the deploy?")
	p.wait("66")
	p.done()
	p.Enter("write a long answer")
	p.until("the middle of a stream", func(s demo.Screen) bool {
		return strings.Contains(s.String(), "1. ") && !strings.Contains(status(s), "done")
	})
	p.Advance(600 * time.Millisecond)
	var rows []string
	for _, row := range strings.Split(strings.TrimRight(p.Screen().String(), "\n"), "\n") {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	picture := strings.Join(rows, "\n")
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- screen: made by the program, kept true by a test -->\n```\n"
	before, rest, ok := strings.Cut(string(b), mark)
	if !ok {
		t.Fatal("the README has no place for the picture")
	}
	old, after, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatal("the README's picture has no end")
	}
	if old == picture {
		return
	}
	if !*updateREADME {
		t.Fatalf("the README shows another screen than the program (go test -run README . -update-readme):\n%s", picture)
	}
	if err := os.WriteFile("README.md", []byte(before+mark+picture+"\n```\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
