package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

func parseInt(s string, lo, hi int) (int, error) {
	v, err := strconv.Atoi(s)
	if err != nil || v < lo || v > hi {
		return 0, fmt.Errorf("must be a whole number from %d to %d", lo, hi)
	}
	return v, nil
}

func parseNumber(s string, lo, hi float64) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v < lo || v > hi {
		return 0, fmt.Errorf("must be a number from %s to %s", plain(lo), plain(hi))
	}
	return v, nil
}

func parseSeconds(s string, lo, hi float64) (time.Duration, error) {
	v, err := parseNumber(s, lo, hi)
	if err != nil {
		return 0, fmt.Errorf("must be a number of seconds from %s to %s", plain(lo), plain(hi))
	}
	return seconds(v), nil
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return false, errors.New("must be 1 or 0")
}

// parseNotify reads a list of ways, or off.
func parseNotify(s string) (ways []Notify, err error) {
	if s == "off" {
		return nil, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		way := Notify(strings.TrimSpace(word))
		switch way {
		case NotifyBell, NotifyOSC9, NotifyOSC777:
			if !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		default:
			return nil, errors.New("must be bell, osc9, osc777, several of them with commas, or off")
		}
	}
	return ways, nil
}

// parseLang takes language tags, and locales, by their first part.
func parseLang(s string) (Lang, error) {
	first, _, _ := strings.Cut(strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(s)), "_")
	switch l := Lang(first); l {
	case LangAuto, LangEnglish, LangChinese:
		return l, nil
	}
	return "", errors.New("must be auto, en or zh")
}

func parseLook(s string) (Look, error) {
	switch l := Look(s); l {
	case LookAuto, LookDark, LookLight, LookContrast, LookSixteen:
		return l, nil
	}
	return "", errors.New("must be auto, dark, light, contrast or 16")
}

func parseMotion(s string) (still bool, err error) {
	if s != motionFull && s != motionReduced {
		return false, errors.New("must be full or reduced")
	}
	return s == motionReduced, nil
}

// How much moves on the screen.
const (
	motionFull    = "full"
	motionReduced = "reduced"
)

func checkCompact(s string) error {
	switch CompactMode(s) {
	case CompactAuto, CompactAsk, CompactOff:
		return nil
	}
	return errors.New("must be auto, ask or off")
}

func checkProtocol(s string) error {
	switch s {
	case ProtocolNative, ProtocolJSON, ProtocolReAct:
		return nil
	}
	return errors.New("must be native, json or react")
}

// parsePolicy reads rules as name=rule with commas between them. Which names there are checkRules looks at.
func parsePolicy(s string) (map[string]string, error) {
	rules := map[string]string{}
	for part := range strings.SplitSeq(s, ",") {
		name, rule, ok := strings.Cut(strings.TrimSpace(part), "=")
		name, rule = strings.TrimSpace(name), strings.TrimSpace(rule)
		if !ok || name == "" || rule != "auto" && rule != "ask" && rule != "deny" {
			return nil, errors.New("must be tool or effect = auto, ask or deny, with commas between them")
		}
		rules[name] = rule
	}
	return rules, nil
}

// checkRules tells the names in AGENT_TOOL_POLICY that no tool and no effect has: such a rule would do nothing.
func checkRules(cfg *Config, in Inputs) (errs []error) {
	if len(cfg.ToolPolicy) == 0 || in.RuleNames == nil {
		return nil
	}
	known := in.RuleNames()
	e := Error{Name: "AGENT_TOOL_POLICY"}
	for _, v := range cfg.values {
		if v.Name != "AGENT_TOOL_POLICY" {
			continue
		}
		if e.Place = v.Source.Place; v.Source.Kind == FromFile {
			e.Name = "agent.tool_policy"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.ToolPolicy)) {
		if slices.Contains(known, name) {
			continue
		}
		one := e
		one.Value = name + "=" + cfg.ToolPolicy[name]
		one.Allowed = "there is no tool and no effect of that name"
		if s := Suggest(name, known); s != "" {
			one.Allowed += "; did you mean " + s + "?"
		}
		errs = append(errs, &one)
	}
	return errs
}

// checkKey looks for what cannot stand in a header; the text of a key never goes into the message.
func checkKey(s string) error {
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return errors.New("must be visible ASCII characters without spaces (the value is not shown)")
		}
	}
	return nil
}

func checkModel(s string) error {
	if len(s) > 200 || strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) >= 0 {
		return errors.New("must be a model's name: at most 200 characters, no spaces or control characters")
	}
	return nil
}

func checkPath(s string) error {
	if strings.IndexFunc(s, unicode.IsControl) >= 0 {
		return errors.New("must be a path without control characters")
	}
	return nil
}

// parseBaseURL checks that requests can be made of it, and cuts the slash at its end.
func parseBaseURL(s string) (string, error) {
	const allowed = "must be a URL such as http://localhost:11434/v1"
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "", errors.New(allowed)
	case u.User != nil:
		return "", errors.New(allowed + ", without user and password; the key goes into OPENAI_API_KEY")
	case u.Fragment != "":
		return "", errors.New(allowed + ", without #")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return "", errors.New(allowed + ", without /chat/completions")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return "", errors.New(allowed + ", with a port from 1 to 65535")
		}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}

// ShownURL masks what may be secret in a URL, right or wrong, so that it can be shown: user and password, and the values of
// a query.
func ShownURL(s string) string {
	s, query, ok := strings.Cut(s, "?")
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			s = scheme + "://***" + rest[at:]
		}
	}
	if !ok {
		return s
	}
	parts := strings.Split(query, "&")
	for i, p := range parts {
		name, _, _ := strings.Cut(p, "=")
		parts[i] = name + "=***"
	}
	return s + "?" + strings.Join(parts, "&")
}

// userRune says which characters a user's name is made of; it becomes part of session ids.
func userRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-@+", r)
}

func checkName(s string) error {
	if len([]rune(s)) > 64 || strings.IndexFunc(s, func(r rune) bool { return !userRune(r) }) >= 0 {
		return errors.New("must be at most 64 letters, digits and . _ - @ +")
	}
	return nil
}
