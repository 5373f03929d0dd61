package cli

import (
	"path/filepath"
	"strings"

	"vitrine/runtime/config"
)

// OwnPaths is what belongs to the program, in which other sessions' words are: the store, the trace, the log and what is
// recorded or replayed, with what lies beside them under names of the same beginning, and more files of that kind.
func OwnPaths(cfg config.Config, t Traffic, more ...string) []string {
	var paths []string
	for _, p := range append([]string{cfg.DBPath, cfg.TracePath, LogPath(cfg), t.Record, t.Replay}, more...) {
		if p == "" {
			continue
		}
		for _, real := range []string{p, linked(p)} {
			paths = append(paths, strings.TrimSuffix(real, filepath.Ext(real))+".*", real+"*")
		}
		if dir := filepath.Dir(p); filepath.Base(dir) == "data" { // the folder of their own that they have by default
			paths = append(paths, dir)
		}
	}
	return append(paths, filepath.Join(filepath.Dir(cfg.DBPath), "holders"))
}

// linked is where a file lies that is reached through links.
func linked(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}
