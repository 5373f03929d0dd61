package words

// chatTable holds the chat and its folds.
func chatTable() map[Text]string {
	return map[Text]string{}
}
