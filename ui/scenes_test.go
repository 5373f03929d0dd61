package ui

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// plays are the golden screens: each play leads to some. A dialog, question, pane, tab mark, state or banner that is new needs a shot
// here; TestGoldenScreens names what none shows.
func plays() map[string]func(s *stage) {
	return map[string]func(s *stage){
		"start": playStart, "work": playWork, "chinese": playChinese, "markdown": playMarkdown, "states": playStates, "waits": playWaits,
		"asked": playAsked, "asked_chinese": playAskedChinese, "lists": playLists, "ends": playEnds, "panes": playPanes, "others": playOthers,
		"fold": playFold, "fold_asked": playFoldAsked,
		"files": playFiles, "finding": playFinding,
	}
}

// story is the session of the mock-ups: two turns with tools, a third under way, two more tabs; with Chinese, emoji and combining
// characters in all that is shown.
func story(d *driver) {
	id := d.id()
	d.enter("Read limits.yaml. What may a worker use?")
	d.pass(1900 * time.Millisecond)
	d.f.tool(id, "read_file", `{"path":"limits.yaml"}`, `{"ok":true,"data":"..."}`, "1.2 KB")
	d.f.stream(id, "| resource | request | limit |\n|---|---|---|\n| cpu 处理器 | 250m | 1 |\n| memory | 192 MiB | 256 MiB |\n| disk 💾 | 1 GiB | 2 GiB |\n\nA worker that passes its memory limit is restarted, nai\u0308ve or not 👨‍👩‍👧 🇩🇪.")
	d.pass(400 * time.Millisecond)
	d.f.answer(id)
	d.f.todo(id, "list the regions")
	d.f.todo(id, "给客户写邮件，e\u0301 👍🏽")
	d.short()
	d.press("ctrl+x", "n")
	d.enter("费用表 cost table")
	d.press("ctrl+x", "n")
	d.enter("go generics")
	d.f.stream(d.id(), "done")
	third := d.id()
	d.press("alt+1")
	d.f.answer(third)
	d.enter("What do 12 workers cost in a week, and does Friday still hold? 星期五还行吗？")
	d.f.stream(id, "I look up the price first, then calculate.")
	d.pass(1900 * time.Millisecond)
	d.f.tool(id, "search_mock", `{"query":"price of a worker hour"}`, `{"ok":true,"data":[1,2,3]}`, "3 hits")
	d.f.stream(id, "Twelve workers cost **$42.34** a week:\n\n```\n12 workers * 7 days * 24 h * $0.021 = $42.336\n```\n\nFriday holds, on the condition that you set: nothing goes out after 15:00. The rollout takes about 40 minutes, so start before 14:20 and leave")
	d.pass(400 * time.Millisecond)
	d.enter("Then add the price per day.")
	d.typed("what changes if we only need 8 of them at night?")
}

func playStart(s *stage) {
	d := s.driver(func(o *Options, f *fake) {
		o.Banner = []string{"OFFLINE MODEL  fixed rules: no key, no network, no cost", "To connect one: OPENAI_BASE_URL or OPENAI_API_KEY"}
		o.Models = []string{"mock", "another-model", "本地模型"}
		f.session("ann-window-9").row.Title = "部署计划 deploy plan"
	})
	s.shot(d, "start")
	d.press("down")
	s.shot(d, "start_try")
	d.press("esc")
	d.typed("/re")
	s.shot(d, "completion")
	d.press("esc", "ctrl+u")
	d.enter("/model")
	s.shot(d, "dialog_models")
	d.press("esc")
	d.enter("/sessions")
	s.shot(d, "dialog_sessions")
	d.press("down", "ctrl+d")
	d.short()
	s.shot(d, "dialog_delete")
}

