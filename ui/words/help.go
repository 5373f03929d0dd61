package words

// helpTable holds keys, the palette and --help.
func helpTable() map[Text]string {
	return merged(helpTable1(), helpTable2(), helpTable3(), helpTable4())
}

func helpTable1() map[Text]string {
	return map[Text]string{
		"All commands":        "所有命令",
		"commands":            "命令",
		"New tab":             "新建标签页",
		"new":                 "新建",
		"Close this tab":      "关闭此标签页",
		"close":               "关闭",
		"Rename this session": "重命名此会话",
		"title":               "标题",
		"rename":              "重命名",
		"Open a session":      "打开会话",
		"Record the screen, or end the recording": "录制屏幕，或结束录制",
		"record":   "录制",
		"file":     "文件",
		"words":    "关键词",
		"sessions": "会话",
		"Add a todo, or toggle one by its number": "添加待办，或按编号切换",
		"text or number":                       "文字或编号",
		"Send the last input again":            "重新发送上次输入",
		"Choose the model":                     "选择模型",
		"name":                                 "名称",
		"Start a new session in this tab":      "在此标签页开始新会话",
		"Fold the context now":                 "立即折叠上下文",
		"undo":                                 "撤销",
		"fold":                                 "折叠",
		"Undo the last fold":                   "撤销上次折叠",
		"Show the context of the next request": "查看下次请求的上下文",
		"context":                              "上下文",
		"Pin a sentence, which no fold loses":  "固定一句话，折叠时不丢",
		"pin":                                  "固定",
		"text":                                 "文字",
		"Take a pin away":                      "取消固定",
		"number or text":                       "编号或文字",
		"What tools may do in this session":    "本会话的工具权限",
		"Go to what waits for you":             "转到等你处理的事项",
		"what waits":                           "待处理",
		"Break at the next call, or a tool's":  "在下次调用或某工具处中断",
		"tool":                                 "工具",
		"break at the next call":               "断在下次调用",
		"Stop the run":                         "停止运行",
		"Show or hide the trace":               "显示或隐藏轨迹",
		"trace":                                "轨迹",
		"Show or hide the todos":               "显示或隐藏待办",
		"todos":                                "待办",
		"Copy the last answer":                 "复制上次回答",
		"copy":                                 "复制",
		"Copy the last block of code":          "复制上一段代码",
		"Search the history":                   "搜索历史",
		"Tab before":                           "上一个标签页",
		"tab before":                           "上一标签页",
		"Tab after":                            "下一个标签页",
		"tab after":                            "下一标签页",
		"Move this tab left":                   "标签页左移",
		"move the tab left":                    "左移",
		"Move this tab right":                  "标签页右移",
		"move the tab right":                   "右移",
		"Mouse on or off":                      "开关鼠标",
		"mouse":                                "鼠标",
		"The next look: dark, light, contrast, 16 colours": "下一种外观：深色、浅色、高对比、16 色",
		"look":                     "外观",
		"Help":                     "帮助",
		"help":                     "帮助",
		"Quit":                     "退出",
		"quit":                     "退出",
		"edit##keys":               "编辑",
		"always##keys":             "全局",
		"panes":                    "面板",
		"asked":                    "提问时",
		"next pane, Shift: back":   "下一面板，Shift 反向",
		"pane before":              "上一面板",
		"close; cancel":            "关闭；取消",
		"stop, then quit":          "停止，再按退出",
		"waits, shows letters":     "等待并列出字母",
		"that tab":                 "该标签页",
		"to the shell, till fg":    "回到 shell，fg 返回",
		"send, or queue":           "发送或排队",
		"new line, or Shift+Enter": "换行，或 Shift+Enter",
		"input before":             "上一条输入",
		"input after":              "下一条输入",
		"search history":           "搜索历史",
		"open $EDITOR":             "打开 $EDITOR",
		"command":                  "命令",
		"help, in an empty input":  "帮助（输入为空时）",
		"chat up":                  "对话上翻",
		"chat down":                "对话下翻",
		"chat up a line":           "对话上移一行",
	}
}

