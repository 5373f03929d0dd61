package cli

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"vitrine/llm"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/words"
)

// Offer is which models can be had.
type Offer struct {
	// Models are the endpoint's; Err is why there is no list of them. Without an endpoint both are empty.
	Models []llm.ModelInfo
	Err    error
	// Local are the servers that run on this machine.
	Local []LocalOffer
}

// LocalOffer is one of them.
type LocalOffer struct {
	Server llm.LocalServer
	Models []llm.ModelInfo
}

// ModelLine is one model as `models --json` prints it.
type ModelLine struct {
	Model string `json:"model"`
	// Context is in tokens, null when the server does not say.
	Context *int   `json:"context"`
	At      string `json:"at"`
	Current bool   `json:"current,omitempty"`
}

const longModels words.Text = `List the models that the endpoint offers and, below them, those of a running Ollama, llama.cpp or LM Studio on this machine.
The one that new sessions use is marked. --model NAME, or MODEL, takes another one; nothing on this machine is used unless it is
named, like local:ollama/llama3.2 (where no endpoint is set ollama/llama3.2 will do). In a session /model changes it.`

func (c *command) modelsCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "models", Short: c.T("List the models that can be used"), Long: c.T(longModels), Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.models(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, c.T("print JSON lines"))
	return cmd
}

func (c *command) models(ctx context.Context, o *options) error {
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	offer := c.prog.Models(ctx, cfg)
	lines := ModelLines(cfg, offer)
	rows := [][]string{c.heads("", "MODEL", "CONTEXT", "AT")}
	for _, l := range lines {
		if o.json {
			if err := c.jsonLine(l); err != nil {
				return err
			}
			continue
		}
		mark, size := "", "-"
		if l.Current {
			mark = "*"
		}
		if l.Context != nil {
			size = trace.FormatTokens(*l.Context)
		}
		rows = append(rows, []string{mark, l.Model, size, c.lang.Tell(l.At)})
	}
	if !o.json {
		c.out.table(rows)
	}
	if offer.Err != nil {
		return fmt.Errorf("list the models of the endpoint: %w", offer.Err)
	}
	return nil
}

// ModelLines are the models that can be used, the endpoint's first. The current one is there even where no list names it.
func ModelLines(cfg config.Config, offer Offer) []ModelLine {
	current, remote := cfg.Endpoint().Model, cfg.Remote()
	host := ""
	if u, err := url.Parse(remote.BaseURL); err == nil {
		host = u.Host
	}
	var lines []ModelLine
	add := func(m llm.ModelInfo, name, at string) {
		l := ModelLine{Model: name, At: at, Current: name == current}
		if m.Context > 0 {
			l.Context = &m.Context
		}
		lines = append(lines, l)
	}
	for _, m := range offer.Models {
		add(m, m.ID, host)
	}
	for _, s := range offer.Local {
		if samePlace(remote.BaseURL, s.Server.Root) {
			continue // the endpoint's own list
		}
		for _, m := range s.Models {
			add(m, s.Server.Model(m.ID), s.Server.Name+" on this machine")
		}
	}
	add(llm.ModelInfo{}, config.OfflineModel, "built in")
	for _, l := range lines {
		if l.Current {
			return lines
		}
	}
	at := host
	if s, _, ok := llm.LocalModel(current); ok {
		at = s.Name + " on this machine"
	}
	missing := ModelLine{Model: current, At: at + ", not listed there", Current: true}
	return append([]ModelLine{missing}, lines...)
}

// samePlace says whether two addresses are of one port of this machine.
func samePlace(a, b string) bool {
	one, err1 := url.Parse(a)
	two, err2 := url.Parse(b)
	if err1 != nil || err2 != nil || one.Port() != two.Port() || one.Port() == "" {
		return false
	}
	here := func(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
	return here(one.Hostname()) && here(two.Hostname())
}
