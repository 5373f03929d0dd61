package offline

// texts are the sentences of one language.
type texts struct {
	noTool     string // the tool's name
	failed     string // what was to be done, why
	calc       string // expression
	search     string // query
	todo       string // text or action
	exact      string // value and its exact fraction
	none       string // query: nothing was found
	hits       string // query
	added      string
	completed  string
	todos      string
	noTodos    string
	noted      string
	told       string
	toldMemory string
	toldTodo   string
	toldQuote  string
	list       string
	notTold    string
	nothing    string
	lookup     string // in front of documents when nothing was told
	greet      string
	thank      string
	bye        string
	help       string
	unknown    string
	topics     string // what a summary says of talk with nothing in it to be remembered
	and        string // between parts of a commentary
	stop       string
	commentary string
	doCalc     string
	doSearch   string
	doAdd      string
	doList     string
	doComplete string
	fileDoing  map[string]string // by tool; the path
	here       string            // the folder itself
	folder     string            // path, which of how many entries
	file       string            // path, which of how many lines
	folderEmpty,
	fileEmpty,
	fileThere string // path
	wrote string // path, change
	why   map[string]string
}

func textsOf(l lang) texts {
	if l == chinese {
		return zhTexts
	}
	return enTexts
}

var enTexts = texts{
	noTool:     "I need the tool %s for that, and it is not available here.",
	failed:     "%s did not work: %s.",
	calc:       "Calculating %s",
	search:     "The search for “%s”",
	todo:       "The change of the todo “%s”",
	exact:      "%s (exactly %s)",
	none:       "The documents have nothing about “%s”.",
	hits:       "The documents say about “%s”:",
	added:      "Added the todo “%s”.",
	completed:  "Completed the todo “%s”.",
	todos:      "Your todos:",
	noTodos:    "There are no todos.",
	noted:      "Noted: %s.",
	told:       "You told me that %s.",
	toldMemory: "My notes of this session say that %s.",
	toldTodo:   "You asked me to note this todo: %s.",
	toldQuote:  "You told me: %s.",
	list:       "This is what you told me:",
	notTold:    "You have not told me that in this session, so I do not know. I am the offline demo model: I only know what I am told here. Try “search for …” for the built-in documents.",
	nothing:    "You have not told me anything about that in this session.",
	lookup:     "You have not told me about that, so I looked it up.",
	greet:      "Hello! I am the offline demo model: fixed rules, no key, no network. Ask me to calculate, to look something up, to keep a todo or to remember something. “help” says more.",
	thank:      "You are welcome.",
	bye:        "Goodbye. This session is kept.",
	help: `I am the **offline demo model**: fixed rules, not AI. No key, no network, no cost. Try:

- **Arithmetic**: what is (17+5)*3?
- **Look-ups**: search for context window
- **Todos**: add a todo: submit the report · list my todos · complete todo report
- **Memory**: remember that the deploy is on Friday · when is the deploy?
- **Files**: list the files · read README.md · write notes.txt with hello (it asks first)
- **Several at once**: what is 12*7 and add a todo: pay the bill
- **A long answer**: write a long answer · stream 500 tokens

To connect a real model set OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server (a local one needs no key), and MODEL, then start again.`,
	unknown: "I am the offline demo model and know fixed rules only; this fits none of them. I can calculate (“what is (17+5)*3?”), look things up (“search for context window”), keep todos " +
		"(“add a todo: submit the report”) and remember what I am told (“remember that the deploy is on Friday”). “help” says more. For a real model set OPENAI_API_KEY or OPENAI_BASE_URL.",
	topics: "talked about: ",
	and:    " and ", stop: ".",
	commentary: "I will %s",
	doCalc:     "calculate %s",
	doSearch:   "look up “%s”",
	doAdd:      "add the todo “%s”",
	doList:     "list the todos",
	doComplete: "complete the todo “%s”",
	fileDoing:  map[string]string{toolList: "Listing %s", toolRead: "Reading %s", toolWrite: "Writing %s"},
	here:       "this folder", folder: "In %s, %s:", file: "%s, lines %s:",
	folderEmpty: "There is nothing in %s.", fileEmpty: "%s is empty.",
	fileThere: "%s is there already; I leave it as it is.",
	wrote:     "Wrote %s: %s.",
	why: map[string]string{
		"denied": "it was denied", "not_run": "it was not run", "interrupted": "it was interrupted and may have had effects", "timeout": "it took too long",
		"unavailable": "it is not available now", "outcome_unknown": "its outcome is unknown", "unknown_tool": "the tool does not exist",
		"truncated_arguments": "the request was cut off", "not_found": "there is nothing of that name", "internal": "the tool failed",
	},
}