func helpTable2() map[Text]string {
	return map[Text]string{
		"chat down a line":          "对话下移一行",
		"up":                        "上",
		"down":                      "下",
		"half a page up":            "上翻半页",
		"half a page down":          "下翻半页",
		"page up":                   "上翻一页",
		"page down":                 "下翻一页",
		"top":                       "顶部",
		"bottom, follow":            "底部，跟随",
		"open: JSON of an event":    "打开：事件的 JSON",
		"toggle a todo, a fold":     "切换待办、折叠",
		"open":                      "展开",
		"turn before":               "上一轮",
		"turn after":                "下一轮",
		"copy it, or the answer":    "复制它或回答",
		"copy its last code":        "复制其最后的代码",
		"found after":               "下一处",
		"found before":              "上一处",
		"all of a fold, a question": "查看折叠或提问的全文",
		"this pane alone":           "只看此面板",
		"to the input":              "回到输入",
		"yes: once, resume, fold":   "是：一次、继续、折叠",
		"no: deny, no fold":         "否：拒绝、不折叠",
		"give up, stop":             "放弃、停止",
		"always, this session":      "本会话总是允许",
		"run it again":              "再运行一次",
		"edit the arguments":        "修改参数",
		"step to the next call":     "单步到下次调用",
		"run on":                    "继续运行",
		"run until a tool":          "运行到某工具",
		"answer for the tool":       "代工具回答",
		"all that is sent":          "查看发送的全部",
		"stop the call (trace)":     "停止调用（轨迹）",
		"bottom":                    "底部",
		"undo, or Ctrl+/":           "撤销，或 Ctrl+/",
		"do it again":               "重做",
		"open the paste here":       "在此展开粘贴",
		`Vitrine is an agent runtime you can see through, in a terminal.

Without a command it opens the screen: chats in tabs, a live trace of every step, the session's todos.
Without a key it answers with a built-in offline model; vitrine doctor shows what holds and how to change it.
It speaks English and Simplified Chinese: the locale's language, or AGENT_LANG=en or zh.

Exit codes: 0 succeeded, 1 failed, 2 wrong usage or configuration, 3 waits for you, 4 a budget ran out, 130 interrupted.`: `Vitrine 是运行在终端里、过程透明的智能体运行时。

不带命令时打开界面：标签页中的对话、每一步的实时轨迹、会话的待办。
没有密钥时由内置的离线模型回答；vitrine doctor 显示当前生效的设置以及如何更改。
界面有英文和简体中文：按语言环境，或用 AGENT_LANG=en 或 zh 指定。

退出码：0 成功，1 失败，2 用法或配置错误，3 等你处理，4 预算用尽，130 已中断。`,
		`Run one turn without the screen. The answer goes to standard output, everything else to standard error.

The prompt is what stands behind the flags. Standard input is read for - and, when there is no prompt, if it is a pipe or a
file; it is never waited for otherwise. Without --session a new session is made; its name stands on standard error.
An @ in the prompt is text: no file is attached, as it is on the screen and with --plain.

With --json standard output gets one JSON object a line: the stored events of the run from run_start to run_end, and a retry
event for each attempt that failed.

The --expect flags say what the answer has to pass. One that does not goes back to the model with the reason, three times at
most; then the run fails.

--resume goes on with a run that was interrupted. A call with effects that was running then is not repeated by itself: the
command names it and exits with 3, and --outcome says what became of it.

A call that needs approval (AGENT_TOOL_POLICY) ends the command with 3, too; --approve CALL or --deny CALL with its --session
goes on.`: `不打开界面，运行一轮。回答写到标准输出，其余写到标准错误。

提示词是各选项之后的文字。参数为 - 时读取标准输入；没有提示词且标准输入是管道或文件时也会读取，其他情况从不等待输入。
不带 --session 时新建一个会话，其名称写到标准错误。
提示词中的 @ 只是文字：不像界面和 --plain 那样附上文件。

带 --json 时标准输出每行一个 JSON 对象：从 run_start 到 run_end 已存储的运行事件，每次失败的尝试另有一个 retry 事件。

--expect 系列选项规定回答必须满足的条件。不满足的回答连同原因退回给模型，最多三次，之后运行失败。

--resume 继续一次被中断的运行。当时正在执行且有外部影响的调用不会自动重复：
命令会列出它并以 3 退出，由 --outcome 说明它的结果。

需要批准的调用（AGENT_TOOL_POLICY）同样使命令以 3 退出；对它的 --session 用 --approve CALL 或 --deny CALL 继续。`,
		`Print what holds and where it came from: configuration with keys masked, paths, what the store holds, the terminal and the
model endpoint. Nothing is changed, and nothing leaves the machine unless --check asks the endpoint for a sign of life.`: `显示当前生效的设置及其来源：配置（密钥已遮盖）、路径、存储的内容、终端和模型端点。
不会更改任何东西；除非用 --check 请求端点应答，否则不会向外发送任何内容。`,
		`Write a session with all its messages, folded ones too, as Markdown, JSON or one HTML file that needs nothing else:
to standard output, or to a file that does not exist yet.`: `把会话的全部消息（包括已折叠的）写成 Markdown、JSON 或一个独立的 HTML 文件：
写到标准输出，或写到一个尚不存在的文件。`,
	}
}

