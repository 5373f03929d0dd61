package runtime

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// B059 and B061 want the counts documented, B068 that what only reads runs again: the README has them, and they are those that hold.
func TestREADMECounts(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	pairs := strings.TrimSpace(strings.Repeat("A B ", stuckPairs/2))
	for _, want := range []string{
		fmt.Sprintf("the same call with the same result %d times in a row, two such calls in turn (%s), or %d results in a row with the same kind of error", stuckEqual, pairs, stuckCodes),
		fmt.Sprintf("for %d more replies the run ends with that reason and exit code 4", stuckGrace),
		"a tool that only reads, or changes only what the session keeps, runs again",
		"is stored with each of its steps. What passed since the last one is not counted when the program is killed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the README does not say %q", want)
		}
	}
}
