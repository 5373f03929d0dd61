package store

import (
	"errors"
	"testing"

	"modernc.org/sqlite"
)

// What a user reads of a failed commit has words and no codes; whoever needs the code still finds it.
func TestToldWithoutCodes(t *testing.T) {
	for in, want := range map[string]string{
		"database is locked (5) (SQLITE_BUSY)":                "database is locked",
		"disk I/O error (4618)":                               "disk I/O error",
		"a (b) c (13) d (SQLITE_FULL): e (5":                  "a (b) c d: e (5",
		"write /tmp/x (copy) failed: no space left on device": "write /tmp/x (copy) failed: no space left on device",
		"": "",
	} {
		if got := withoutCodes(in); got != want {
			t.Errorf("%q is told as %q, want %q", in, got, want)
		}
	}
	r := open(t, dbPath(t))
	_, cause := r.conns.write.ExecContext(t.Context(), "SELECT * FROM nowhere")
	err := commitError("/db", cause)
	var e *sqlite.Error
	if !errors.As(err, &e) || !errors.Is(err, cause) || code(err) == 0 {
		t.Errorf("the cause is lost in %v", err)
	}
}
