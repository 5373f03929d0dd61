package words

// toldDemos is what is wrong with demo scripts and recordings.
func toldDemos() map[string]string {
	return merged(toldScripts(), toldPlays(), toldCasts())
}

// toldScripts is what a script is refused for.
func toldScripts() map[string]string {
	return map[string]string{
		"unknown key %q":                 "未知的键 %s",
		"must be %s, not %s":             "须为%s，而不是%s",
		"a text in quotes":               "带引号的文字",
		"a whole number":                 "整数",
		"true or false":                  "true 或 false",
		`a time in quotes, such as "%s"`: `带引号的时间，如 "%s"`,
		"a list":                         "列表",
		"a table":                        "表",
		"a number":                       "数",
		"a text":                         "文字",
		"a date or a time of day":        "日期或时刻",
		"a step does one thing: type, enter, paste, key, wait, expect, caption, pause, resize, restart or crash": "一个步骤只做一件事：type、enter、paste、key、wait、expect、caption、pause、resize、restart 或 crash",
		"%q is no time from 0s to 1h, such as 1.5s":                                                              "%s 不是 0s 到 1h 的时间，例如 1.5s",
		"%q is no duration such as \"200ms\"":                                                                    "%s 不是时间，例如 \"200ms\"",
		"a script has 1 to %d [[step]] tables, this one has %d":                                                  "脚本须有 1 到 %s 个 [[step]] 表，此脚本有 %s 个",
		"the model is scripted, and there is no [[reply]]":                                                       "模型按脚本回复，但没有 [[reply]]",
		"the model is %s, and there are [[reply]] tables, which a scripted one plays":                            "模型为 %s，却有 [[reply]] 表；它们由按脚本回复的模型使用",
		"model %q is none of offline, scripted, live":                                                            "模型 %s 不是 offline、scripted 或 live",
		"%q is no size in cells from 1x1 to %dx%d, such as 100x30":                                               "%s 不是 1x1 到 %sx%s 格的尺寸，例如 100x30",
		"no key is named":                       "没有写按键",
		"key %q":                                "按键 %s",
		"there is no modifier %q":               "没有修饰键 %s",
		"there is no key %q":                    "没有按键 %s",
		"%s is true, or not there":              "%s 为 true，或不写",
		"within belongs to wait":                "within 用于 wait",
		"for belongs to caption":                "for 用于 caption",
		"not and pane belong to text or regexp": "not 和 pane 用于 text 或 regexp",
		"fields belong to event":                "fields 用于 event",
		"done belongs to todo":                  "done 用于 todo",
		"it looks for nothing: text, regexp, state, event, answer, todo or turns": "没有写要找什么：text、regexp、state、event、answer、todo 或 turns",
		"pane %q is none of %s":                     "面板 %s 不在其中：%s",
		"state %q is none of %s":                    "状态 %s 不在其中：%s",
		"there is no event %q":                      "没有事件 %s",
		"there is no tool %q":                       "没有工具 %s",
		"turns is %d":                               "turns 为 %s",
		"at least %d is allowed":                    "至少为 %s",
		"there is no setting %q":                    "没有设置 %s",
		"load the defaults":                         "读取默认值",
		"a demo's data goes to a folder of its own": "演示的数据放在它自己的目录中",
		"%s belongs to model = %q":                  "%s 用于 model = %s",
		"a script names no endpoint and no key: %s is set where the demo is played, for model = %q": "脚本不指定端点和密钥：%s 在播放演示的地方设置，用于 model = %s",
		"a step has either text or deltas":                    "一条回复只能有 text 或 deltas 之一",
		"a step has either times or forever":                  "一条回复只能有 times 或 forever 之一",
		"a step has one of fail, cut_after and hang_after":    "一条回复只能有 fail、cut_after 和 hang_after 之一",
		"fail_after needs fail":                               "fail_after 需要 fail",
		"a call needs a name":                                 "调用须有名称",
		"the session %q has no turn that a script could play": "会话 %s 没有可用脚本播放的轮",
	}
}