var zhTexts = texts{
	noTool:     "这需要工具 %s，但当前不可用。",
	failed:     "%s没有成功：%s。",
	calc:       "计算 %s ",
	search:     "搜索“%s”",
	todo:       "修改待办“%s”",
	exact:      "%s（精确值 %s）",
	none:       "文档里没有关于“%s”的内容。",
	hits:       "文档中关于“%s”的内容：",
	added:      "已添加待办：“%s”。",
	completed:  "已完成待办：“%s”。",
	todos:      "你的待办：",
	noTodos:    "目前没有待办。",
	noted:      "记下了：%s。",
	told:       "你告诉过我：%s。",
	toldMemory: "我的会话记录里有：%s。",
	toldTodo:   "你让我记过这个待办：%s。",
	toldQuote:  "你告诉过我：%s。",
	list:       "你告诉过我这些：",
	notTold:    "你在这个会话里没有告诉过我，所以我不知道。我是离线演示模型，只知道在这里听到的内容。可以试试“搜索 …”来查内置文档。",
	nothing:    "你在这个会话里没有告诉过我这方面的内容。",
	lookup:     "你没有告诉过我这个，我查了一下。",
	greet:      "你好！我是离线演示模型：固定规则，不需要密钥和网络。可以让我计算、查资料、记待办、记住一件事。输入“帮助”了解更多。",
	thank:      "不客气。",
	bye:        "再见，这个会话会保留。",
	help: `我是**离线演示模型**：固定规则，不是人工智能。不需要密钥、网络和费用。可以试试：

- **算术**：计算 (17+5)*3
- **查资料**：查一下上下文窗口
- **待办**：添加待办：提交报告 · 列出待办 · 完成待办 报告
- **记忆**：请记住：部署在周五 · 部署在什么时候？
- **文件**：列出文件 · 读取 README.md · 写入 notes.txt，内容为 你好（会先询问）
- **一次多件事**：计算 12*7，并添加待办：交电费
- **长回答**：写一个长一点的回答 · 输出 500 个 token

要连接真实模型，请设置 OPENAI_API_KEY，或用 OPENAI_BASE_URL 指向兼容的服务器（本地服务器不需要密钥），并设置 MODEL，然后重新启动。`,
	unknown: "我是离线演示模型，只懂固定的规则，这句话不在其中。我会计算（“计算 (17+5)*3”）、查资料（“查一下上下文窗口”）、记待办（“添加待办：提交报告”）、记住你说的话（“请记住：部署在周五”）。" +
		"输入“帮助”了解更多。要连接真实模型，请设置 OPENAI_API_KEY 或 OPENAI_BASE_URL。",
	topics: "聊过：",
	and:    "，然后", stop: "。",
	commentary: "我来%s",
	doCalc:     "计算 %s",
	doSearch:   "查“%s”",
	doAdd:      "添加待办“%s”",
	doList:     "列出待办",
	doComplete: "完成待办“%s”",
	fileDoing:  map[string]string{toolList: "列出 %s ", toolRead: "读取 %s ", toolWrite: "写入 %s "},
	here:       "当前目录", folder: "%s，%s：", file: "%s，第 %s 行：",
	folderEmpty: "%s 是空的。", fileEmpty: "%s 是空文件。",
	fileThere: "%s 已经存在，我没有改动它。",
	wrote:     "已写入 %s：%s。",
	why: map[string]string{
		"denied": "被拒绝了", "not_run": "没有执行", "interrupted": "被中断，可能已有部分效果", "timeout": "超时了", "unavailable": "暂时不可用", "outcome_unknown": "结果未知",
		"unknown_tool": "没有这个工具", "truncated_arguments": "请求被截断了", "not_found": "找不到", "internal": "工具出错了",
	},
}
