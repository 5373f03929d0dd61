package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vitrine/runtime/config"
	"vitrine/ui/cli"
	"vitrine/ui/demo"
	"vitrine/ui/words"
)

// The Chinese section names variables that there are, prompts that the offline model understands, and what the screen offers to try.
func TestREADMEChinese(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## 中文：快速开始\n")
	section, _, end := strings.Cut(section, "\n## ")
	if !ok || !end {
		t.Fatal("there is no Chinese section")
	}
	names := regexp.MustCompile(`\b(?:AGENT|OPENAI|LLM)_[A-Z_]+`).FindAllString(section, -1)
	if len(names) < 10 {
		t.Errorf("variables: %q", names)
	}
	for _, name := range names {
		if !strings.Contains(config.EnvExample(), "# "+name+"=") {
			t.Errorf("there is no variable %s", name)
		}
	}
	var toml string
	for _, block := range strings.Split(section, "```")[1:] {
		if strings.HasPrefix(block, "\n[agent]") {
			toml = block
		}
	}
	cfg, err := config.Load(config.Inputs{File: []byte(toml), FilePath: "config.toml"})
	if err != nil || cfg.Lang != config.LangChinese {
		t.Errorf("the configuration in the section: %v, %v", cfg.Lang, err)
	}
	dir := t.TempDir()
	for prompt, want := range map[string]string{"(17+5)*3 等于多少？": "66", "记住部署在周五": "部署在周五", "添加待办：提交报告": "提交报告", "什么是上下文窗口？": "上下文"} {
		if !strings.Contains(section, "`"+prompt+"`") {
			t.Errorf("the section does not name %q", prompt)
		}
		if got := vitrine(dir, "run", prompt).ok(t); !strings.Contains(got, want) {
			t.Errorf("%q is answered by %q", prompt, got)
		}
	}
	for _, text := range []words.Text{"what is (17+5)*3?", "remember that the deploy is on Friday", "add a todo: submit the report"} {
		if zh := words.Chinese.T(text); !strings.Contains(section, "`"+zh+"`") {
			t.Errorf("the screen offers %q and the section does not", zh)
		}
	}
}

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

// The recording in the README is what the demo gives today, byte for byte.
func TestREADMERecording(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing it takes long under the race detector; the plain run does")
	}
	path := filepath.Join(t.TempDir(), "acceptance.svg")
	if code, _, errs := demoCommand(t, "acceptance", "--idle", "1s", "--record", path); code != 0 {
		t.Fatal(errs)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const kept = "testdata/acceptance.svg"
	old, err := os.ReadFile(kept)
	if err == nil && bytes.Equal(old, now) {
		return
	}
	if !*updateREADME {
		t.Fatalf("%s shows something else than the demo gives now (go test . -run README -update-readme): %v", kept, err)
	}
	if err := os.WriteFile(kept, now, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The script in the README plays.
func TestREADMEDemo(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```toml\nsize = ")
	script, _, end := strings.Cut(rest, "\n```\n")
	if !ok || !end {
		t.Fatal("the README has no script")
	}
	file := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(file, []byte("size = "+script), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := demoCommand(t, file, "--check"); code != 0 {
		t.Error(errs)
	}
}

// So does the one in the help, in each language.
func TestHelpDemo(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		var out bytes.Buffer
		wiring{}.program().Execute(t.Context(), cli.Process{
			Args: []string{"demo", "--help"}, Environ: []string{"AGENT_LANG=" + lang}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Login: func() string { return "ann" }, ConfigDir: filepath.Join(t.TempDir(), "none"), Version: "test",
		})
		var script strings.Builder
		for line := range strings.Lines(out.String()) {
			if row, ok := strings.CutPrefix(line, "  "); ok && (script.Len() > 0 || strings.HasPrefix(row, "[files]")) {
				script.WriteString(row)
			} else if script.Len() > 0 && strings.TrimSpace(line) != "" {
				break
			}
		}
		file := filepath.Join(t.TempDir(), "mine.toml")
		if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, played, errs := demoCommand(t, file, "--check"); code != 0 || !strings.Contains(played, "4 steps") {
			t.Errorf("%s: %s%s\n%s", lang, played, errs, script.String())
		}
	}
}