func helpTable3() map[Text]string {
	return map[Text]string{
		`List the models that the endpoint offers and, below them, those of a running Ollama, llama.cpp or LM Studio on this machine.
The one that new sessions use is marked. --model NAME, or MODEL, takes another one; nothing on this machine is used unless it is
named, like local:ollama/llama3.2 (where no endpoint is set ollama/llama3.2 will do). In a session /model changes it.`: `列出端点提供的模型，下面是本机正在运行的 Ollama、llama.cpp 或 LM Studio 的模型。
新会话使用的模型带有标记。--model 名称 或 MODEL 选用另一个；本机的模型只有指明才会使用，
例如 local:ollama/llama3.2（未设置端点时写 ollama/llama3.2 即可）。在会话中用 /model 更换。`,
		`A line is a message. A line that ends with \ goes on in the next.
@ and a path attach that file of the folder, @"with quotes" too; what is piped in attaches none.
/model NAME changes the model, /quit or the end of the input leaves. Ctrl+C stops a turn and leaves.
When a call waits for your word: y once, a always in this session, n no, n REASON no and why.`: `一行是一条消息。以 \ 结尾的行在下一行继续。
@ 加路径附上文件夹中的该文件，也可写 @"带引号的路径"；管道输入不附文件。
/model 名称 更换模型，/quit 或输入结束时离开。Ctrl+C 停止这一轮并离开。
调用等你答复时：y 一次，a 本会话总是，n 否，n 理由 否并说明原因。`,
		`Delete sessions that nobody needs any more, and give the space back to the disk.

Those go that have not changed for the given days, those beyond the newest N, or with both flags those of which both is so.
A session that a process holds, that is open as a tab or that has a star stays. The space is given back while no other process has the
database open; else it is used for what is stored next, or given back by the next prune.`: `删除不再需要的会话，并把空间还给磁盘。

删除在给定天数内没有变化的会话，或最新 N 个之外的会话；两个选项都给出时只删除同时满足两者的会话。
被进程占用、在标签页中打开或加星的会话保留。没有其他进程打开数据库时才归还空间，
否则留给之后存储的内容，或由下一次 prune 归还。`,
		`Print what a run did, from the store: as a tree of steps, model calls and tools, or with --json as the stored events, one
JSON object a line.

The argument is a session (all its runs), or a run or the beginning of its id. Without one it is the last run of the session
that changed last. With --prefix each request of it is compared with the one before: a provider has cached what it repeats.`: `根据存储显示一次运行做了什么：以树的形式列出步骤、模型调用和工具，或带 --json 时每行一个 JSON 对象列出已存储的事件。

参数是一个会话（其全部运行），或一次运行，或其编号的开头。不带参数时是最近变化的会话的最后一次运行。
带 --prefix 时逐个比较每次请求与前一次请求：重复的部分已在服务方缓存。`,
		"the answer has to be JSON that satisfies the JSON schema in this file": "回答必须是符合此文件中 JSON schema 的 JSON",
		"the answer has to match this regular expression somewhere":             "回答中必须有匹配此正则表达式的部分",
		"this tool has to succeed before the answer":                            "回答之前此工具必须成功执行",
		"no todo of the session may be open at the end":                         "结束时会话不得有未完成的待办",
		"Print what holds and where it came from":                               "显示当前生效的设置及其来源",
		"print a commented configuration file":                                  "输出带注释的配置文件",
		"ask the model endpoint for a sign of life":                             "请求模型端点应答",
		"Write a session as Markdown, JSON or HTML":                             "把会话写成 Markdown、JSON 或 HTML",
		"md, json or html (default: by the file's name, else md)":               "md、json 或 html（默认按文件名，否则为 md）",
		"the file to write":   "要写入的文件",
		"Usage:":              "用法：",
		"Aliases:":            "别名：",
		"Examples:":           "示例：",
		"Available Commands:": "可用命令：",
		"Global Flags:":       "全局选项：",
		"Flags:":              "选项：",
		`"%s [command] --help" tells more of a command.`: `"%s [command] --help" 显示某个命令的详情。`,
		"help for %s":                                                   "%s 的帮助",
		"version of %s":                                                 "%s 的版本",
		"Help about any command":                                        "任一命令的帮助",
		"List the models that can be used":                              "列出可用的模型",
		"print JSON lines":                                              "输出 JSON 行",
		"Delete old sessions and give their space back":                 "删除旧会话并归还空间",
		"delete what has not changed for this many `DAYS`":              "删除多少`天`没有变化的会话",
		"keep the newest `N`":                                           "保留最新的 `N` 个",
		"do not ask":                                                    "不询问",
		"print what went as a JSON object":                              "以 JSON 对象输出删除的内容",
		"An agent runtime you can see through, in a terminal":           "终端里过程透明的智能体运行时",
		"whose sessions these are (default: the login name)":            "会话属于谁（默认为登录名）",
		"open this session in front; it is made when it does not exist": "在最前打开此会话，不存在时新建",
		"open the kept tabs and no other, even when another process holds them all":                            "只打开保留的标签页，即使都被另一个进程占用",
		"the model to use; offline is the built-in one":                                                        "使用的模型；offline 是内置模型",
		"a transcript, line after line, in place of the screen: for screen readers and simple terminals":       "以逐行的文字代替界面：供屏幕阅读器和简单终端使用",
		"who paints the screen: own (the default), or stock (Bubble Tea's) for a terminal that shows it wrong": "由谁绘制界面：own（默认），或在显示不正常的终端上用 stock（Bubble Tea）",
		"how the model calls tools: native, or as text for models that cannot: json or react":                  "模型如何调用工具：native，或对不支持的模型用文字：json 或 react",
		"Run one turn without the screen":                                                                      "不打开界面，运行一轮",
		"the session to go on with; it is made when it does not exist":                                         "要继续的会话，不存在时新建",
		"print events as JSON lines instead of the answer":                                                     "以 JSON 行输出事件，代替回答",
		"go on with this interrupted run instead of starting one":                                              "继续这次被中断的运行，不新开一次",
		"with --session or --resume: let this waiting call run, once":                                          "与 --session 或 --resume 一起：放行此等待的调用一次",
		"with --session or --resume: do not let this waiting call run":                                         "与 --session 或 --resume 一起：不放行此等待的调用",
		"with --deny: what the model is told":                                                                  "与 --deny 一起：告诉模型的话",
		"with --resume: what became of a call, CALL=happened, CALL=not or CALL=again":                          "与 --resume 一起：调用的结果，CALL=happened、CALL=not 或 CALL=again",
		"List, show, search, export, delete and prune sessions":                                                "列出、显示、搜索、导出、删除和清理会话",
		"List the sessions, the newest first":                                                                  "列出会话，最新的在前",
		"Print the messages of a session":                                                                      "显示会话的消息",
		"Delete a session with all that belongs to it":                                                         "删除会话及其全部内容",
		"Print what a run did":                  "显示一次运行做了什么",
		"print the stored events as JSON lines": "以 JSON 行输出已存储的事件",
		"print for each request how much of the one before it repeats, and what broke that": "显示每次请求重复了前一次的多少，以及因何中断",
		"only this run, by its id or the beginning of it":                                   "只看这次运行，用其编号或编号开头",
		"write what passes to and from the model into this new file, without keys":          "把与模型的往来写入此新文件，不含密钥",
		"answer from this recording in place of the model; needs no network":                "用此记录代替模型回答，不需要网络",
		"with --replay-model: how much of the recorded pauses to keep, 1 for all":           "与 --replay-model 一起：保留多少记录的停顿，1 为全部",
		"Look for words in all sessions":                                                    "在全部会话中查找",
		"show at most `N` messages":                                                         "最多显示 `N` 条消息",
		"Play, check and record demo scripts":                                               "播放、检查和录制演示脚本",
		"list the built-in demos":                                                           "列出内置演示",
	}
}