func playWork(s *stage) {
	d := s.driver()
	story(d)
	s.shot(d, "work")
	for _, c := range []struct {
		name string
		keys []string
	}{
		{"chord", []string{"ctrl+x"}}, {"dialog_palette", []string{"ctrl+p"}}, {"dialog_help", []string{"ctrl+x", "h"}}, {"dialog_close", []string{"ctrl+x", "w"}},
		{"dialog_rename", []string{"ctrl+x", "r"}}, {"dialog_history", []string{"ctrl+r"}}, {"dialog_quit", []string{"ctrl+x", "q"}},
	} {
		d.press(c.keys...)
		s.shot(d, c.name)
		d.press("esc")
	}
	d.press("ctrl+u")
	d.enter("/clear")
	s.shot(d, "dialog_clear")
	d.press("esc")
	d.m.env.panes.show(paneTrace, s.w)
	d.m.page().focusOn(paneTrace)
	for d.press("G"); d.m.page().columns.trace.JSON() == ""; {
		d.press("k")
	}
	d.press("enter")
	s.shot(d, "dialog_event")
	d.press("esc")
	d.m.env.panes.show(paneChat, s.w)
	d.m.page().focusOn(paneChat)
	d.press("/")
	d.typed("费用")
	s.shot(d, "dialog_find")
	d.press("esc", "i", "ctrl+u")
	d.m.env.opts.Records = "."
	d.enter("/export")
	s.shot(d, "dialog_export")
}

func playPanes(s *stage) {
	d := s.driver()
	story(d)
	for _, p := range []pane{paneChat, paneTrace, paneTodos} {
		d.m.env.panes.show(p, s.w)
		d.m.page().focusOn(p)
		d.press("k")
		s.shot(d, "pane_"+p.String())
		d.press("z")
		s.shot(d, "pane_"+p.String()+"_alone")
		d.press("z")
	}
}

func playChinese(s *stage) {
	d := s.driver(func(o *Options, f *fake) {
		f.session("s").row.Title = "部署计划：星期五"
		o.Session, o.Folder = "s", "~/工作/中继"
	})
	d.enter("12 个进程一周要多少钱？周五还行吗？👩🏽‍🚀 🏳️‍🌈")
	d.pass(1900 * time.Millisecond)
	d.f.tool("s", "search_mock", `{"query":"单价 ❤️"}`, `{"ok":true,"data":[1]}`, "3 条 🇨🇳")
	d.f.stream("s", "一共 **42.34** 美元。\n\n- 周五可以，但必须在 15:00 之前；请在 14:20 前开始\n- 한글, ไทย, e\u0301\u0302 und ﷽\n- 1️⃣ 先写说明 ☎️\n\n> 引用：没有人在十五点以后发布。\n\n| 资源 | 上限 |\n|---|---:|\n| 内存 | 256 MiB |\n| 磁盘 👨‍👩‍👧‍👦 | 2 GiB |")
	d.pass(400 * time.Millisecond)
	d.f.todo("s", "确认窗口 🪟 与运维")
	d.f.todo("s", "ก\u0e33 한국어 cafe\u0301")
	d.short()
	d.typed("夜里只要 8 个呢？👨‍👩‍👧")
	s.shot(d, "chinese")
	d.f.answer("s")
	d.short()
	s.shot(d, "chinese_done")
}

func playMarkdown(s *stage) {
	d := s.driver()
	d.enter("show me everything")
	d.f.stream(d.id(), strings.Join([]string{
		"# Heading 标题", "", "## Second with `code`", "", "Some *emphasis*, **strong**, ~~struck~~ and a [link](https://example.com/a?b=c), 中文 e\u0301 👨‍👩‍👧.", "",
		"- a list", "  - in a list", "- [x] done", "- [ ] 没做完", "", "1. one", "2. two", "", "> a quote", "> > and one in it", "",
		"| left | right | 中间 |", "|:--|--:|:-:|", "| a | 1 | 好 |", "| a long cell that does not fit a narrow screen at all, so it wraps | 22 | 🇩🇪 |", "",
		"```go", "// Add adds. 加法", "func Add(a, b int) int { return a + b }", "```", "", "---", "",
		"https://example.com/" + strings.Repeat("a-very-long-path/", 8) + "end.", "",
		"An open fence:", "", "```python", "def f(x):", "    return 'half",
	}, "\n"))
	d.pass(400 * time.Millisecond)
	s.shot(d, "markdown")
	d.m.page().focusOn(paneChat)
	d.m.env.panes.show(paneChat, s.w)
	d.press("g")
	s.shot(d, "markdown_top")
}

