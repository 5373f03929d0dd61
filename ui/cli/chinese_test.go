package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a command prints for people is in the language of the locale or the configuration, --help and errors before the configuration
// is read too; exit codes and JSON are the same in each.
func TestCommandsSpeakChinese(t *testing.T) {
	b := newBench(t)
	b.proc.Environ = []string{"TERM=xterm", "LANG=zh_CN.UTF-8"}
	b.want(b.run("--help"), 0, "可用命令：", "")
	b.want(b.run("run", "--help"), 0, "不打开界面，运行一轮", "")
	b.want(b.run("--nosuch"), 2, "", "未知选项 --nosuch")
	b.want(b.run("sessions", "nonsense"), 2, "", "不是 vitrine sessions 的命令")
	b.want(b.run("doctor"), 0, "语言  简体中文，按语言环境；AGENT_LANG=en 或 zh 可指定", "")
	b.want(b.run("run"), 2, "", "没有提示词；请作为参数给出")
	b.proc.Environ = append(b.proc.Environ, "AGENT_MAX_RAW_TURNS=many")
	b.want(b.run("doctor"), 2, "", "须为 1 到 10000 的整数")

	b.proc.Environ = []string{"TERM=xterm", "LANG=zh_CN.UTF-8", "AGENT_LANG=en"}
	b.want(b.run("doctor"), 0, "language  English, by AGENT_LANG", "")

	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "vitrine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "vitrine", "config.toml"), []byte("[agent]\nlang = \"zh\"\nmax_raw_turns = 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.proc.Environ, b.proc.ConfigDir, b.proc.ConfigDirErr = []string{"TERM=xterm", "LANG=C"}, dir, nil
	b.want(b.run("doctor"), 2, "", "须为 1 到 10000 的整数") // the language holds although the file is wrong elsewhere
	b.want(b.run("--help"), 0, "退出码", "")
}

// No command's help has a line of English left but for the names of values, which scripts and people type.
func TestHelpIsChineseThroughout(t *testing.T) {
	b := newBench(t)
	b.proc.Environ = []string{"TERM=xterm", "LANG=zh_CN.UTF-8"}
	english := regexp.MustCompile(`\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b`)
	for _, args := range []string{"", "run", "sessions", "sessions list", "sessions show", "sessions delete", "sessions export", "sessions prune", "sessions search", "trace", "models", "doctor", "demo", "help"} {
		got := b.run(append(strings.Fields(args), "--help")...)
		if got.code != 0 {
			t.Errorf("%s: %+v", args, got)
		}
		for line := range strings.Lines(got.out) {
			if m := english.FindString(line); m != "" && !strings.Contains(line, "vitrine run ") && !strings.HasPrefix(line, "  vitrine ") {
				t.Errorf("%s --help: %q in %q", args, m, line)
			}
		}
	}
}
