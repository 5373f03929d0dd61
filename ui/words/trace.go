package words

// traceTable holds trace and sidebar.
func traceTable() map[Text]string {
	return map[Text]string{
		"%s ms":     "%s 毫秒",
		"%s s":      "%s 秒",
		"%d m %s s": "%d 分 %s 秒",
		"%d h %s m": "%d 时 %s 分",
		"%d m":      "%d 分钟",
		"%d h":      "%d 小时",
		"%d d":      "%d 天",
		"%d w":      "%d 周",
		"%d y":      "%d 年",
		"now":       "刚刚",
	}
}
