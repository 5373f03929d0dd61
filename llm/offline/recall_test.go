package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vitrine/llm"
)

// chat is a conversation without tools.
type chat struct{ req llm.Request }

func (c *chat) say(text string) string {
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: text})
	r := respond(c.req)
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleAssistant, Content: r.text})
	return r.text
}

func newChat() *chat {
	return &chat{llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: "You are an assistant. The deploy is never."}}}}
}

// saysNotTold reports the plain words for it.
func saysNotTold(s string) bool {
	return strings.Contains(s, "You have not told me") || strings.Contains(s, "没有告诉过我")
}

// pair is a subject with ways to tell and to ask; {s} and {v} stand for subject and value.
type pair struct {
	subjects, values []string
	tell, ask        []string
	lang             lang
}

var pairs = []pair{
	{
		subjects: []string{"code word", "wifi password", "favourite colour", "project codename", "server address", "budget", "release branch", "meeting room", "team motto", "office plant",
			"backup drive", "database", "lucky number", "coffee order", "locker combination", "blood type", "main export", "quarterly target", "licence key", "zorblax"},
		values: []string{"falcon", "hunter2", "teal", "Blue Heron", "10.0.0.7", "42", "release/2.4", "B-12", "ship it", "ficus", "Ада", "Zoë O’Brien", "Go", "3.5 million", "x7-99-q", "小明",
			"https://example.com/a?b=c", "Monday Blues", "0451", "oat flat white"},
		tell: []string{"remember that the {s} is {v}", "Please remember that my {s} is {v}.", "the {s} is {v}", "My {s} is {v}", "note that our {s} is {v}", "Remember: the {s} is {v}!",
			"Hi, the {s} is {v}.", "keep in mind that the {s} is {v}", "for the record, the {s} is {v}", "By the way, my {s} is {v}", "Could you remember that the {s} is {v}?", "don't forget that the {s} is {v}"},
		ask: []string{"what is the {s}?", "What's my {s}?", "tell me the {s}", "do you remember the {s}?", "what did I tell you about the {s}?", "can you remind me what the {s} is?", "what was the {s} again?",
			"Do you know what my {s} is?", "the {s}?", "please tell me what the {s} is", "which {s} did I mention?", "I forgot the {s}, what is it?", "so what is our {s}"},
		lang: english,
	},
	{
		subjects: []string{"deploy", "standup", "board meeting", "launch party", "code freeze", "dentist appointment", "flight to Oslo", "final exam", "Falcon release", "kick-off"},
		values:   []string{"on Friday", "on March 3", "at 5pm", "tomorrow", "on 2026-05-01", "at noon", "next Tuesday", "in October", "on the 12th", "at 09:30 on Monday", "after lunch"},
		tell:     []string{"remember that the {s} is {v}", "the {s} is {v}", "My {s} is {v}.", "please note that the {s} is {v}", "the {s} will be {v}"},
		ask: []string{"when is the {s}?", "what day is the {s}?", "when will the {s} be?", "do you remember when the {s} is?", "what did I tell you about the {s}?", "tell me when the {s} is", "When's the {s}?",
			"on what date is the {s}?", "what time is my {s}?", "when does the {s} take place?", "Is there anything you know about the {s}?"},
		lang: english,
	},
	{
		subjects: []string{"team lead", "release manager", "accountant", "night shift nurse", "owner of the parser", "best cook"},
		values:   []string{"Alice", "Bob Miller", "Zoë", "Mr. Tanaka", "Ivan", "Dr. Who", "Li Lei"},
		tell:     []string{"{v} is the {s}", "remember that {v} is the {s}", "the {s} is {v}", "my {s} is called {v}"},
		ask:      []string{"who is the {s}?", "do you know who the {s} is?", "who's my {s}?", "what is the name of the {s}?", "tell me who the {s} is"},
		lang:     english,
	},
	{
		subjects: []string{"数据库密码", "团队口号", "生日", "服务器地址", "预算", "会议室", "项目代号", "幸运数字", "最喜欢的颜色", "老板的猫", "门禁卡号", "紧急联系人"},
		values:   []string{"勇往直前", "三月五号", "hunter2", "10.0.0.7", "猎鹰", "四十二", "3.5万", "蓝色", "张伟", "B-12", "阿黄"},
		tell:     []string{"请记住：{s}是{v}", "{s}是{v}", "记住{s}是{v}", "我的{s}是{v}。", "帮我记一下，{s}是{v}", "请记住{s}是{v}！", "你好，{s}是{v}", "別忘了{s}是{v}"},
		ask: []string{"{s}是什么？", "{s}是多少？", "我的{s}是什么", "你还记得{s}吗？", "告诉我{s}", "请问{s}是什么？", "关于{s}我说过什么？", "你知道{s}是什么吗", "{s}呢？", "我告诉过你{s}是什么吗？", "{s}是什麼？",
			"我想知道{s}是什么"},
		lang: chinese,
	},
	{
		subjects: []string{"部署", "周会", "发布会", "牙医预约", "期末考试", "代码冻结", "毕业典礼", "小明的婚礼"},
		values:   []string{"周五", "三月五号", "下午三点", "明天", "2026年5月1日", "下周二", "月底", "国庆节"},
		tell:     []string{"请记住：{s}在{v}", "{s}在{v}", "记住{s}定在{v}", "{s}安排在{v}。", "提示一下：{s}在{v}", "請記住{s}在{v}"},
		ask:      []string{"{s}在什么时候？", "{s}是什么时候", "{s}是哪天？", "什么时候{s}？", "你记得{s}的时间吗？", "{s}定在几号？", "关于{s}，我告诉过你什么？", "{s}在何时", "{s}是幾點？"},
		lang:     chinese,
	},
	{
		subjects: []string{""},
		values:   []string{"Ada", "Bob Miller", "Zoë", "Søren", "Jean-Luc", "Xiaoming"},
		tell:     []string{"my name is {v}", "I'm {v}", "I am {v}.", "call me {v}", "Hello, my name is {v}!", "remember my name is {v}", "Hi! I am {v}."},
		ask:      []string{"what is my name?", "What's my name", "who am I?", "do you know my name?", "do you remember what my name is?", "what am I called?", "tell me my name", "remember my name?"},
		lang:     english,
	},
	{
		subjects: []string{""},
		values:   []string{"小明", "李雷", "王芳", "阿强", "Ada", "欧阳娜娜"},
		tell:     []string{"我叫{v}", "我的名字是{v}", "你好，我叫{v}。", "请记住我叫{v}", "我的名字叫{v}", "叫我{v}"},
		ask:      []string{"我叫什么？", "我叫什么名字？", "我是谁？", "你知道我叫什么吗", "我的名字是什么", "你还记得我的名字吗？", "我叫什麼名字？", "记得我叫什么吗？"},
		lang:     chinese,
	},
}

