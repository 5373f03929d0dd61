package offline

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// brief writes intents in a form that tables can hold.
func brief(ins []intent) string {
	var out []string
	for _, in := range ins {
		switch in.kind {
		case intentCalc:
			out = append(out, "calc "+in.text)
		case intentSearch:
			out = append(out, "search "+in.text)
		case intentTodo:
			out = append(out, strings.TrimSpace(in.action+" "+in.text))
		case intentTell:
			out = append(out, "tell "+in.fact.text.s)
		case intentAsk:
			s := "ask"
			if in.lookup != "" {
				s += " or search " + in.lookup
			}
			out = append(out, s)
		case intentAskAll:
			out = append(out, strings.TrimSpace("all "+in.ask.s))
		case intentFile:
			out = append(out, strings.TrimSpace(in.action+" "+in.path+" "+strings.ReplaceAll(in.text, "\n", "|")))
		case intentLong:
			out = append(out, fmt.Sprintf("long %d", in.count))
		default:
			out = append(out, map[intentKind]string{intentNone: "none", intentGreet: "greet", intentThank: "thank", intentBye: "bye", intentHelp: "help"}[in.kind])
		}
	}
	return strings.Join(out, " | ")
}

func TestIntents(t *testing.T) {
	for in, want := range map[string]string{
		// arithmetic
		"what is (17+5)*3?":            "calc (17+5)*3",
		"What is (17 + 5) * 3 ?":       "calc (17 + 5) * 3",
		"计算 12*7":                      "calc 12*7",
		"計算 5 除以 3":                    "calc 5 / 3",
		"how much is 2 plus 3 times 4": "calc 2 + 3 * 4",
		"１２×（３＋４）等于多少":                 "calc 12*(3+4)",
		"12 ÷ 4 − 1":                   "calc 12 / 4 - 1",
		"三加五":                          "calc 3 + 5",
		"一百二十三乘以两千减去十二点五是多少？": "calc 123 * 2000 - 12.5",
		"2的10次方是多少":                              "calc 2 ^ 10",
		"9的平方加16的立方":                             "calc 9^2 + 16^3",
		"15% of 80":                              "calc 15/100 * 80",
		"15 percent of 80":                       "calc 15/100 * 80",
		"80的15%是多少":                              "calc 80 * 15/100",
		"17 % 5":                                 "calc 17 % 5",
		"2 ** 8 // 3 % 5":                        "calc 2 ** 8 // 3 % 5",
		"Could you compute 1,000 * 3.5 please":   "calc 1000 * 3.5",
		"add 3 and 4":                            "calc 3 + 4",
		"subtract 3 from 10":                     "calc 10 - 3",
		"multiply 6 by 7":                        "calc 6 * 7",
		"divide 10 by 4":                         "calc 10 / 4",
		"what is the sum of 2 and 5?":            "calc 2 + 5",
		"what is the difference between 9 and 5": "calc 9 - 5",
		"twenty-one plus two hundred and five":   "calc 21 + 205",
		"five squared plus two thousand":         "calc 5^2 + 2000",
		"what is two to the power of ten?":       "calc 2 ^ 10",
		"what is minus 5 plus 3":                 "calc - 5 + 3",
		"what is -5+3":                           "calc -5+3",
		"What is 3x4":                            "calc 3*4",
		"3 x 4":                                  "calc 3 * 4",
		"what is 7-3?":                           "calc 7-3",
		"7/2":                                    "calc 7/2",
		"$5 + $3":                                "calc 5 + 3",
		"1e3*2":                                  "calc 1e3*2",
		".5 + .25":                               "calc .5 + .25",
		"2(3+4)":                                 "calc 2*(3+4)",
		"3² + 4²":                                "calc 3^2 + 4^2",
		"the numbers: 3*4 and 5*6":               "calc 3*4 | calc 5*6",
		"(what is 3+4)":                          "calc 3+4",
		"calculate (3+4":                         "calc (3+4",
		"calculate 3 + * 4":                      "calc 3 + * 4",
		"what is 1/0":                            "calc 1/0",
		"What is the result of (1.5 + 2) ^ 3?":   "calc (1.5 + 2) ^ 3",
		"I wonder: 12*7, thanks":                 "calc 12*7",
		"- 3*4":                                  "calc 3*4",
		"what is 2+2 and what is 3*3?":           "calc 2+2 | calc 3*3",
		"2+2=?":                                  "calc 2+2",
		"算一下 3+4":                                "calc 3+4",
		"calculate 2026-01-05":                   "calc 2026-01-05",
		"what is 2026-01-05?":                    "ask or search 2026-01-05",
		"call 555-123-4567 please":               "none",
		"we meet 3-5 days":                       "tell we meet 3-5 days",
		"they meet 3-5 days":                     "none",
		"open 24/7 for you":                      "none",
		"a 1920x1080 screen":                     "none",
		"version 1.2.3-4":                        "none",
		"C++17 and B12":                          "none",
		"what is 50%?":                           "ask or search 50%",
		// look-ups
		"search for context window":      "search context window",
		"Search for “goroutines”!":       "search goroutines",
		"look up prompt caching, please": "search prompt caching, please",
		"what is a context window":       "search context window",
		"What's an agent?":               "search agent",
		"define idempotency":             "search idempotency",
		"explain what a channel is":      "search channel",
		"查一下上下文窗口":                       "search 上下文窗口",
		"什么是上下文窗口？":                      "search 上下文窗口",
		"什麼是協程":                          "search 協程",
		"上下文窗口是什么":                       "ask or search 上下文窗口",
		"what is the context window?":    "ask or search context window",
		"what is compaction":             "ask or search compaction",
		"how does prompt caching work?":  "ask or search prompt caching",
		"what does idempotent mean?":     "ask or search idempotent",
		"tell me about prompt caching":   "all prompt caching",
		"請搜尋提示快取":                        "search 提示快取",
		"介绍一下工具调用":                       "search 工具调用",
		// todos
		"add a todo: submit the report":         "add submit the report",
		"Add a todo to submit the report.":      "add submit the report",
		"todo: pay the rent":                    "add pay the rent",
		"remind me to call Bob on Friday":       "add call Bob on Friday",
		"please remind me that the rent is due": "add the rent is due",
		"remember to buy milk":                  "add buy milk",
		"note to self: 3+4 is 7":                "add 3+4 is 7",
		"put milk on my todo list":              "add milk",
		"add “call mom” to my todos":            "add call mom",
		"add todos: milk, eggs and bread":       "add milk | add eggs | add bread",
		"添加待办：提交报告":                             "add 提交报告",
		"新增待辦：繳電費":                              "add 繳電費",
		"提醒我明天交房租":                              "add 明天交房租",
		"把牛奶加到待办清单":                             "add 牛奶",
		"待办：买票":                                 "add 买票",
		"list my todos":                         "list",
		"What are my todos?":                    "list",
		"show me my todos please":               "list",
		"列出待办":                                  "list",
		"我有哪些待办？":                               "list",
		"待办有哪些":                                 "list",
		"complete todo submit the report":       "complete submit the report",
		"complete the todo: submit the report":  "complete submit the report",
		"finish todo \"pay\"":                   "complete pay",
		"mark the report as done":               "complete the report",
		"mark todo pay the rent as completed":   "complete pay the rent",
		"check off milk":                        "complete milk",
		"完成待办 提交报告":                             "complete 提交报告",
		"完成提交报告":                                "complete 提交报告",
		"把提交报告标记为完成":                            "complete 提交报告",
		"将待办“买票”标为完成":                           "complete 买票",
		"add a todo":                            "none",
		// several
		"what is 12*7 and add a todo: pay":                                             "calc 12*7 | add pay",
		"计算 12*7，并添加待办：付款":                                                             "calc 12*7 | add 付款",
		"请记住：部署在周五，然后列出待办":                                                             "tell 部署在周五 | list",
		"Remember that the deploy is on Friday, then search for retries. What is 2*3?": "tell the deploy is on Friday | search retries | calc 2*3",
		"1. what is 2*3\n2. add a todo: pay\n3) list my todos":                         "calc 2*3 | add pay | list",
		"hi! what's 2*3?": "calc 2*3",
		"my sister lives in Oslo and my brother lives in Rome": "tell my sister lives in Oslo | tell my brother lives in Rome",
		"the flag is red and blue":                             "tell the flag is red and blue",
		"My boss is J. Smith. When is lunch?":                  "tell My boss is J. Smith | ask",
		"I live in block B. When is lunch?":                    "tell I live in block B | ask",
		"I met Dr. Who.":                                       "tell I met Dr. Who",
		// memory
		"remember that the deploy is on Friday": "tell the deploy is on Friday",
		"Could you remember that 2+2 is 5?":     "tell 2+2 is 5",
		"the total is 3*4":                      "tell the total is 3*4",
		"the deploy is on 2026-01-05":           "tell the deploy is on 2026-01-05",
		"never deploy on a Friday":              "tell never deploy on a Friday",
		"do not deploy on a Friday":             "tell do not deploy on a Friday",
		"不要在周五部署":                               "tell 不要在周五部署",
		"請記住我的生日是三月五號":                          "tell 我的生日是三月五號",
		"call me Ada":                           "tell my name is Ada",
		"记住了吗？":                                 "ask",
		"remember?":                             "ask",
		"is the deploy on Friday?":              "ask",
		"when is the deploy":                    "ask",
		"部署在什么时候":                               "ask",
		"周几部署":                                  "ask",
		"what did I tell you about the deploy?": "all the deploy",
		"关于部署我说过什么？":                            "all 部署",
		"what do you remember?":                 "all",
		"I forgot the code word, what is it?":   "ask",
		"The venue is Rome. Where is it?":       "tell The venue is Rome | ask",
		"it is nice":                            "none",
		// files
		"list the files":                                       "list_dir .",
		"List all files here.":                                 "list_dir .",
		"please list the files in src/app":                     "list_dir src/app",
		"show me the files in the folder docs":                 "list_dir docs",
		"list the files in the docs folder":                    "list_dir docs",
		"list the files in this folder":                        "list_dir .",
		"what files are there?":                                "list_dir .",
		"which files are there in ui?":                         "list_dir ui",
		"ls":                                                   "list_dir .",
		"ls tools":                                             "list_dir tools",
		"read go.mod":                                          "read_file go.mod",
		"Could you read the file Notes?":                       "read_file Notes",
		"show README.md please":                                "none",
		"please show README.md.":                               "read_file README.md",
		"show me LICENSE":                                      "read_file LICENSE",
		"cat 'my notes.txt'":                                   "read_file my notes.txt",
		"what's in src/Main.go?":                               "read_file src/Main.go",
		"write notes.txt with Hello, World. And more!":         "write_file notes.txt Hello, World. And more!|",
		"write the file notes.txt with “a b”":                  "write_file notes.txt a b|",
		"create a file called todo.md with - buy milk\n- eggs": "write_file todo.md - buy milk|- eggs|",
		"create file a/b.go with the content:\n```go\npackage b\n\nvar x = \"y\"\n```": "write_file a/b.go package b||var x = \"y\"|",
		"write notes.txt: what is 2+3 and add a todo: pay":                             "write_file notes.txt what is 2+3 and add a todo: pay|",
		"create an empty file called new.txt":                                          "write_file new.txt",
		"save \"one, two\" to list.txt":                                                "write_file list.txt one, two|",
		"put remember that it rains into the file weather":                             "write_file weather remember that it rains|",
		"列出文件":                    "list_dir .",
		"请列出所有文件。":                "list_dir .",
		"列出当前目录的文件":               "list_dir .",
		"列出 src 目录下的文件":           "list_dir src",
		"看看 ui/chat 里有哪些文件？":      "list_dir ui/chat",
		"ui/chat 里有哪些文件？":         "list_dir ui/chat",
		"有哪些文件？":                  "list_dir .",
		"當前目錄有哪些文件":               "list_dir .",
		"读取 go.mod":               "read_file go.mod",
		"读一下笔记.txt的内容":            "read_file 笔记.txt",
		"請讀取文件 NOTES":             "read_file NOTES",
		"打开“我的 笔记.txt”":           "read_file 我的 笔记.txt",
		"写入 notes.txt，内容为 你好，世界。": "write_file notes.txt 你好，世界。|",
		"创建文件 a.txt，内容：第一行\n第二行":  "write_file a.txt 第一行|第二行|",
		"把“你好”写入 notes.txt":       "write_file notes.txt 你好|",
		"将 1+1 保存到文件 sum":         "write_file sum 1+1|",
		"新建一个空文件 empty.txt":       "write_file empty.txt",
		"open 24/7":               "calc 24/7",
		"write a letter to Bob":   "none",
		"save the date":           "none",
		"read the docs":           "none",
		"写一首诗":                    "none",
		// the rest
		"hello":                    "greet",
		"Hello world":              "greet",
		"你好！":                      "greet",
		"早":                        "greet",
		"thanks a lot!":            "thank",
		"谢谢你的帮助":                   "thank",
		"bye":                      "bye",
		"再见":                       "bye",
		"help":                     "help",
		"你能做什么？":                   "help",
		"who are you?":             "help",
		"tell me a joke":           "none",
		"Write a poem":             "none",
		"write a long answer":      fmt.Sprintf("long %d", defaultLong),
		"写一个长一点的回答":                fmt.Sprintf("long %d", defaultLong),
		"stream 50 tokens":         "long 50",
		"please write 1,200 words": "long 1200",
		"stream 99999999 tokens":   fmt.Sprintf("long %d", maxLong),
		"輸出 500 個 token":           "long 500",
		"写一篇800字的文章":               "long 800",
		"":                         "",
		" \n\t ":                   "",
		"？！。":                      "none",
	} {
		if got := brief(intentsOf(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// drawExpression writes a random expression.
func drawExpression(t *rapid.T, depth int, space string) string {
	n := rapid.IntRange(0, 3).Draw(t, "shape")
	if depth == 0 || n == 0 {
		s := fmt.Sprint(rapid.IntRange(0, 9999).Draw(t, "number"))
		if rapid.IntRange(0, 4).Draw(t, "decimal") == 0 {
			s += "." + fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "fraction"))
		}
		return s
	}
	if n == 1 {
		return "(" + drawOperation(t, depth-1, space) + ")"
	}
	return drawOperation(t, depth-1, space)
}

func drawOperation(t *rapid.T, depth int, space string) string {
	op := rapid.SampledFrom([]string{"+", "-", "*", "/", "//", "%", "**", "^"}).Draw(t, "operator")
	return drawExpression(t, depth, space) + space + op + space + drawExpression(t, depth, space)
}

// TestExpressionsProperty: any expression is found, as it is written, in any question around it.
func TestExpressionsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := rapid.SampledFrom([]string{"", " "}).Draw(t, "space")
		e := drawOperation(t, rapid.IntRange(0, 3).Draw(t, "depth"), space)
		if dateLike(lex([]rune(e))) {
			t.Skip("a date")
		}
		ask := rapid.SampledFrom([]string{"what is {e}?", "What's {e}", "calculate {e}", "计算 {e}", "计算{e}", "{e}", "{e}=?", "{e} 等于多少？", "how much is {e}?", "请问 {e} 是多少", "Please compute {e}.",
			"hello, what is {e}", "tell me {e}", "what is {e} and add a todo: pay", "算一下 {e}，然后列出待办", "`{e}`?"}).Draw(t, "ask")
		text := strings.ReplaceAll(ask, "{e}", e)
		wide := rapid.Bool().Draw(t, "wide")
		if wide {
			text = strings.NewReplacer("(", "（", ")", "）", "+", "＋", "1", "１", "*", "＊").Replace(text)
		}
		ins := intentsOf(text)
		if len(ins) == 0 || ins[0].kind != intentCalc || ins[0].text != e {
			t.Fatalf("%q: got %s, want %q", text, brief(ins), e)
		}
	})
}

