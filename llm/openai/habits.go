package openai

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"vitrine/llm"
	"vitrine/llm/profile"
)

// dialect is how one model of an endpoint is spoken to: what its profile says, and what refusals taught.
type dialect struct {
	profile.Profile
	learned habits
}

// habits is how one model of this endpoint differs from its profile. They are learned from refusals that name a
// parameter, and then kept (memory.go), so that a refusal is met once.
type habits struct {
	// Dropped are the fields of a request that are left out, sorted.
	Dropped []string `json:"dropped,omitempty"`
	// Role, Limit and Reasoning replace what the profile says.
	Role      profile.Role      `json:"role,omitempty"`
	Limit     profile.Limit     `json:"limit,omitempty"`
	Reasoning profile.Reasoning `json:"reasoning,omitempty"`
	// CallIDs replaces what the profile says.
	CallIDs profile.CallIDs `json:"call_ids,omitempty"`
	// Settled says that Reasoning was refused both ways, so that no other way is tried any more.
	Settled bool `json:"settled,omitempty"`
}

// empty says whether nothing was learned.
func (h habits) empty() bool {
	return len(h.Dropped) == 0 && h.Role == "" && h.Limit == "" && h.Reasoning == "" && h.CallIDs == "" && !h.Settled
}

// with gives h with what o has over it.
func (h habits) with(o habits) habits {
	for _, f := range o.Dropped {
		h = h.without(f)
	}
	if o.Role != "" {
		h.Role = o.Role
	}
	if o.Limit != "" {
		h.Limit = o.Limit
	}
	if o.Reasoning != "" {
		h.Reasoning = o.Reasoning
	}
	if o.CallIDs != "" {
		h.CallIDs = o.CallIDs
	}
	h.Settled = h.Settled || o.Settled
	return h
}

// without gives h with one more field that is left out.
func (h habits) without(field string) habits {
	i, found := slices.BinarySearch(h.Dropped, field)
	if !found {
		h.Dropped = slices.Insert(slices.Clone(h.Dropped), i, field)
	}
	return h
}

// sends says whether a field goes out.
func (d dialect) sends(field string) bool { return !slices.Contains(d.learned.Dropped, field) }

func (d dialect) systemRole() profile.Role {
	if d.learned.Role != "" {
		return d.learned.Role
	}
	return d.SystemRole
}

func (d dialect) limit() profile.Limit {
	if d.learned.Limit != "" {
		return d.learned.Limit
	}
	return d.TokenLimit
}

func (d dialect) reasoning() profile.Reasoning {
	if d.learned.Reasoning != "" {
		return d.learned.Reasoning
	}
	return d.Reasoning
}

func (d dialect) callIDs() profile.CallIDs {
	if d.learned.CallIDs != "" {
		return d.learned.CallIDs
	}
	return d.CallIDs
}

// lesson is what a refusal taught: the habits to add, whether they hold for all models of the endpoint, and in a few words
// what is done from now on.
type lesson struct {
	habits   habits
	endpoint bool
	what     string
	// unshaped says that only this schema was refused, which is nothing to remember.
	unshaped bool
}

// adapt gives what a refusal teaches, and whether it taught anything: then the request is worth sending again.
func (d dialect) adapt(e *llm.Error, f fault, req llm.Request) (lesson, bool) {
	words := strings.ToLower(f.message)
	switch {
	case e.Kind == llm.ErrRejected && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity):
	case e.Kind == llm.ErrServer && (e.Status == http.StatusInternalServerError || e.Status == http.StatusNotImplemented) && unsupported(words, f.code):
	default:
		return lesson{}, false
	}
	names := func(param string) bool {
		return strings.HasPrefix(f.param, param) || strings.Contains(words, param)
	}
	drop := func(field string, endpoint bool) (lesson, bool) {
		return lesson{habits: habits{}.without(field), endpoint: endpoint, what: field + " is left out"}, true
	}
	for _, field := range d.added() { // first, since their names may hold words that mean something else below
		if within(f.param, field) || refusedByName(words, f.code, field) {
			return drop(field, true)
		}
	}
	switch {
	case d.StreamUsage && d.sends(fieldStreamOptions) && (names(fieldStreamOptions) || names("include_usage")):
		return drop(fieldStreamOptions, true)
	case d.format(req) != "" && hasAny(words, "invalid schema", "invalid json schema", "schema conversion", "unsupported schema"):
		return lesson{what: "the reply is asked for without this schema", unshaped: true}, true
	case d.format(req) != "" && refusesFormat(names):
		return drop(d.format(req), false)
	case names("reasoning") && !d.learned.Settled:
		if l, ok := d.think(words, req); ok {
			return l, true
		}
	case d.sends(fieldStream) && refusesStream(words, f):
		return drop(fieldStream, false)
	case d.systemRole() == profile.RoleDeveloper && names("developer"):
		return lesson{habits: habits{Role: profile.RoleSystem}, endpoint: true, what: "instructions have the role system"}, true
	case d.systemRole() != profile.RoleUser && refusesSystem(words):
		return lesson{habits: habits{Role: profile.RoleUser}, what: "instructions stand in front of the first message"}, true
	case d.callIDs() != profile.IDsAlnum9 && hasAny(words, "tool call id", "tool_call_id") && hasAny(words, "length of 9"):
		return lesson{habits: habits{CallIDs: profile.IDsAlnum9}, what: "calls have ids of nine letters and digits"}, true
	case req.Temperature != nil && d.Temperature && d.sends(fieldTemperature) && names(fieldTemperature):
		return drop(fieldTemperature, false)
	case req.MaxTokens > 0 && d.limit() != profile.LimitNone && unsupported(words, f.code) && (names("max_tokens") || names("max_completion_tokens")):
		return d.otherLimit(), true
	}
	return lesson{}, false
}