func fill(pattern, s, v string) string {
	return strings.NewReplacer("{s}", s, "{v}", v).Replace(pattern)
}

// chatter is what is said between; it tells nothing that is asked for.
var chatter = []string{"hello", "what is 12*7?", "search for context window", "add a todo: water the garden", "thanks", "list my todos", "help", "你好", "计算 3+4", "查一下协程", "stream 20 tokens",
	"what did I tell you about dinosaurs?", "谢谢", "who painted the ceiling?", "恐龙为什么灭绝了？"}

// told is one drawn fact.
type told struct {
	pair
	subject, value string
}

// drawFacts draws facts about different subjects with different values.
func drawFacts(t *rapid.T, n int) []told {
	var out []told
	for range n {
		p := rapid.SampledFrom(pairs).Draw(t, "pair")
		f := told{p, rapid.SampledFrom(p.subjects).Draw(t, "subject"), rapid.SampledFrom(p.values).Draw(t, "value")}
		clash := slices.ContainsFunc(out, func(o told) bool {
			name := o.subject == "" && f.subject == "" || strings.Contains(fold(o.subject), fold(f.value)) || strings.Contains(fold(f.subject), fold(o.value))
			return name || o.subject != "" && f.subject != "" && (strings.Contains(o.subject, f.subject) || strings.Contains(f.subject, o.subject)) ||
				strings.Contains(o.subject, f.value) || strings.Contains(f.subject, o.value) || strings.Contains(f.subject, f.value) ||
				strings.Contains(o.value, f.value) || strings.Contains(f.value, o.value)
		})
		if !clash {
			out = append(out, f)
		}
	}
	return out
}

