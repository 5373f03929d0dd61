package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of --expect-schema that can be no schema is a wrong use that a short line names; an empty one does not switch the check off.
func TestSchemaFilesThatAreNone(t *testing.T) {
	for content, want := range map[string]string{"": "it is empty", " \n\t": "it is empty", `"x"`: "it is a string", `null`: "it is null", `{`: "JSON"} {
		path := filepath.Join(t.TempDir(), "schema.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got := newBench(t).run("run", "--expect-schema", path, "hi")
		if got.code != ExitUsage || !strings.Contains(got.err, want) || len(got.err) > 400+len(path) || strings.Contains(got.err, "struct") {
			t.Errorf("%q: %+v", content, got)
		}
	}
}
