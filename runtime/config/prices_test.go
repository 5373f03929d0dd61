package config

import (
	"strings"
	"testing"
)

func TestPrices(t *testing.T) {
	file := "model = 'm'\n[price.\"gpt-4o\"]\ninput = 1\noutput = 2.5\ncached = 0.5\n[price.free]\ninput = 0\noutput = 0\n[profile.mine]\ncontext_tokens = 5\n[agent]\nmax_raw_turns = 4\n"
	cfg := load(t, Inputs{File: []byte(file), FilePath: "f"})
	p, free := cfg.Prices["gpt-4o"], cfg.Prices["free"]
	if p.Input != 1 || p.Output != 2.5 || p.Cached == nil || *p.Cached != 0.5 || free.Input != 0 || free.Cached != nil || len(cfg.Prices) != 2 ||
		cfg.MaxRawTurns != 4 || cfg.Model != "m" {
		t.Errorf("got %+v", cfg.Prices)
	}
	if cfg := load(t, Inputs{File: []byte("# price\n"), FilePath: "f"}); cfg.Prices != nil {
		t.Error("a file without prices has some")
	}
	if cfg := load(t, Inputs{File: []byte("price.x = { input = 1, output = 7 }\n"), FilePath: "f"}); cfg.Prices["x"].Output != 7 {
		t.Error("a dotted key was not read")
	}
	for in, want := range map[string]string{
		"[price.a]\ninput = 1\n":                           "price.a.output: must be set, in dollars for a million tokens (f)",
		"[price.a]\ninput = 1\noutput = 1\nreads = 1\n":    "price.a.reads: is no key of a price: it has input, output and cached (f:4:1)",
		"[price.a]\ninput = '1'\noutput = 1\n":             "must be a number, in dollars for a million tokens (f:2:",
		"[price.a]\ninput = -1\noutput = 1\n":              "price.a.input=-1: must be from 0 to 100000",
		"[price.a]\ninput = 1\noutput = nan\n":             "price.a.output=NaN: must be from 0",
		"[price.a]\ninput = 1\noutput = 1\ncached = 1e9\n": "price.a.cached=1e+09: must be from 0",
		"[prices.a]\ninput = 1\n":                          "[prices.a]: is not a key of this file",
	} {
		if _, err := Load(Inputs{File: []byte(in), FilePath: "f"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}
