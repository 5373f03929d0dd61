// Package words holds what the program says to people, in English and in Simplified Chinese.
//
// A text is written in English where it is used, as a constant of type Text: s.T("step %d of %d", n, most) on the screen
// (line.Style), c.T(...) in a command. Its Chinese stands under the English in one of the tables (screen.go, pages.go,
// dialogs.go, command.go ...), and a test type-checks the program: it fails for a Text without Chinese, for verbs that differ
// between the two, for arguments that do not match them, for an entry that nothing uses, and for an English literal in a
// package of ours that reaches people without being a Text. So to add a text: write it through T, add its line to a table.
//
//   - Verbs are fmt's. Where Chinese needs another order it counts them: "%[2]s 的 %[1]d".
//   - N picks singular or plural; only the plural is a key, Chinese has one form.
//   - Two meanings of one English text are told apart by a note behind "##", which is not shown: "open##state".
//   - Tell translates texts that come whole from the runtime, the store or a model client: there they are kept in English,
//     as they go into traces and JSON too. Its table (told.go) holds the formats of those texts.
//   - What a model reads, what is stored and what scripts read never goes through this package.
//
// Chinese is written short, with halfwidth digits and a space between Chinese and Latin words; of punctuation only signs that
// are two cells wide everywhere (，。：；？（）、), never those of ambiguous width (quotes, dashes, the middle dot). Words:
//
//	session 会话   turn 轮   step 步   run 运行   tool 工具   call 调用   trace 轨迹   event 事件   fold 折叠   pin 固定
//	summary 摘要   memory 记忆   window 窗口   context 上下文   todo 待办   tab 标签页   pane 面板   prompt 提示词
//	model 模型   reply 回复   approve 批准   deny 拒绝   interrupted 已中断   cancel 取消   offline 离线   cached 缓存
//	budget 预算   cost 费用   draft 草稿   queued 已排队   break 断点   endpoint 端点   tokens tokens, as Chinese developers write it
package words

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// Text is a text in English, and the key of its translation. Only constants are of this type.
type Text string

// One is the singular of a text that N chooses from.
type One string

// Lang is a language that the program speaks. The zero value is English.
type Lang uint8

// The languages.
const (
	English Lang = iota
	Chinese
)

// note begins what only tells two meanings of a text apart.
const note = "##"

// String is the language's name in the configuration.
func (l Lang) String() string {
	if l == Chinese {
		return "zh"
	}
	return "en"
}

// T gives the text in the language, with the arguments put in. What has no translation is English.
func (l Lang) T(t Text, args ...any) string {
	return l.Keyed(nil, t, args...)
}

// Keyed is T with the names of the user's keys in the place of ours.
func (l Lang) Keyed(k *Keys, t Text, args ...any) string {
	s := string(t)
	if l == Chinese {
		if zh, ok := chinese()[t]; ok {
			s = zh
		}
	}
	if i := strings.Index(s, note); i >= 0 {
		s = s[:i]
	}
	if s = k.swap(s, len(args) > 0); len(args) == 0 {
		return s
	}
	return fmt.Sprintf(s, args...)
}

// N gives the singular for one, else the plural.
func (l Lang) N(n int, one One, many Text, args ...any) string {
	return l.KeyedN(nil, n, one, many, args...)
}

// KeyedN is N with the names of the user's keys in the place of ours.
func (l Lang) KeyedN(k *Keys, n int, one One, many Text, args ...any) string {
	if l == English && n == 1 {
		return English.Keyed(k, Text(one), args...)
	}
	return l.Keyed(k, many, args...)
}

// Kept gives a text in the language that went through a place without texts, such as the help of a key binding.
func (l Lang) Kept(text string) string { return l.T(Text(text)) }

// Key gives the name of keys: "1 to 9".
func (l Lang) Key(keys string) string {
	return strings.ReplaceAll(keys, " to ", l.T(" to ##between keys"))
}

// chinese is all tables in one. English never makes it.
var chinese = sync.OnceValue(func() map[Text]string {
	all := map[Text]string{}
	for _, table := range tables() {
		for t, zh := range table {
			all[t] = zh
		}
	}
	return all
})

// tables are the translations, by where they are used.
func tables() []map[Text]string {
	return []map[Text]string{screenTable(), pageTable(), chatTable(), traceTable(), dialogTable(), commandTable(), helpTable(), inputTable(), findingTable(), paletteTable()}
}

// merged puts tables together.
func merged[K comparable](parts ...map[K]string) map[K]string {
	all := map[K]string{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}
