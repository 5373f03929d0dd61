package words

// screenTable holds bars, status line, banners and what a key or a command answers.
func screenTable() map[Text]string {
	return map[Text]string{}
}
