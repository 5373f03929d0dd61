package words

// toldKeys are what is wrong with the keys of a configuration.
func toldKeys() map[string]string {
	return map[string]string{
		"vitrine doctor --sample-config lists the actions": "vitrine doctor --sample-config 列出各个动作",
		"is no action": "不是动作",
		"needs a key":  "须有一个键",
		"without one there would be no way to do it": "否则无法执行它",
		"takes nine keys at most":                    "最多九个键",
		"the first is that of the first tab":         "第一个对应第一个标签页",
		"is the key of %s too":                       "也是 %s 的键",
		"give one of them another key, or none":      "请给其中一个换键，或不给键",
		"a key behind another is for commands only":  "只有命令可用两个键",
		"does not begin with the key of the chord":   "不以组合键开头",
		"write %s":                                         "请写 %s",
		"is text in the input":                             "在输入框中是文字",
		"take one with ctrl or alt":                        "请用带 ctrl 或 alt 的键",
		"take one with ctrl or alt, or %s":                 "请用带 ctrl 或 alt 的键，或 %s",
		"there is no key of the name %q":                   "没有名为 %s 的键",
		"ctrl, alt and shift stand before a + and the key": "ctrl、alt、shift 写在 + 和键之前",
		"belongs to the desktop":                           "属于桌面",
		"ctrl with shift is the terminal's own":            "ctrl 加 shift 属于终端",
		"it is never bound":                                "不能绑定",
		"is a function key, which terminals and desktops keep for themselves":                                      "是功能键，由终端和桌面保留",
		"tmux, the terminal or an input method needs it, or it is Tab, Enter, Esc or Backspace under another name": "tmux、终端或输入法需要它，或它就是 Tab、Enter、Esc、退格键",
		"is no key": "不是键",
		"keys are letters, with ctrl+, alt+ or shift+ before them, and %s": "键是字母，前面可有 ctrl+、alt+、shift+，以及 %s",
		"is a key that terminals cannot send":                              "终端无法发送此键",
		"with ctrl go letters, and the keys with names":                    "ctrl 可与字母和有名称的键一起用",
		"is a key that most terminals cannot send":                         "多数终端无法发送此键",
		"take one with alt, or a letter with ctrl":                         "请用带 alt 的键，或 ctrl 加字母",
		"must be a table of actions, [keys]":                               "须为动作表 [keys]",
		"must be a key in quotes, as \"ctrl+t\", or a list of keys":        "须为带引号的键，如 \"ctrl+t\"，或键的列表",
		"\"\" for none": "\"\" 表示没有",
	}
}