// playStates shows a run in each state.
func playStates(s *stage) {
	for _, state := range runtime.States() {
		d := s.driver()
		id := d.id()
		d.enter("往前走 go on")
		d.f.stream(id, "I look. 我先看看 👀")
		d.pass(time.Second)
		if state.Terminal() {
			d.f.end(id, string(state), map[runtime.State]string{runtime.StateExhausted: "steps"}[state], "That is all. 完 e\u0301")
		} else {
			d.f.mu.Lock()
			d.f.emit(id, false, trace.StateData{State: string(state)})
			d.f.mu.Unlock()
		}
		d.short()
		s.shot(d, "state_"+string(state))
	}
}

// playWaits shows what stands above the input while something is wrong or late.
func playWaits(s *stage) {
	d := s.driver()
	d.enter("hello 你好")
	d.f.mu.Lock()
	d.f.emit(d.id(), false, trace.StateData{State: string(runtime.StateRetryingModel)})
	d.f.emit(d.id(), false, trace.RetryData{Attempt: 1, Max: 3, WaitMS: 3000, Cause: "localhost:11434 refused"})
	d.f.mu.Unlock()
	d.short()
	s.shot(d, "retry")
	d.f.mu.Lock()
	d.f.emit(d.id(), false, trace.ErrorData{Message: "not saved", Why: "the disk is full 磁盘满", Todo: "again in 2 s; this tab waits; text and input stay here until stored", Code: "not_saved"})
	d.f.mu.Unlock()
	d.send(noticeMsg{notice: Notice{ID: "trace", Text: "TRACING STOPPED  the disk is full"}})
	d.short()
	s.shot(d, "unsaved")

	d = s.driver()
	d.park()
	d.enter("the first input 第一个")
	d.typed("typed on meanwhile 👨‍👩‍👧")
	d.pass(time.Second)
	s.shot(d, "storing")
	d.press("ctrl+c")
	d.short()
	s.shot(d, "storing_cleared")

	d = s.driver(func(_ *Options, f *fake) { f.fail["open"] = errors.New("the disk is full") })
	s.shot(d, "broken")
}

func playEnds(s *stage) {
	d := s.driver()
	id := d.id()
	d.enter("fail, please")
	d.f.end(id, "failed", "model", "It did not work. 失败了")
	d.press("ctrl+x", "n")
	d.short()
	d.enter("another")
	d.press("alt+1")
	d.enter("and again")
	d.press("alt+2")
	d.f.end(id, "failed", "model", "Nor now.")
	d.f.answer(d.id())
	d.short()
	s.shot(d, "tab_failed")
	d.press("alt+1", "ctrl+x", "n")
	d.short()
	d.press("alt+1")
	d.enter("more")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)})
	d.press("alt+2")
	d.enter("run")
	d.short()
	s.shot(d, "tabs_marked")
	d.press("ctrl+x", "q", "w")
	s.shot(d, "quit_waits")
	d.press("ctrl+c")
}

// playOthers shows sessions that another process has, or left.
func playOthers(s *stage) {
	d := s.driver(func(o *Options, f *fake) {
		f.session("held").held = 4711
		f.session("held").row.Title = "别人的 session"
		o.Session = "held"
	})
	s.shot(d, "held")
	d = s.driver(func(o *Options, f *fake) {
		f.unknown("s", runtime.CallRow{ID: "c1", RunID: "r", Name: "pay", Status: runtime.CallDone, Arguments: `{}`})
		o.Session = "s"
	})
	d.pass(time.Second)
	s.shot(d, "ask_resume")
}

const (
	plainDiff   = " 12   replicas: 8\n 13 - window: \"15:00\"\n 13 + window: \"14:20\"\n 14 + freeze: friday\n"
	chineseDiff = " 12   副本: 8\n 13 - 窗口: \"15:00\"\n 13 + 窗口: \"14:20，星期五之前\" 👨‍👩‍👧\n"
)

func playAsked(s *stage) {
	asked(s, "", "Move the window to 14:20, and freeze on Friday.", `{"path":"deploy/relay.yaml","content":"replicas: 8\nwindow: \"14:20\"\nfreeze: friday\n"}`, plainDiff,
		`{"query":"rollout duration relay","limit":3}`)
}

