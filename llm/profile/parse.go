package profile

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// spec is a profile as it is written: what it does not say is as in its base.
type spec struct {
	Base      string   `toml:"base"`
	Endpoints []string `toml:"endpoints"`
	rules
	// Model are rules for some of the endpoint's models; all that match apply, in order.
	Model []modelRules `toml:"model"`
}

type modelRules struct {
	Match []string `toml:"match"`
	rules
}

// rules are the fields of a Profile that a file may set.
type rules struct {
	Family         *string           `toml:"family"`
	SystemRole     *Role             `toml:"system_role"`
	LateSystem     *bool             `toml:"late_system"`
	TokenLimit     *Limit            `toml:"token_limit"`
	Temperature    *bool             `toml:"temperature"`
	StreamUsage    *bool             `toml:"stream_usage"`
	CallIDs        *CallIDs          `toml:"call_ids"`
	Reasoning      *Reasoning        `toml:"reasoning"`
	ReasoningField *string           `toml:"reasoning_field"`
	EmptyContent   *Content          `toml:"empty_content"`
	UserAfterTool  *bool             `toml:"user_after_tool"`
	Auth           *Auth             `toml:"auth"`
	Headers        map[string]string `toml:"headers"`
	Query          map[string]string `toml:"query"`
	Body           map[string]any    `toml:"body"`
	CallExtra      map[string]any    `toml:"call_extra"`
	CachedTokens   []string          `toml:"cached_tokens"`
	CachedApart    *bool             `toml:"cached_apart"`
	ThinkTags      *bool             `toml:"think_tags"`
	StartsThinking *bool             `toml:"starts_thinking"`
	MayThink       *bool             `toml:"may_think"`
	TextCalls      *TextCalls        `toml:"text_calls"`
	Protocol       *Protocol         `toml:"protocol"`
	ContextTokens  *int              `toml:"context_tokens"`
	Hints          map[string]string `toml:"hints"`
}

// Error is one fault of a file. Line and Column count from 1; they are 0 when the place is not known.
type Error struct {
	Line, Column int
	// Key is the dotted key, and Message what is wrong with it.
	Key, Message string
}

// Error is the key and what is wrong.
func (e *Error) Error() string { return e.Key + ": " + e.Message }

// Set is the known profiles and those of a configuration over them. It is not changed after it was made.
type Set struct {
	known, own map[string]spec
}

//go:embed profiles.toml
var builtin string

// maxProfiles bounds what a configuration may add.
const maxProfiles = 64

// Builtin gives the known profiles alone.
func Builtin() Set {
	var s Set
	if err := toml.Unmarshal([]byte(builtin), &s.known); err != nil {
		panic("profile: " + err.Error()) // a test reads the same bytes
	}
	return s
}

// Parse reads the tables [profile.NAME] of a configuration file, whose other tables it leaves alone. A table named as a
// known profile changes that one; any other is a new one, on top of its base (generic when it names none). Errors are
// *Error, joined.
func Parse(data []byte) (Set, error) {
	s := Builtin()
	if !bytes.Contains(data, []byte("profile")) {
		return s, nil
	}
	var file struct {
		Profile map[string]spec `toml:"profile"`
	}
	errs := decode(data, &file)
	if len(errs) == 0 {
		s.own = file.Profile
		errs = s.check()
	}
	if len(errs) > 0 {
		return Set{}, errors.Join(errs...)
	}
	return s, nil
}

// decode reads data and tells of keys of profiles that are none.
func decode(data []byte, into any) (errs []error) {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(into)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case err == nil:
	case errors.As(err, &unknown):
		for i := range unknown.Errors {
			if e := &unknown.Errors[i]; e.Key()[0] == "profile" {
				errs = append(errs, placed(e, "is no key of a profile"))
			}
		}
	case errors.As(err, &wrong):
		errs = append(errs, placed(wrong, strings.TrimPrefix(wrong.Error(), "toml: ")))
	default:
		errs = append(errs, &Error{Key: "profile", Message: strings.TrimPrefix(err.Error(), "toml: ")})
	}
	return errs
}

func placed(e *toml.DecodeError, message string) *Error {
	row, col := e.Position()
	key := strings.Join(e.Key(), ".")
	if key == "" {
		key = "profile"
	}
	return &Error{Line: row, Column: col, Key: key, Message: message}
}

var (
	names    = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,31}$`)
	patterns = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9.-]*(:[0-9]{1,5})?(/[^?#\s]*)?$`)
	fields   = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// reserved are the fields of a request that are not for a profile to set.
var reserved = []string{"model", "messages", "stream", "tools"}

// ownHeaders are those that a request has anyway.
var ownHeaders = []string{"content-type", "content-length", "accept", "accept-encoding", "host", "connection", "transfer-encoding", "user-agent"}

