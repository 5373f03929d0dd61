package words

// pageTable holds questions and what stands above the input.
func pageTable() map[Text]string {
	return map[Text]string{}
}