func playAskedChinese(s *stage) {
	asked(s, "_chinese", "把窗口改到 14:20，星期五冻结。", `{"path":"部署/中继.yaml","content":"副本: 8\n窗口: \"14:20，星期五之前\"\n"}`, chineseDiff,
		`{"query":"中继发布要多久？","limit":3}`)
}

// asked shows the questions above the input, and the dialogs that they lead to.
func asked(s *stage, lang, input, write, deploy, search string) {
	open := func() *driver {
		d := s.driver(func(o *Options, f *fake) { f.session("s").brk = runtime.Break{Next: true}; o.Session = "s" })
		d.enter(input)
		d.f.stream(d.id(), "I look first. 我先看看。")
		return d
	}
	held := trace.ApprovalData{ID: "c1", Tool: "search_mock", Effect: string(tools.ReadOnly), Arguments: json.RawMessage(search), Cause: causeBreak}

	d := open()
	d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "write_file", Effect: string(tools.SideEffect), Arguments: json.RawMessage(write), Preview: deploy},
		trace.ApprovalData{ID: "c2", Tool: "write_file", Effect: string(tools.SideEffect), Arguments: json.RawMessage(write)})
	d.pass(time.Second)
	s.shot(d, "ask_approve"+lang)
	d.typed("y")
	s.shot(d, "ask_approve_chosen"+lang)
	d.press("esc")
	d.pass(time.Second)
	d.press("tab", "v")
	s.shot(d, "dialog_approve"+lang)
	d.press("esc", "n")
	d.short()
	s.shot(d, "dialog_deny"+lang)

	d = open()
	d.f.asked(d.id(), held)
	d.pass(time.Second)
	s.shot(d, "ask_debug_tool"+lang)
	for _, key := range []string{"e", "a", "u"} {
		d = open()
		d.f.view.Tools = []runtime.ToolInfo{{Name: "calculator", Effect: tools.ReadOnly}, {Name: "search_mock", Effect: tools.ReadOnly}, {Name: "write_file", Effect: tools.SideEffect}}
		d.f.asked(d.id(), held)
		d.pass(time.Second)
		d.answer(key)
		d.short()
		if key == "e" {
			d.press("ctrl+end", "backspace", "enter")
		}
		s.shot(d, map[string]string{"e": "dialog_edit", "a": "dialog_answer", "u": "dialog_until"}[key]+lang)
	}

	d = open()
	d.f.paused(d.id(), &trace.Pause{Step: 2, Model: "gpt-4o-mini", Messages: 7, New: 3, Tokens: 3112,
		Last: &trace.StepDone{Step: 1, Calls: 3, Failed: 1, Tokens: 3278, ModelMS: 1900, FirstMS: 380}})
	d.pass(time.Second)
	s.shot(d, "ask_debug_model"+lang)

	d = s.driver(func(o *Options, f *fake) {
		f.unknown("s", runtime.CallRow{ID: "c1", RunID: "r", Name: "write_file", Arguments: write, Effect: tools.SideEffect, Status: runtime.CallStarted},
			runtime.CallRow{ID: "c2", RunID: "r", Name: "write_file", Arguments: write, Effect: tools.SideEffect, Status: runtime.CallStarted})
		o.Session = "s"
	})
	d.pass(time.Second)
	s.shot(d, "ask_outcome"+lang)
}

// playLists shows what is listed about a session.
func playLists(s *stage) {
	d := s.driver(func(o *Options, f *fake) {
		s := f.session("s")
		s.msgs = []runtime.MessageRow{
			{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "never after 15:00 不要"}, {N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "Noted. 记下了 👌🏽"},
		}
		s.row.NextN, s.row.TurnCount = 3, 1
		o.Session = "s"
		f.view.Tools = []runtime.ToolInfo{{Name: "calculator", Effect: tools.ReadOnly, Rule: runtime.RuleAuto}, {Name: "shell", Effect: tools.SideEffect, Rule: runtime.RuleAsk, Own: true},
			{Name: "write_file", Effect: tools.SideEffect, Rule: runtime.RuleDeny, Configured: runtime.RuleDeny}}
	})
	d.enter("/tools")
	d.short()
	s.shot(d, "dialog_tools")
	d.press("esc")
	d.m.page().pins = []runtime.PinRow{{ID: "p1", Text: "never after 15:00"}, {ID: "p2", Text: "不要在十五点以后发布 🚫"}}
	d.enter("/unpin")
	d.short()
	s.shot(d, "dialog_pins")
}

