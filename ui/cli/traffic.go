package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"vitrine/llm/record"
	"vitrine/runtime/config"
)

// Traffic says what becomes of what passes between the program and the model's endpoint.
type Traffic struct {
	// Record is a new file that gets it, Replay a recording that stands in the endpoint's place; both may be empty.
	Record, Replay string
	// Pace is how much of the recorded pauses is kept: 0 none, 1 all.
	Pace float64
}

// maxPace is the slowest replay.
const maxPace = 10

func (c *command) trafficFlags(t *Traffic, f *pflag.FlagSet) {
	f.StringVar(&t.Record, "record-model", "", c.T("write what passes to and from the model into this new file, without keys"))
	f.StringVar(&t.Replay, "replay-model", "", c.T("answer from this recording in place of the model; needs no network"))
	f.Float64Var(&t.Pace, "replay-pace", 0, c.T("with --replay-model: how much of the recorded pauses to keep, 1 for all"))
}

// check refuses what makes no sense together.
func (t *Traffic) check() error {
	switch {
	case t.Record != "" && t.Replay != "":
		return &UsageError{What: "--record-model and --replay-model exclude each other", Do: "use one of them"}
	case t.Pace != 0 && t.Replay == "":
		return &UsageError{What: "--replay-pace needs --replay-model", Do: "name a recording"}
	case !(t.Pace >= 0 && t.Pace <= maxPace):
		return &UsageError{What: fmt.Sprintf("--replay-pace must be a number from 0 to %d", maxPace), Do: "0 keeps no pauses, 1 keeps them"}
	}
	return nil
}

// stage makes the recording's endpoint and model hold: the variables, unless --model says otherwise.
func (t *Traffic) stage(environ []string) ([]string, error) {
	if t.Replay == "" {
		return environ, nil
	}
	base, model, err := record.Source(t.Replay)
	if err != nil {
		return nil, &UsageError{What: "--replay-model: " + err.Error(), Do: "name a file that --record-model made"}
	}
	return append(append([]string(nil), environ...), "OPENAI_BASE_URL="+base, "MODEL="+model), nil
}

// usable says why there is nothing to record.
func (t *Traffic) usable(cfg config.Config) error {
	if t.Record != "" && cfg.Endpoint().Kind == config.Offline {
		return &UsageError{What: "--record-model records what passes to an endpoint, and the offline model has none", Do: "set OPENAI_BASE_URL or OPENAI_API_KEY"}
	}
	return nil
}
