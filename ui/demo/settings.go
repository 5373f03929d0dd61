package demo

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"vitrine/runtime/config"
)

// settings checks the table [config], or says what is wrong and at which name. A script has nothing to say about keys, nor about where
// they are sent: it may come from anybody.
func (s *Script) settings() (name string, err error) {
	known := map[string]bool{}
	cfg, err := config.Load(config.Inputs{})
	if err != nil {
		return "", fmt.Errorf("load the defaults: %w", err)
	}
	for _, v := range cfg.Values() {
		known[v.Name] = true
	}
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(s.Config)) {
		switch name {
		case "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY":
			return name, fmt.Errorf("a script names no endpoint and no key: %s is set where the demo is played, for model = %q", name, ModelLive)
		case "AGENT_DB_PATH", "AGENT_TRACE_PATH":
			return name, errors.New("a demo's data goes to a folder of its own")
		case "MODEL", "OPENROUTER_MODEL":
			if s.Model != ModelLive {
				return name, fmt.Errorf("%s belongs to model = %q", name, ModelLive)
			}
		}
		if !known[name] {
			return name, fmt.Errorf("there is no setting %q; vitrine doctor --sample-config lists them", name)
		}
		environ = append(environ, name+"="+s.Config[name])
	}
	_, err = config.Load(config.Inputs{Environ: environ})
	var wrong *config.Error
	if errors.As(err, &wrong) {
		err := *wrong
		err.Place = "" // it is known
		return wrong.Name, &err
	}
	return "", err
}