// playFold shows the live view of a fold in the middle of each phase, and what it leaves.
func playFold(s *stage) {
	p := newFolding(s.T, filepath.Join(s.TempDir(), "sessions.db"), start, s.w, s.h, runtime.FoldAuto, false, s.speak)
	p.ask(firstWords)
	p.ask(secondWords)
	p.ask(thirdWords)
	p.pass(8 * time.Second)
	p.seesNot(p.m.T("COMMITTED"))
	p.slow.hold = clock.NewLatch(p.sim)
	p.say(fourthWords)
	p.until("FOLDING")
	p.pass(130 * time.Millisecond)
	s.shot(p.driver, "fold_started")
	p.until("SUMMARISING")
	p.pass(100 * time.Millisecond)
	s.shot(p.driver, "fold_summarising")
	p.until("MERGED")
	s.shot(p.driver, "fold_merged")
	p.slow.hold.Open()
	p.until("COMMITTED")
	p.pass(200 * time.Millisecond)
	s.shot(p.driver, "fold_committed")
	p.pass(8 * time.Second)
	p.seesNot(p.m.T("COMMITTED"))
	s.shot(p.driver, "fold_closed")
	p.press("tab")
	for range 20 {
		p.press("k")
		if _, ok := p.m.page().columns.chat.Whole(); ok {
			break
		}
	}
	p.press("right")
	s.shot(p.driver, "fold_opened")
	p.press("v")
	s.shot(p.driver, "dialog_fold")
	p.press("esc", "left", "esc", "ctrl+x", "c")
	p.pass(50 * time.Millisecond)
	s.shot(p.driver, "dialog_context")
	p.press("enter")
	s.shot(p.driver, "dialog_part")
	p.press("esc", "esc")
	p.leave()
}

func playFoldAsked(s *stage) {
	p := newFolding(s.T, filepath.Join(s.TempDir(), "sessions.db"), start, s.w, s.h, runtime.FoldAsk, false, s.speak)
	p.ask(firstWords)
	p.ask(secondWords)
	p.say(thirdWords)
	p.until("y " + p.m.T("fold"))
	p.pass(time.Second)
	s.shot(p.driver, "fold_asked")
	p.press("esc")
	p.leave()
}

// playFinding shows searches, their hits in what is not loaded, the trace's filter, several blocks that are selected, and text that the mouse selected.
func playFinding(s *stage) {
	d := s.driver(func(o *Options, f *fake) {
		f.long("s", 300, 60).row.Title = "部署计划 deploy plan"
		f.session("s").msgs[1].Content = "The 部署窗口 is Friday 👨‍👩‍👧, cafe\u0301 or not."
		other := f.long("other", 2, 0)
		other.row.Title = "费用 costs"
		other.msgs[0].Content = "部署窗口：星期五？"
		f.starred["other"] = true
		o.Session = "s"
	})
	d.press("ctrl+x", "g")
	d.typed("部署 窗口")
	d.pass(seekAfter * 2)
	s.shot(d, "dialog_search")
	d.press("esc")
	d.m.page().seekFor("部署窗口", 2)
	d.send(placesMsg{id: "s", gen: d.m.page().seek.gen, places: runtime.Places{Ns: []int64{2, 199, 399, 599}, All: 4}})
	d.short()
	s.shot(d, "found")
	d.press("V", "j")
	s.shot(d, "several")
	d.press("esc")
	r := d.m.page().lay.chat
	d.drag(r.x+4, r.y, r.x+17, r.y+r.h-2)
	d.short()
	s.shot(d, "dragged")
	d.press("esc", "esc")
	d.m.env.panes.show(paneTrace, s.w)
	d.m.page().focusOn(paneTrace)
	d.press("f")
	d.typed("error 错误")
	s.shot(d, "dialog_filter")
	for range 3 {
		d.press("backspace")
	}
	d.press("enter")
	d.short()
	s.shot(d, "filtered")
}