// refusesStream says whether an error means that this model does not stream, or not for this user.
func refusesStream(words string, f fault) bool {
	return unsupported(words, f.code) && (f.param == fieldStream || speaks(words, fieldStream) || speaks(words, "streaming"))
}

// noSystem is compiled when an error is looked at first.
var noSystem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:system|developer)['"]? (?:role|message|prompt|instruction)s? (?:is |are )?(?:not (?:supported|enabled|allowed)|unsupported)` +
		`|not support (?:the |a |any )?['"]?system['"]? (?:role|message|prompt|instruction)|role ['"]?system['"]? (?:is )?(?:not (?:supported|allowed)|unsupported)`)
})

// refusesSystem says whether an error means that the model's template has no place for instructions.
func refusesSystem(words string) bool { return noSystem().MatchString(words) }

// within says whether a parameter is a field or a part of one.
func within(param, field string) bool {
	rest, ok := strings.CutPrefix(param, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// refusedByName says whether a message refuses a field. A name that is a word of the language, such as user, must stand
// alone in a message that speaks of something unknown.
func refusedByName(words, code, field string) bool {
	if strings.Contains(field, "_") {
		spoken := strings.ReplaceAll(field, "_", " ") // as in "parallel tool calls are not supported"
		return strings.Contains(words, field) || unsupported(words, code) && strings.Contains(words, spoken)
	}
	return unsupported(words, code) && speaks(words, field)
}

// speaks says whether a word stands in a text by itself.
func speaks(words, word string) bool {
	return slices.Contains(strings.FieldsFunc(words, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), word)
}

// think changes what is sent of the reasoning. A server that misses it gets it, then in every message; one that does not
// want it gets none.
func (d dialect) think(words string, req llm.Request) (lesson, bool) {
	misses := hasAny(words, "must be", "missing", "required", "passed back", "pass back", "expected")
	told := func(r profile.Reasoning, settled bool, what string) (lesson, bool) {
		return lesson{habits: habits{Reasoning: r, Settled: settled}, what: what}, true
	}
	switch now := d.reasoning(); {
	case now == profile.ReasoningDrop && d.hasReasoning(req):
		return told(profile.ReasoningReply, false, "reasoning goes back to the model")
	case now == profile.ReasoningReply && misses, now == profile.ReasoningDrop && misses:
		return told(profile.ReasoningFill, false, "every reply goes back with a field for reasoning")
	case now != profile.ReasoningDrop:
		return told(profile.ReasoningDrop, true, "reasoning does not go back")
	}
	return lesson{}, false
}

// otherLimit takes the other name for the limit of a reply, and then none.
func (d dialect) otherLimit() lesson {
	next := profile.LimitNone
	if d.learned.Limit == "" {
		next = profile.LimitMaxCompletionTokens
		if d.TokenLimit == next {
			next = profile.LimitMaxTokens
		}
	}
	what := "the limit of a reply is sent as " + string(next)
	if next == profile.LimitNone {
		what = "no limit of a reply is sent"
	}
	return lesson{habits: habits{Limit: next}, what: what}
}

// unsupported tells a parameter that a server does not know from one whose value it does not like.
func unsupported(words, code string) bool {
	return hasAny(code, "unsupported", "unknown_parameter") ||
		hasAny(words, "unsupported", "not support", "unknown", "unrecogni", "not permitted", "not allowed", "unexpected", "use 'max_completion_tokens'", "cannot use")
}

// hasReasoning says whether the request holds reasoning that could go back.
func (d dialect) hasReasoning(req llm.Request) bool {
	for _, m := range req.Messages {
		fields, mine := ownFields(m.Extra, d.Family, "")
		if mine && (fields["reasoning"] != nil || fields["reasoning_content"] != nil) {
			return true
		}
	}
	return false
}
