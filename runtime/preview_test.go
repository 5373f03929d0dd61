package runtime

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A preview that is too long says so, and is cut between lines and characters.
func TestCutPreview(t *testing.T) {
	if got := cutPreview("short\n"); got != "short\n" {
		t.Errorf("%q", got)
	}
	for _, line := range []string{"中文一行\n", strings.Repeat("中", 9000)} {
		got := cutPreview(strings.Repeat(line, 3000))
		if !utf8.ValidString(got) || len(got) > previewLimit+100 || !strings.Contains(got, "are not shown here") {
			t.Errorf("%d bytes, valid %v: %q", len(got), utf8.ValidString(got), got[len(got)-60:])
		}
	}
}
