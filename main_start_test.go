package main

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

// What packages make before main runs, every start pays: tables that only some runs need are made when they are needed. Bytes do not
// depend on the machine.
func TestStartMakesLittle(t *testing.T) {
	r := vitrine(t.TempDir(), "--version").with("GODEBUG=inittrace=1").run(t)
	const each, all = 700_000, 3_000_000
	total := 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes`).FindAllStringSubmatch(r.stderr, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		total += n
		if n > each {
			t.Errorf("%s makes %d bytes before main runs", m[1], n)
		}
	}
	if total == 0 || total > all {
		t.Errorf("%d bytes are made before main runs: %s", total, fmt.Sprint(r.stderr[:min(len(r.stderr), 300)]))
	}
}
