package profile

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"vitrine/llm"
)

const (
	// Generic is the profile of a server that no other one matches.
	Generic = "generic"
	// any holds what is true of all servers, and rules for models wherever they are served.
	anyServer = "any"
)

// Names lists the profiles that can be chosen by name.
func (s Set) Names() []string {
	all := map[string]bool{}
	for _, m := range []map[string]spec{s.known, s.own} {
		for name := range m {
			all[name] = name != anyServer
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] {
			out = append(out, name)
		}
	}
	return out
}

// Changed says whether a configuration had a word in it.
func (s Set) Changed() bool { return len(s.own) > 0 }

// Secrets are the values of a configuration that no message may show.
func (s Set) Secrets() (values []string) {
	take := func(m map[string]string) {
		for name, value := range m {
			if llm.MayBeSecret(name, value) {
				values = append(values, value)
			}
		}
	}
	for _, one := range s.own {
		all := []rules{one.rules}
		for _, m := range one.Model {
			all = append(all, m.rules)
		}
		for _, r := range all {
			take(r.Headers)
			take(r.Query)
		}
	}
	return values
}

// Format prints the names alone, whatever the verb: a set may hold secrets.
func (s Set) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "profiles "+strings.Join(s.Names(), " "))
}

// Equal says whether two sets hold the same profiles.
func (s Set) Equal(o Set) bool {
	return reflect.DeepEqual(s.known, o.known) && reflect.DeepEqual(s.own, o.own)
}

// Has says whether there is a profile of that name.
func (s Set) Has(name string) bool { return slices.Contains(s.Names(), name) }

// spec gives what is written of a profile, the configuration's words over ours.
func (s Set) spec(name string) (spec, bool) {
	known, ok1 := s.known[name]
	own, ok2 := s.own[name]
	switch {
	case !ok2:
		return known, ok1
	case !ok1:
		return own, true
	}
	if own.Base == "" {
		own.Base = known.Base
	}
	if own.Endpoints == nil {
		own.Endpoints = known.Endpoints
	}
	return own, true
}

// Choice is a profile and how it was found.
type Choice struct {
	Profile
	// Why is one line for people.
	Why string
}

// Choose gives the profile for a model at a base URL. name chooses it whatever the endpoint is; empty leaves it to the
// endpoint, and an unknown one counts as generic. The profiles of a configuration win over the known ones, a more exact
// endpoint over a wider one.
func (s Set) Choose(name, baseURL, model string) Choice {
	why := "chosen by name"
	if name == "" {
		name, why = s.byEndpoint(baseURL)
	}
	if !s.Has(name) {
		name, why = Generic, "no profile of that name"
	}
	p := Profile{Name: name}
	s.apply(&p, anyServer, "", nil)
	s.apply(&p, name, "", map[string]bool{})
	s.apply(&p, anyServer, model, nil)
	s.apply(&p, name, model, map[string]bool{})
	u, err := url.Parse(baseURL)
	host := ""
	if err == nil {
		host = u.Host
	}
	vendor, _, _ := strings.Cut(model, "/")
	p.Family = strings.NewReplacer("{host}", host, "{vendor}", vendor).Replace(p.Family)
	return Choice{p, why}
}

// apply puts a profile over p, its base first; with a model only its rules for that.
func (s Set) apply(p *Profile, name, model string, seen map[string]bool) {
	if name == "" || seen[name] {
		return
	}
	if seen != nil {
		seen[name] = true
		one, _ := s.spec(name)
		s.apply(p, one.Base, model, seen)
	}
	for _, m := range []map[string]spec{s.known, s.own} {
		one, ok := m[name]
		switch {
		case !ok:
		case model == "":
			one.over(p)
		default:
			for _, r := range one.Model {
				if slices.ContainsFunc(r.Match, func(pattern string) bool { return glob(pattern, model) }) {
					r.over(p)
				}
			}
		}
	}
}

// byEndpoint finds the profile whose endpoints match best.
func (s Set) byEndpoint(baseURL string) (name, why string) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return Generic, "no endpoint"
	}
	best, pattern := 0, ""
	for _, n := range s.Names() {
		one, _ := s.spec(n)
		_, own := s.own[n]
		for _, e := range one.Endpoints {
			score := match(e, u)
			if own && score > 0 {
				score += 1 << 20
			}
			if score > best {
				best, name, pattern = score, n, e
			}
		}
	}
	if best == 0 {
		return Generic, "no profile knows this endpoint"
	}
	return name, fmt.Sprintf("by the endpoint %s", pattern)
}

// match says how exactly a pattern names the place of u; 0 is not at all.
func match(pattern string, u *url.URL) int {
	place, path, _ := strings.Cut(pattern, "/")
	host, port := place, ""
	if h, p, err := net.SplitHostPort(place); err == nil {
		host, port = h, p
	}
	score := 1
	switch name := strings.ToLower(u.Hostname()); {
	case host == "":
	case strings.HasPrefix(host, "*."):
		if !strings.HasSuffix(name, strings.ToLower(host[1:])) {
			return 0
		}
		score += 1000
	case strings.ToLower(host) != name:
		return 0
	default:
		score += 2000
	}
	if port != "" {
		if port != u.Port() {
			return 0
		}
		score += 500
	}
	if path = "/" + path; path != "/" {
		if u.Path != path && !strings.HasPrefix(u.Path, strings.TrimSuffix(path, "/")+"/") {
			return 0
		}
		score += min(len(path), 400)
	}
	return score
}

// glob compares a name with a pattern in which * stands for any text, whatever the case.
func glob(pattern, name string) bool {
	pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, last)
}
