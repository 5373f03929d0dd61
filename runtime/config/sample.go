package config

import (
	"fmt"
	"strings"
)

// SampleTOML is the configuration file with every key in a comment, written from the table.
func SampleTOML() string {
	var b strings.Builder
	b.WriteString("# Vitrine's configuration. It is read from vitrine/config.toml in your configuration folder\n" +
		"# (vitrine doctor names it). A flag wins over the environment, that over this file, that over the default.\n" +
		"# Values that stand here are the defaults; those of keys without a default are examples.\n")
	group := ""
	for _, s := range inFileOrder() {
		g, key, ok := strings.Cut(s.key(), ".")
		if !ok {
			g, key = "", s.key()
		}
		if g != group {
			fmt.Fprintf(&b, "\n[%s]\n", g)
			group = g
		}
		fmt.Fprintf(&b, "\n# %s\n", s.doc)
		if s.note != "" {
			fmt.Fprintf(&b, "# %s\n", s.note)
		}
		fmt.Fprintf(&b, "# %s = %s\n", key, s.sampleValue())
	}
	b.WriteString(sampleProfiles)
	b.WriteString(samplePrices)
	return b.String()
}

// EnvExample is the list of variables for a shell or a tool that reads .env files, written from the table.
func EnvExample() string {
	var b strings.Builder
	b.WriteString("# The variables of Vitrine. The program does not read this file by itself: copy what you need into your shell's\n" +
		"# environment, or let a tool that reads .env files do so. An empty variable counts as not set.\n")
	for _, s := range table() {
		fmt.Fprintf(&b, "\n# %s\n", s.doc)
		if s.note != "" {
			fmt.Fprintf(&b, "# %s\n", s.note)
		}
		value := s.def
		if value == "" {
			value = s.example
		}
		fmt.Fprintf(&b, "# %s=%s\n", s.name, value)
	}
	return b.String()
}

// inFileOrder puts keys without a table first, as TOML wants it, and drops what the file may not hold.
func inFileOrder() []setting {
	var top, rest []setting
	for _, s := range table() {
		switch {
		case s.envOnly:
		case !strings.Contains(s.key(), "."):
			top = append(top, s)
		default:
			rest = append(rest, s)
		}
	}
	return append(top, rest...)
}

func (s setting) sampleValue() string {
	v := s.def
	if v == "" {
		v = s.example
	}
	if s.kind == text {
		return fmt.Sprintf("%q", v)
	}
	return v
}
