package offline

import (
	"fmt"
	"strings"
)

// How long a long answer is, in tokens.
const (
	defaultLong = 600
	maxLong     = 20_000
)

// longText makes a Markdown text of exactly n tokens, with every kind of block that a screen has to show.
func longText(l lang, n int) string {
	blocks := enBlocks
	filler := []string{"and", "so", "the", "rows", "go", "on", "to", "fill", "it"}
	sep := " "
	if l == chinese {
		blocks = zhBlocks
		filler = strings.Split("这里继续写一些字来填满", "")
		sep = ""
	}
	var b strings.Builder
	left := n
	for i := 0; ; i++ {
		block := strings.ReplaceAll(blocks[i%len(blocks)], "{n}", fmt.Sprint(i/len(blocks)+1)) + "\n\n"
		cost := tokensOf(block)
		if cost > left {
			break
		}
		b.WriteString(block)
		left -= cost
	}
	for i := range left {
		b.WriteString(filler[i%len(filler)])
		b.WriteString(sep)
	}
	return strings.TrimSpace(b.String())
}

var enBlocks = []string{
	"# A long answer, part {n}",
	"This text was written by fixed rules. It is here to try the screen: how it wraps, how it scrolls, how it looks while words come in one after another. Nothing in it was thought up by a model.",
	"## What a turn does",
	"1. The message is stored before anything else happens.\n2. The model is asked, and its words are shown as they come.\n3. Tools run, one result for each call.\n4. The answer is stored, then published.",
	"A few words can be **bold**, some are *slanted*, others are `code`, and a [link](https://example.com) has a place to go.",
	"| part | holds | kept |\n|---|---|---|\n| window | the newest turns | in the store |\n| memory | what was folded | in the session |\n| trace | every event | beside it |",
	"```go\n// sum adds what it is given.\nfunc sum(values ...int) (total int) {\n\tfor _, v := range values {\n\t\ttotal += v\n\t}\n\treturn total\n}\n```",
	"- wide text: 你好，世界\n- emoji: 🙂 👩‍👩‍👧 🇩🇪\n- marks: e\u0301 a\u0308\n  - a list in a list\n  - with two rows",
	"> A quotation stands apart from the rest, with a bar at its side, and may be longer than one row of the pane.",
	"---",
}

var zhBlocks = []string{
	"# 一个长回答，第 {n} 部分",
	"这段文字由固定的规则写成，用来试一试屏幕：怎样换行，怎样滚动，文字一个一个出现时是什么样子。其中没有任何内容来自模型。",
	"## 一轮对话做了什么",
	"1. 先保存消息，再做别的事。\n2. 询问模型，边生成边显示。\n3. 运行工具，每次调用都有一个结果。\n4. 先保存回答，再发布事件。",
	"有些字是**粗体**，有些是*斜体*，有些是 `代码`，还有一个[链接](https://example.com)。",
	"| 部分 | 内容 | 位置 |\n|---|---|---|\n| 窗口 | 最近几轮 | 数据库 |\n| 记忆 | 折叠的内容 | 会话 |\n| 追踪 | 每个事件 | 旁边 |",
	"```go\n// sum 求和。\nfunc sum(values ...int) (total int) {\n\tfor _, v := range values {\n\t\ttotal += v\n\t}\n\treturn total\n}\n```",
	"- 宽字符：你好，世界\n- 表情：🙂 👩‍👩‍👧 🇩🇪\n- 英文混排：the quick brown fox\n  - 列表里的列表\n  - 有两行",
	"> 引用和其他内容分开，旁边有一条竖线，可能比窗格的一行更长。",
	"---",
}