// toldPlays is why a play ended.
func toldPlays() map[string]string {
	return map[string]string{
		"%s did not come within %v":               "%s 没有在 %s 内出现",
		"did not come within %v":                  "没有在 %s 内出现",
		"did not come before the screen was left": "在离开屏幕之前没有出现",
		"expected %s":                             "应有%s",
		"the text %q":                             "文字 %s",
		"the text %q in the pane %s":              "文字 %s（面板 %s）",
		"no more the text %q":                     "文字 %s 消失",
		"no more the text %q in the pane %s":      "文字 %s 消失（面板 %s）",
		"a match of %v":                           "与 %s 匹配的内容",
		"a match of %v in the pane %s":            "与 %s 匹配的内容（面板 %s）",
		"no more a match of %v":                   "与 %s 匹配的内容消失",
		"no more a match of %v in the pane %s":    "与 %s 匹配的内容消失（面板 %s）",
		"the state %s":                            "状态 %s",
		"the event %s":                            "事件 %s",
		"an answer with %q":                       "含 %s 的回答",
		"the todo %q":                             "待办 %s",
		"the turn count %d":                       "轮数 %s",
		"the screen was left before this step":    "在此步骤之前已离开屏幕",
		"the program does not end by Ctrl+X q":    "按 Ctrl+X q 后程序没有结束",
		"make the demo's data folder":             "创建演示的数据目录",
		"open the program for the demo":           "为演示打开程序",
		"close the program of the demo":           "关闭演示的程序",
		"copy what the crash left":                "复制崩溃后留下的内容",
	}
}

// toldCasts is what recordings fail for.
func toldCasts() map[string]string {
	return map[string]string{
		"cannot write %s":                               "无法写入 %s",
		"it is no file":                                 "它不是文件",
		"%s is no file":                                 "%s 不是文件",
		"no space left on device":                       "磁盘已满",
		"read-only file system":                         "文件系统只读",
		"is a directory":                                "它是目录",
		"not a directory":                               "它不是目录",
		"record: no file is asked for":                  "没有要求写入文件",
		"export: no file is asked for":                  "没有要求写入文件",
		"write the recording":                           "写入录制文件",
		"write a line of the cast":                      "写入录制文件的一行",
		"read the cast":                                 "读取录制文件",
		"read line %d of the cast":                      "读取录制文件第 %s 行",
		"read Go Mono":                                  "读取 Go Mono 字体",
		"read the fallback font":                        "读取后备字体",
		"find the outline of U+%04X":                    "查找 U+%s 的轮廓",
		"read the outline of U+%04X":                    "读取 U+%s 的轮廓",
		"make a font of %v pixels":                      "制作 %s 像素的字体",
		"the line is longer than 16 MB":                 "该行超过 16 MB",
		"the header is wrong":                           "文件头有误",
		"idle_time_limit is %s":                         "idle_time_limit 为 %s",
		"this is no JSON array":                         "这不是 JSON 数组",
		"an event has 3 parts, this one %d":             "事件由 3 部分组成，此处有 %s 部分",
		"the time of the event is no number of seconds": "事件的时间不是秒数",
		"the kind of the event is no text":              "事件的类型不是文字",
		"the data of the event is no text":              "事件的数据不是文字",
		"a size is WIDTHxHEIGHT, not %s":                "尺寸写作 WIDTHxHEIGHT，而不是 %s",
		"a terminal of %dx%d cells cannot be recorded: 1x1 to %dx%d can":                             "无法录制 %sx%s 格的终端：可以是 1x1 到 %sx%s",
		"this is no asciicast: its first line is a JSON object with a version, a width and a height": "这不是 asciicast：其第一行须为含 version、width 和 height 的 JSON 对象",
		"the recording is too long for an SVG: over 64 MB":                                           "录制内容太长，无法写成 SVG：超过 64 MB",
	}
}
