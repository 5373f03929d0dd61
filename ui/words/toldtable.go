package words

import "maps"

// toldTable holds the formats of texts that other parts of the program make in English: errors, notices, causes, and words of
// states. Chinese has %s in the place of every verb. A test finds formats that no part makes any more.
func toldTable() map[string]string {
	all := toldWords()
	maps.Copy(all, toldRuntime())
	maps.Copy(all, toldCommands())
	maps.Copy(all, toldKeys())
	maps.Copy(all, toldDemos())
	return all
}