// check finds what the types of a profile cannot tell.
func (s Set) check() (errs []error) {
	bad := func(name, key, message string) {
		errs = append(errs, &Error{Key: strings.TrimRight("profile."+name+"."+key, "."), Message: message})
	}
	if len(s.own) > maxProfiles {
		bad("", "", fmt.Sprintf("at most %d profiles", maxProfiles))
	}
	for _, name := range slices.Sorted(maps.Keys(s.own)) {
		p := s.own[name]
		if !names.MatchString(name) {
			bad(name, "", "a name is made of at most 32 small letters, digits and . _ -")
		}
		if _, ok := s.spec(p.Base); p.Base != "" && !ok {
			bad(name, "base", fmt.Sprintf("%q is no profile; known are %s", p.Base, strings.Join(s.Names(), ", ")))
		} else if s.circular(name) {
			bad(name, "base", "it is its own base")
		}
		for _, e := range p.Endpoints {
			if e == "" || !patterns.MatchString(e) {
				bad(name, "endpoints", fmt.Sprintf("%q must be HOST, *.DOMAIN, HOST:PORT or :PORT, with a path behind it if you like", e))
			}
		}
		all := []rules{p.rules}
		for _, m := range p.Model {
			if len(m.Match) == 0 {
				bad(name, "model", "match is missing: names of models, with * for any text")
			}
			all = append(all, m.rules)
		}
		for _, r := range all {
			wrong := r.check()
			for _, key := range slices.Sorted(maps.Keys(wrong)) {
				bad(name, key, wrong[key])
			}
		}
	}
	return errs
}

func (r rules) check() map[string]string {
	bad := map[string]string{}
	oneOf(bad, "system_role", r.SystemRole, RoleSystem, RoleDeveloper, RoleUser)
	oneOf(bad, "token_limit", r.TokenLimit, LimitMaxTokens, LimitMaxCompletionTokens, LimitNone)
	oneOf(bad, "call_ids", r.CallIDs, IDsAny, IDsAlnum9)
	oneOf(bad, "reasoning", r.Reasoning, ReasoningDrop, ReasoningReply, ReasoningFill)
	oneOf(bad, "empty_content", r.EmptyContent, ContentNull, ContentEmpty, ContentOmit)
	oneOf(bad, "auth", r.Auth, AuthBearer, AuthAPIKey)
	oneOf(bad, "text_calls", r.TextCalls, TextCallsTell, TextCallsParse)
	oneOf(bad, "protocol", r.Protocol, ProtocolNative, ProtocolJSON, ProtocolReAct)
	for _, key := range slices.Sorted(maps.Keys(r.Body)) {
		if slices.Contains(reserved, key) || !fields.MatchString(key) {
			bad["body"] = fmt.Sprintf("%q cannot be set here", key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		value := r.Headers[name]
		if slices.Contains(ownHeaders, strings.ToLower(name)) || !fields.MatchString(name) {
			bad["headers"] = fmt.Sprintf("%q cannot be set here", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			bad["headers"] = fmt.Sprintf("%q must be visible ASCII characters (the value is not shown)", name)
		}
	}
	if r.ContextTokens != nil && *r.ContextTokens < 0 {
		bad["context_tokens"] = "must be a whole number from 0 on"
	}
	if r.ReasoningField != nil && *r.ReasoningField != "" && !fields.MatchString(*r.ReasoningField) {
		bad["reasoning_field"] = "must be the name of a field"
	}
	return bad
}

// oneOf notes a value that is none of the words.
func oneOf[T ~string](bad map[string]string, key string, value *T, words ...T) {
	if value == nil || slices.Contains(words, *value) {
		return
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	bad[key] = fmt.Sprintf("%q is not one of %s", *value, strings.Join(list, ", "))
}

// circular says whether the bases of a profile lead back to it.
func (s Set) circular(name string) bool {
	seen := map[string]bool{}
	for at := name; at != ""; {
		if seen[at] {
			return true
		}
		seen[at] = true
		p, _ := s.spec(at)
		at = p.Base
	}
	return false
}

// over puts what r says over p.
func (r rules) over(p *Profile) {
	set(&p.Family, r.Family)
	set(&p.SystemRole, r.SystemRole)
	set(&p.LateSystem, r.LateSystem)
	set(&p.TokenLimit, r.TokenLimit)
	set(&p.Temperature, r.Temperature)
	set(&p.StreamUsage, r.StreamUsage)
	set(&p.CallIDs, r.CallIDs)
	set(&p.Reasoning, r.Reasoning)
	set(&p.ReasoningField, r.ReasoningField)
	set(&p.EmptyContent, r.EmptyContent)
	set(&p.UserAfterTool, r.UserAfterTool)
	set(&p.Auth, r.Auth)
	set(&p.CachedApart, r.CachedApart)
	set(&p.ThinkTags, r.ThinkTags)
	set(&p.StartsThinking, r.StartsThinking)
	set(&p.MayThink, r.MayThink)
	set(&p.TextCalls, r.TextCalls)
	set(&p.Protocol, r.Protocol)
	set(&p.ContextTokens, r.ContextTokens)
	if r.CachedTokens != nil {
		p.CachedTokens = r.CachedTokens
	}
	p.Headers = merged(p.Headers, r.Headers)
	p.Query = merged(p.Query, r.Query)
	p.Hints = merged(p.Hints, r.Hints)
	p.Body = merged(p.Body, raw(r.Body))
	p.CallExtra = merged(p.CallExtra, raw(r.CallExtra))
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// merged is a with b over it, in a map of its own.
func merged[V any](a, b map[string]V) map[string]V {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}

// raw encodes values that came out of TOML, all of which JSON can write but dates of its own kind, which become text.
func raw(m map[string]any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for k, v := range m {
		b, err := json.Marshal(v)
		if err != nil {
			b, _ = json.Marshal(fmt.Sprint(v)) // a text can be encoded
		}
		out[k] = b
	}
	return out
}