// TestRecallProperty: whatever is told is found again among other facts and other talk, in any phrasing; what was not told is
// said not to be known, and no value comes out of it.
func TestRecallProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := drawFacts(t, rapid.IntRange(1, 5).Draw(t, "facts"))
		other := newChat() // a session that is told nothing of the first fact
		c := newChat()
		for i, f := range facts {
			for range rapid.IntRange(0, 2).Draw(t, "talk") {
				c.say(rapid.SampledFrom(chatter).Draw(t, "chatter"))
			}
			tell := fill(rapid.SampledFrom(f.tell).Draw(t, "tell"), f.subject, f.value)
			ack := c.say(tell)
			if !strings.Contains(ack, f.value) || saysNotTold(ack) {
				t.Fatalf("%q was answered %q", tell, ack)
			}
			if i > 0 {
				other.say(tell)
			}
		}
		f := facts[0]
		ask := fill(rapid.SampledFrom(f.ask).Draw(t, "ask"), f.subject, f.value)
		got := c.say(ask)
		if !strings.Contains(got, f.value) || saysNotTold(got) {
			t.Fatalf("%q of %q = %q was answered %q", ask, f.subject, f.value, got)
		}
		for _, o := range facts[1:] {
			if strings.Contains(got, o.value) {
				t.Fatalf("%q of %q was answered with %q: %q", ask, f.subject, o.value, got)
			}
		}
		if l, _ := detect(got); l != f.lang && !(f.value != got && strings.ContainsFunc(f.value, isCJK)) && isASCII(f.value) {
			t.Fatalf("%q was answered in the other language: %q", ask, got)
		}
		got = other.say(ask)
		if strings.Contains(got, f.value) || !saysNotTold(got) {
			t.Fatalf("a session that was not told answered %q with %q", ask, got)
		}
	})
}

// TestLatestWins: of two statements about one thing the later one counts.
func TestLatestWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(pairs).Draw(t, "pair")
		s := rapid.SampledFrom(p.subjects).Draw(t, "subject")
		a := rapid.SampledFrom(p.values).Draw(t, "first")
		b := rapid.SampledFrom(p.values).Draw(t, "second")
		slotA, slotB := timeSlot(fact{value: newPhrase(a)}), timeSlot(fact{value: newPhrase(b)})
		if strings.Contains(a, b) || strings.Contains(b, a) || slotA&^slotB != 0 {
			t.Skip("the same value, or such as hold both: on Friday, at noon")
		}
		tell := rapid.SampledFrom(p.tell).Draw(t, "tell")
		c := newChat()
		c.say(fill(tell, s, a))
		c.say(rapid.SampledFrom(chatter).Draw(t, "chatter"))
		c.say(fill(tell, s, b))
		ask := fill(rapid.SampledFrom(p.ask).Draw(t, "ask"), s, "")
		got := c.say(ask)
		if !strings.Contains(got, b) || strings.Contains(got, a) {
			t.Fatalf("told %q, then %q; %q was answered %q", fill(tell, s, a), fill(tell, s, b), ask, got)
		}
	})
}

// memoryMessage is a memory block as the runtime makes it.
func memoryMessage(facts ...string) string {
	b, err := json.Marshal(map[string]any{"pinned": []string{}, "goals": []string{}, "facts": facts, "todos": []string{}, "unresolved": []string{}, "updated_at": ""})
	if err != nil {
		panic(err)
	}
	return memoryMark + "\nThe runtime provides this. It is not a message of the user.\n" + string(b)
}

// TestRecallFromMemory: facts that only the memory block holds are found, in a message of its own or merged into the first; so
// are those that our own summary made of a folded conversation.
func TestRecallFromMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := drawFacts(t, rapid.IntRange(1, 4).Draw(t, "facts"))
		var lines, transcript []string
		for i, f := range facts {
			tell := fill(rapid.SampledFrom(f.tell).Draw(t, "tell"), f.subject, f.value)
			lines = append(lines, tell)
			transcript = append(transcript, fmt.Sprintf("[%d] user: %s", 2*i+1, tell), fmt.Sprintf("[%d] assistant: Noted.", 2*i+2))
		}
		slices.Reverse(lines)
		block := memoryMessage(lines...)
		if rapid.Bool().Draw(t, "summarized") {
			sum := respond(llm.Request{Messages: []llm.Message{
				{Role: llm.RoleSystem, Content: "Make a summary.\n[SUMMARIZE]\nJSON only."},
				{Role: llm.RoleUser, Content: "OLD SUMMARY\n{\"goals\":[],\"facts\":[],\"todos\":[],\"unresolved\":[]}\nMESSAGES\n" + strings.Join(transcript, "\n")},
			}}).text
			var m map[string][]string
			if err := json.Unmarshal([]byte(sum), &m); err != nil {
				t.Fatalf("summary %q: %v", sum, err)
			}
			block = memoryMessage(m["facts"]...)
		}
		c := newChat()
		if rapid.Bool().Draw(t, "merged") {
			c.req.Messages[0].Content += " What follows " + memoryMark + " is from the runtime {really}.\n\n" + block
		} else {
			c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: block})
		}
		c.say(rapid.SampledFrom(chatter).Draw(t, "chatter"))
		f := facts[0]
		ask := fill(rapid.SampledFrom(f.ask).Draw(t, "ask"), f.subject, f.value)
		if got := c.say(ask); !strings.Contains(got, f.value) {
			t.Fatalf("memory %s; %q was answered %q", block, ask, got)
		}
	})
}
