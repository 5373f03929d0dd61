package ui

import (
	"context"
	"errors"
	"testing"

	"vitrine/runtime/clock"
)

// The list of models opens at once with what is known, and fills when the answer comes; what is chosen in it holds.
func TestModelsAreOffered(t *testing.T) {
	var answered *clock.Latch
	var fails error
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		answered = clock.NewLatch(f.clk)
		o.Models = []string{"gpt-4o-mini", "offline"}
		o.Offer = func(ctx context.Context) ([]ModelOffer, error) {
			if err := answered.Wait(ctx); err != nil {
				return nil, err
			}
			return []ModelOffer{{Name: "gpt-4o", Context: 128000, At: "api.openai.com"}, {Name: "gpt-4o-mini", At: "api.openai.com"},
				{Name: "local:ollama/qwen3:8b", Context: 4096, At: "Ollama on this machine"}, {Name: "evil\x1b[31m\u202e", At: "x\x07"},
				{Name: "offline", At: "built in"}}, fails
		}
	})
	d.enter("/model")
	d.sees("MODEL", "gpt-4o-mini", "now", "offline", "asking the endpoint and this machine")
	d.press("up") // what only tells is not taken
	d.seesNot("local:ollama/")
	answered.Open()
	d.short()
	d.seesNot("asking the endpoint")
	d.sees("gpt-4o ", "128k context", "api.openai.com", "local:ollama/qwen3:8b", "4.1k context", "Ollama on this machine", "evil", "built in")
	d.typed("qwen")
	d.press("enter")
	d.short()
	if got := d.f.sessions[d.id()].row.Model; got != "local:ollama/qwen3:8b" {
		t.Errorf("the model is %q", got)
	}
	fails = errors.New("the key was\x1b[2J refused")
	d.enter("/model")
	d.short()
	d.sees("local:ollama/qwen3:8b", "now", "no list of the endpoint's models: the key was refused")
	d.typed("no list")
	d.press("enter")
	d.short()
	if got := d.f.sessions[d.id()].row.Model; got != "local:ollama/qwen3:8b" {
		t.Errorf("a line that tells why was taken as a model: %q", got)
	}
}

// An answer that comes when the list was closed opens nothing.
func TestModelsComeTooLate(t *testing.T) {
	var answered *clock.Latch
	d := newDriver(t, 80, 24, func(o *Options, f *fake) {
		answered = clock.NewLatch(f.clk)
		o.Offer = func(ctx context.Context) ([]ModelOffer, error) {
			return []ModelOffer{{Name: "late"}}, answered.Wait(ctx)
		}
	})
	d.enter("/model")
	d.sees("gpt-4o-mini", "asking")
	d.press("esc")
	answered.Open()
	d.short()
	d.seesNot("late", "asking")
}
