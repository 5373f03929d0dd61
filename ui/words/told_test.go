package words

import "testing"

// What other parts tell is translated by its formats, as a whole or piece by piece; data in it stays.
func TestTell(t *testing.T) {
	for _, c := range []struct{ en, want string }{
		{"", ""},
		{"the disk is full", "磁盘已满"},
		{"budget used up: 8 of 8 steps", "预算用尽：8/8 步"},
		{"2 of 8 steps, 1 of 20 calls, 3.1k of 100k tokens", "2/8 步，1/20 次调用，3.1k/100k tokens"},
		{"4.4 s", "4.4 秒"},
		{"turn 12", "第 12 轮"},
		{"turn twelve", "turn twelve"},
		{"failed: no progress", "失败：没有进展"},
		{"not saved: the disk is full", "未保存：磁盘已满"},
		{"again in 4 s; this tab waits, text and input stay here until they are stored", "4 秒后重试；此标签页等待，文字和输入会留在这里直到存储"},
		{"cannot open database /w/a.db: the file is not a database; set AGENT_DB_PATH to another file", "无法打开数据库 /w/a.db：该文件不是数据库；把 AGENT_DB_PATH 设为另一个文件"},
		{"cannot open database /w/a.db: it has version 5 and must be brought to version 6, but process 7 (vt) has it open; close it and start again",
			"无法打开数据库 /w/a.db：它是版本 5，须升级到版本 6，但进程 7（vt）正打开它；请关闭它再启动"},
		{"AGENT_LANG=fr: must be auto, en or zh (environment AGENT_LANG)", "AGENT_LANG=fr：须为 auto、en 或 zh（环境变量 AGENT_LANG）"},
		{"there is no session a of ada in /w/a.db; vitrine sessions lists them", "/w/a.db 中没有 ada 的会话 a；vitrine sessions 列出会话"},
		{"the context is 91% full and folding is off", "上下文已用 91%，且折叠已关闭"},
		{"the cost of m is unknown, so AGENT_MAX_RUN_COST (0.50) cannot hold", "m 的费用未知，AGENT_MAX_RUN_COST（0.50）无法生效"},
		{"the model was not asked again", "没有再请求模型"}, // within a sentence
		{"a.toml:9:3: step 6: the state running did not come within 5s", "a.toml:9:3：第 6 步：状态 运行中 没有在 5s 内出现"},
		{`a.toml:9:3: step 6: expected an answer with "67"`, `a.toml:9:3：第 6 步：应有含 "67" 的回答`},
		{`a.toml:9:3: step 6: expected no more the text "x" in the pane chat`, `a.toml:9:3：第 6 步：应有文字 "x" 消失（面板 chat）`},
		{"a.toml:2:8: must be a text in quotes, not a whole number", "a.toml:2:8：须为带引号的文字，而不是整数"},
		{`a.toml:2:8: must be a time in quotes, such as "1.5s", not a whole number`, `a.toml:2:8：须为带引号的时间，如 "1.5s"，而不是整数`},
		{`a.toml:2:1: there is no setting "X"; vitrine doctor --sample-config lists them`, `a.toml:2:1：没有设置 "X"；vitrine doctor --sample-config 列出它们`},
		{"a.toml:4:10: turns is -1; at least 0 is allowed", "a.toml:4:10：turns 为 -1；至少为 0"},
		{"begin the recording: cannot write /n/x.gif: no such file or directory", "开始录制：无法写入 /n/x.gif：没有这个文件或目录"},
		{"cannot write a.cast: no space left on device", "无法写入 a.cast：磁盘已满"},
		{"bad.cast: line 1: a terminal of 0x3 cells cannot be recorded: 1x1 to 1000x400 can", "bad.cast：第 1 行：无法录制 0x3 格的终端：可以是 1x1 到 1000x400"},
		{"HTTP 429: slow down", "HTTP 429: slow down"}, // what a server said
		{"done: 3", "done: 3"},                         // one word among others is anybody's
		{"gw.example refused a part of the request; from now on temperature is left out", "gw.example 拒绝了请求的一部分；此后不再发送 temperature"},
		{"the server returned a tool call as text; it was not run", "服务器以文本形式返回了工具调用；没有执行"},
		{"start the server with its parser for the reasoning of this model; or, if the model reasons, set may_think = true in this endpoint's profile",
			"请以该模型的推理解析器启动服务器；若该模型会推理，也可在此端点的配置中设 may_think = true"},
		{"HTTP 429: rate limit; try again in 3m0s (2026-03-06 14:05 UTC)", "HTTP 429: rate limit；请在 3m0s 后重试（2026-03-06 14:05 UTC）"},
		{"my model", "my model"},
		{": ", ": "},
		{"%s", "%s"},
	} {
		if got := Chinese.Tell(c.en); got != c.want {
			t.Errorf("%q: %q, want %q", c.en, got, c.want)
		}
		if got := English.Tell(c.en); got != c.en {
			t.Errorf("English: %q became %q", c.en, got)
		}
	}
}

// However a text looks, telling it ends and loses nothing of what is not known.
func FuzzTell(f *testing.F) {
	for en := range toldTable() {
		f.Add(en)
	}
	f.Add("a: b: c; d. e, f (g) (h)")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Chinese.Tell(s); got == "" && s != "" {
			t.Errorf("%q vanished", s)
		}
	})
}
