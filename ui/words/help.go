package words

// helpTable holds keys, the palette and --help.
func helpTable() map[Text]string {
	return map[Text]string{}
}
