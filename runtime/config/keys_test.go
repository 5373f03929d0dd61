package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The keys of the file come with their places, in whatever way TOML writes them; the file's other errors are told beside.
func TestKeysOfTheFile(t *testing.T) {
	for file, want := range map[string][]KeyBinding{
		"[keys]\nsend = \"alt+s\"\nnone = \"\"\n": {{Action: "send", Place: "c:2:1", Keys: []PlacedKey{{"alt+s", "c:2:8"}}}, {Action: "none", Place: "c:3:1"}},
		"[keys]\na = [\n  \"x\", # why\n  'y']\n": {{Action: "a", Place: "c:2:1", Keys: []PlacedKey{{"x", "c:3:3"}, {"y", "c:4:3"}}}},
		"keys.a = \"x\"\nkeys = { }":              nil,
		"keys = { a = \"x\", b = [] }":            {{Action: "a", Place: "c:1:10", Keys: []PlacedKey{{"x", "c:1:14"}}}, {Action: "b", Place: "c:1:19"}},
	} {
		cfg, err := Load(Inputs{Login: "ann", File: []byte(file), FilePath: "c"})
		if want == nil {
			if err == nil {
				t.Errorf("%q was taken", file)
			}
			continue
		}
		if diff := cmp.Diff(want, cfg.Keys); err != nil || diff != "" {
			t.Errorf("%q: %v %s", file, err, diff)
		}
	}
}
