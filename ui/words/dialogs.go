package words

// dialogTable holds dialogs and pickers.
func dialogTable() map[Text]string {
	return map[Text]string{}
}
