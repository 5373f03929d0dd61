package words

// commandTable holds what commands print.
func commandTable() map[Text]string {
	return map[Text]string{}
}
