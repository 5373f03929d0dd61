package endpoint

import (
	"fmt"

	"vitrine/llm/openai"
	"vitrine/llm/record"
	"vitrine/runtime/clock"
)

// Traffic is what becomes of all that passes to and from endpoints: nothing, a recording, or an answer from one. Nil is nothing.
type Traffic struct {
	recorder *record.Recorder
	player   *record.Player
}

// TrafficConfig says what is wanted. At most one of both files is named.
type TrafficConfig struct {
	// Record is a new file that gets it, Replay a recording that answers, with Pace of its pauses.
	Record, Replay string
	Pace           float64
	Clock          clock.Clock
	// Secrets are what no recording may hold, Addresses URLs with such parts.
	Secrets, Addresses []string
}

// OpenTraffic opens the files.
func OpenTraffic(cfg TrafficConfig) (t *Traffic, err error) {
	hidden := append([]string(nil), cfg.Secrets...)
	for _, a := range cfg.Addresses {
		hidden = append(hidden, record.OfURL(a)...)
	}
	t = &Traffic{}
	switch secrets := record.NewSecrets(hidden...); {
	case cfg.Replay != "":
		t.player, err = record.Open(cfg.Replay, cfg.Clock, cfg.Pace, secrets)
	case cfg.Record != "":
		t.recorder, err = record.Create(cfg.Record, cfg.Clock, secrets)
	}
	return t, err
}

// Through gives w so that its traffic takes this way. What was learned of endpoints counts for nothing then, so that the same
// requests are made wherever a recording is played.
func (t *Traffic) Through(w openai.Config) openai.Config {
	switch {
	case t == nil:
	case t.player != nil:
		w.Transport, w.Memory = t.player, openai.NewMemory("")
	case t.recorder != nil:
		w.Wrap, w.Memory = t.recorder.Over, openai.NewMemory("")
	}
	return w
}

// Close ends a recording, and tells what went wrong with it.
func (t *Traffic) Close() error {
	if t == nil || t.recorder == nil {
		return nil
	}
	return t.recorder.Close()
}

// Tell says what its user may not expect: requests of a recording that were not asked for, or that nothing was recorded. It is
// empty when there is nothing to say.
func (t *Traffic) Tell() string {
	switch {
	case t == nil:
	case t.player != nil && t.player.Left() > 0:
		return fmt.Sprintf("requests of the recording that were not asked for: %d", t.player.Left())
	case t.recorder != nil && t.recorder.Count() == 0:
		return fmt.Sprintf("nothing was recorded: no request went to an endpoint, so %s is empty", t.recorder.Path())
	}
	return ""
}