func TestNumbersInWords(t *testing.T) {
	for in, want := range map[string]int64{
		"zero": 0, "seven": 7, "nineteen": 19, "forty": 40, "forty-two": 42, "one hundred": 100, "three hundred and five": 305, "two thousand": 2000,
		"two thousand and one": 2001, "nine hundred ninety-nine thousand nine hundred ninety-nine": 999_999, "three million": 3_000_000,
	} {
		if got, n := englishNumber([]rune(in)); got != want || n != len(in) {
			t.Errorf("%q: %d, %d of %d runes", in, got, n, len(in))
		}
	}
	for _, in := range []string{"", "hundred", "tent", "onerous", "x"} {
		if _, n := englishNumber([]rune(in)); n != 0 {
			t.Errorf("%q is taken for a number", in)
		}
	}
	for in, want := range map[string]string{
		"零": "0", "十": "10", "十二": "12", "二十": "20", "二十三": "23", "一百零五": "105", "两千": "2000", "三万五千": "35000", "一亿": "100000000", "二点五": "2.5", "二〇二六": "2026", "九百九十九": "999",
	} {
		if got, n := chineseNumber([]rune(in)); got != want || n != len([]rune(in)) {
			t.Errorf("%q: %s, %d runes", in, got, n)
		}
	}
	for _, in := range []string{"", "百", "万", "点五", "你"} {
		if _, n := chineseNumber([]rune(in)); n != 0 {
			t.Errorf("%q is taken for a number", in)
		}
	}
}
