package words

// inputTable holds the input: pastes, files that it names, and what its keys answer.
func inputTable() map[Text]string {
	return map[Text]string{
		"paste %d: %s lines, %s": "粘贴 %d：%s 行，%s",
		"paste %d: %s lines":     "粘贴 %d：%s 行",
		"paste %d":               "粘贴 %d",
		"the paste was not taken: with it the input would be larger than %s; what you typed is as it was": "粘贴未放入：放入后输入会超过 %s；已输入的内容不变",
		"%s opens the paste here, %s in your editor; Backspace takes it away":                             "%s 在此展开粘贴，%s 在编辑器中打开；退格键删除它",
		"put the cursor beside the paste that is to be opened":                                            "请把光标移到要展开的粘贴旁边",
		"there is no paste to open": "没有可展开的粘贴",
		"the paste is too large to be edited here; %s opens it in your editor": "粘贴太大，不能在此编辑；%s 在编辑器中打开",

		"file of the folder":                        "文件夹中的文件",
		"edit input, new tab":                       "改写输入，新标签",
		"Edit an earlier input in a new session":    "在新会话中改写之前的输入",
		"j and k choose one of your inputs to edit": "j 和 k 选中要改写的输入",
		"nothing was said yet":                      "还没有输入",
		"sessions cannot be branched here":          "此处不能分出会话",
		"%s, from turn %d":                          "%s，自第 %d 轮",
		"a session of its own, from turn %d; the one before stays as it is": "新会话，自第 %d 轮起；原会话不变",
		"branch the session": "分出会话",
		"%d older outputs of tools stay in the session before": "%d 个较早的工具输出留在原会话",
		"the trace of the first %d turns stays there":          "前 %d 轮的轨迹留在原会话",
		"what it cost until then counts there":                 "此前的费用计入原会话",

		"(no key)":      "（无键）",
		"command##keys": "命令",

		"the folder's files cannot be listed: %s": "无法列出文件夹中的文件：%s",
		"%s insert":                   "%s 选用",
		"%s close":                    "%s 关闭",
		"%d more files":               "还有 %d 个文件",
		"not attached: too large, %s": "未附上：太大，%s",
		"not attached: %s":            "未附上：%s",
		"the first %s of %s":          "前 %s，共 %s",
		"it is no text (UTF-8)":       "不是 UTF-8 文本",
		"it is not there":             "文件不存在",
		"it is a folder":              "是文件夹",
		"it is no ordinary file":      "不是普通文件",
		"it is outside of the folder": "在文件夹之外",
		"the message is full":         "消息已满",
		"it may not be read":          "不允许读取",
		"%s more lines":               "还有 %s 行",
	}
}
