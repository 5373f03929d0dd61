package words

// toldTable holds the formats of texts that other parts of the program make in English: errors, notices, causes. Chinese has
// %s in the place of every verb. A test finds formats that no part makes any more.
func toldTable() map[string]string {
	return map[string]string{
		"the disk is full": "磁盘已满",
	}
}
