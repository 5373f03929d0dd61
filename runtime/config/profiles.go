package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vitrine/llm/profile"
)

// profileTable is the table of the file whose keys are those of package profile.
const profileTable = "profile"

// ofTables says whether a key or a table belongs to the profiles, which profile.Parse checks, or to the prices.
func ofTables(key string) bool {
	for _, table := range []string{profileTable, priceTable} {
		if key == table || strings.HasPrefix(key, table+".") {
			return true
		}
	}
	return false
}

// setProfiles reads the profiles of the file and checks that the one that was named exists.
func setProfiles(cfg *Config, in Inputs) (errs []error) {
	if bytes.Contains(in.File, []byte(profileTable)) {
		set, err := profile.Parse(in.File)
		if err != nil {
			return profileErrors(err, in.FilePath)
		}
		if set.Changed() {
			cfg.Profiles = set
		}
	}
	if cfg.Profile == "" {
		return nil
	}
	names := cfg.profiles().Names()
	if !slices.Contains(names, cfg.Profile) {
		place := ""
		for _, v := range cfg.values {
			if v.Name == "LLM_PROFILE" {
				place = v.Source.Place
			}
		}
		errs = append(errs, &Error{Name: "LLM_PROFILE", Value: cfg.Profile, Place: place, Allowed: "must be one of " + strings.Join(names, ", ")})
	}
	return errs
}

// profiles are those that there are.
func (c Config) profiles() profile.Set {
	if len(c.Profiles.Names()) == 0 {
		return profile.Builtin()
	}
	return c.Profiles
}

// profileErrors turns the faults of profiles into ours. What is no TOML at all was told before.
func profileErrors(err error, path string) (errs []error) {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		var fault *profile.Error
		if !errors.As(e, &fault) {
			errs = append(errs, e)
			continue
		}
		place := path
		if fault.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", path, fault.Line, fault.Column)
		}
		errs = append(errs, &Error{Name: fault.Key, Place: place, Allowed: fault.Message})
	}
	return errs
}

// sampleProfiles is the part of the sample file that shows a profile.
const sampleProfiles = `
# How one endpoint differs from what is known of it. A name that is known changes that profile; any other is a new one.
# [profile.my-gateway]
# base = "vllm"                                # what holds where nothing is said
# endpoints = ["gateway.example.com/v1"]       # HOST, *.DOMAIN, HOST:PORT or :PORT, with a path behind it if you like
# token_limit = "max_completion_tokens"        # or max_tokens, none
# system_role = "system"                       # or developer, user (in front of the first message)
# reasoning = "drop"                           # what of it goes back: drop, reply, fill (every message of the assistant)
# call_ids = "any"                             # or alnum9
# protocol = "native"                          # how it calls tools: or as text, json or react
# text_calls = "tell"                          # or parse: run calls that the server left in the text
# think_tags = true                            # or false: a reply that begins with <think> is text like any other
# may_think = false                            # or true: a reply may begin with reasoning without a tag; a </think> behind a line ends it
# starts_thinking = false                      # or true: replies begin with reasoning that only </think> ends
# context_tokens = 32768                       # the model's window
# headers = { X-Gateway-Key = "..." }          # sent with each request; never shown
# body = { seed = 7 }                          # fields to add to each request
`