func helpTable4() map[Text]string {
	return map[Text]string{
		"only assert; nothing is shown but what fails":                  "只检查，仅显示失败的内容",
		"write a recording: FILE.cast, .gif, .svg or .txt":              "写入录制：文件名以 .cast、.gif、.svg 或 .txt 结尾",
		"how much faster than a person, 0.1 to 100, in recordings too":  "比人快多少，0.1 到 100，录制也按此速度",
		"the longest pause, such as 2s (default: as the script has it)": "最长停顿，如 2s（默认按脚本）",
		`Look for words in all that was said in your sessions, folded or not.

A message is found when it has all the words: in any case, with or without accents, by their beginnings; Chinese, Japanese and
Korean by any part of a sentence. No sign means anything. The sessions that changed last come first.`: `在你的会话的全部内容中查找，包括已折叠的。

消息含有全部词语才算找到：不分大小写，不分重音，按词首匹配；中文、日文和韩文按句子的任意部分匹配。
符号没有特殊含义。最近变化的会话在前。`,
		`Play a demo: a script that types, waits and asserts, against the program itself. Without a name it is acceptance.

It plays in the terminal at the pace of a person; --check only asserts, as fast as it goes; --record writes what a terminal would
show, as asciicast (.cast), GIF (.gif), SVG (.svg) or the screens of all expects as text (.txt), and may be given several times.
Data goes to a temporary folder, and no key is used unless the script says live. A file of yours is played like a built-in demo;
"vitrine demo from ID" makes one of a session, and this is one too:

  [files]                     # what lies in the demo's folder
  "notes.txt" = "Read me."

  [[step]]
  enter = "read notes.txt"    # or type, paste, key = "ctrl+x n", caption, pause = "1s", resize = "80x24", restart, crash = true

  [[step]]
  wait = { state = "succeeded" }
  within = "10s"

  [[step]]
  expect = { answer = "Read me.", text = "notes.txt", pane = "chat", turns = 1 }

size, model, [config], [slow] and [[reply]] tables, with what the model says, stand before the steps. wait and expect look for text or
regexp (with pane, not), state, event (with fields), answer, todo (with done) and turns, all at once.`: `播放演示：对程序本身输入、等待并检查的脚本。不带名称时为 acceptance。

它在终端中以人的速度播放；--check 只检查，尽快完成；--record 写出终端所显示的内容：asciicast（.cast）、
GIF（.gif）、SVG（.svg）或所有检查点的文字画面（.txt），可多次给出。
数据放在临时目录，除非脚本写明 live，否则不使用密钥。你的脚本文件与内置演示一样播放；
"demo from" 命令用会话制成脚本，下面也是一个脚本：

  [files]                     # 演示目录中的文件
  "notes.txt" = "Read me."

  [[step]]
  enter = "read notes.txt"    # 或 type、paste、key = "ctrl+x n"、caption、pause = "1s"、resize = "80x24"、restart、crash = true

  [[step]]
  wait = { state = "succeeded" }
  within = "10s"

  [[step]]
  expect = { answer = "Read me.", text = "notes.txt", pane = "chat", turns = 1 }

步骤之前可以写 size、model、[config]、[slow] 和 [[reply]]（模型的回复）。wait 和 expect 查找 text 或
regexp（可加 pane、not）、state、event（可加 fields）、answer、todo（可加 done）和 turns，须同时满足。`,
		"the colours of a recording: dark (the default), light or contrast": "录制的配色：dark（默认）、light 或 contrast",
		"no window around a picture":                                        "图片不带窗口边框",
	}
}
