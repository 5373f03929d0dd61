package runtime

import (
	"encoding/json"
	"fmt"
	"slices"

	"vitrine/tools"
)

// Rule says what has to happen before a tool runs.
type Rule string

// The rules.
const (
	RuleAuto Rule = "auto" // it runs
	RuleAsk  Rule = "ask"  // the user is asked
	RuleDeny Rule = "deny" // it does not run
)

// Policy decides by tool, then by effect. It blocks execution; it never takes a tool's schema out of the prompt.
type Policy struct {
	Tools   map[string]Rule       `json:"tools,omitempty"`
	Effects map[tools.Effect]Rule `json:"effects,omitempty"`
}

// DefaultPolicy lets run what changes nothing outside, and asks before everything else.
func DefaultPolicy() *Policy {
	return &Policy{Effects: map[tools.Effect]Rule{
		tools.ReadOnly: RuleAuto, tools.OwnData: RuleAuto,
		tools.Idempotent: RuleAsk, tools.Probeable: RuleAsk, tools.SideEffect: RuleAsk,
	}}
}

// RuleNames gives the names that rules may have: those of the tools, and the effects.
func RuleNames(all ...tools.Tool) []string {
	var names []string
	for _, t := range all {
		names = append(names, t.Name())
	}
	for effect := range DefaultPolicy().Effects {
		names = append(names, string(effect))
	}
	slices.Sort(names)
	return names
}

// CheckRule says whether a rule is one.
func CheckRule(r Rule) error {
	switch r {
	case RuleAuto, RuleAsk, RuleDeny:
		return nil
	}
	return fmt.Errorf("%q is not auto, ask or deny", r)
}

// rule is the policy's word on a tool; without a policy everything runs.
func (p *Policy) rule(tool string, effect tools.Effect) Rule {
	if p == nil {
		return RuleAuto
	}
	if r, ok := p.Tools[tool]; ok {
		return r
	}
	if r, ok := p.Effects[effect]; ok {
		return r
	}
	return RuleAsk
}

// ToolRule is a rule of one tool in one session; an empty rule goes back to the policy.
type ToolRule struct {
	Tool string
	Rule Rule
}

// ToolInfo is a tool as a session may use it.
type ToolInfo struct {
	Name, Description string
	Effect            tools.Effect
	// Rule is what holds, Configured what the configuration says. A session has a rule of its own where Own is set; it holds unless the
	// configuration forbids the tool.
	Rule, Configured Rule
	Own              bool
}

// settings is what a session row keeps as settings.
type settings struct {
	Tools map[string]Rule `json:"tools,omitempty"`
	Break Break           `json:"break,omitzero"`
}

func (s *session) settings() settings {
	s.mu.Lock()
	raw := s.row.Settings
	s.mu.Unlock()
	var v settings
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &v) // written by us; what cannot be read counts as not set
	}
	return v
}

// rule is what holds for a tool in this session.
func (s *session) rule(tool string, effect tools.Effect) Rule {
	base := s.eng.cfg.Policy.rule(tool, effect)
	if r, ok := s.settings().Tools[tool]; ok && base != RuleDeny {
		return r // what the configuration forbids no session allows
	}
	return base
}

// whyDenied says whose rule keeps a call from running.
func (s *session) whyDenied(c *call) string {
	if s.eng.cfg.Policy.rule(c.row.Name, c.row.Effect) == RuleDeny {
		return "the configuration forbids this tool"
	}
	return "this session's rules forbid this tool"
}

// setRule changes a tool's rule for this session. It is safe while a run waits for the user, and at no other time of a run.
func (s *session) setRule(c ToolRule) error {
	if c.Rule != "" {
		if err := CheckRule(c.Rule); err != nil {
			return err
		}
	}
	if _, unknown := s.eng.cfg.Registry.Get(c.Tool); unknown != nil {
		return unknown
	}
	_, err := s.commitSettings(s.tx(), c.in)
	return err
}

// in puts the rule into the settings.
func (c ToolRule) in(v *settings) {
	if v.Tools == nil {
		v.Tools = map[string]Rule{}
	}
	if c.Rule == "" {
		delete(v.Tools, c.Tool)
	} else {
		v.Tools[c.Tool] = c.Rule
	}
}

// toolInfos lists the tools with what holds for them here.
func (s *session) toolInfos() []ToolInfo {
	own := s.settings().Tools
	var out []ToolInfo
	for _, name := range s.eng.cfg.Registry.Names() {
		t, unknown := s.eng.cfg.Registry.Get(name)
		if unknown != nil {
			continue
		}
		_, set := own[name]
		out = append(out, ToolInfo{Name: name, Description: t.Description(), Effect: t.Effect(), Rule: s.rule(name, t.Effect()),
			Configured: s.eng.cfg.Policy.rule(name, t.Effect()), Own: set})
	}
	return out
}
