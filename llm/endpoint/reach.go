package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/llm/openai"
	"vitrine/llm/price"
	"vitrine/llm/profile"
)

// Reach asks the endpoint for its list of models, as a sign of life, and says in one line what answered and how the model is
// spoken to. That there is no list is no failure where replies are made. Neither that nor an error holds the key or what a URL may hide.
func Reach(ctx context.Context, wire openai.Config, model string) (string, error) {
	d := Describe(wire, model)
	text, err := reach(ctx, wire)
	if err != nil {
		return "", err
	}
	return text + "; " + d.String(), nil
}

// Description is how a model is spoken to.
type Description struct {
	base, model string
	Choice      profile.Choice
	// Learned is what the endpoint refused before.
	Learned []openai.Learned
}

// Describe tells how a model is spoken to: the profile, why it was chosen, and what was learned of the endpoint.
func Describe(wire openai.Config, model string) Description {
	set := wire.Profiles
	if len(set.Names()) == 0 {
		set = profile.Builtin()
	}
	d := Description{base: wire.BaseURL, model: model, Choice: set.Choose(wire.Profile, wire.BaseURL, model)}
	if wire.Memory != nil {
		d.Learned = wire.Memory.Of(wire.BaseURL, model)
	}
	return d
}

// String is one line.
func (d Description) String() string {
	s := fmt.Sprintf("profile %s (%s)", d.Choice.Name, d.Choice.Why)
	for _, l := range d.Learned {
		s += fmt.Sprintf("; since %s %s", l.At.Format(time.DateOnly), strings.Join(l.What, ", "))
	}
	return s
}

// Facts are the same for doctor, a name and a text each, with what the model costs; own are prices of the configuration.
func (d Description) Facts(own map[string]price.Price) [][]string {
	facts := [][]string{{"profile", fmt.Sprintf("%s (%s)", d.Choice.Name, d.Choice.Why)}}
	if p := d.Choice.Protocol; p != "" && p != profile.ProtocolNative {
		facts = append(facts, []string{"protocol", string(p) + ", by the profile; AGENT_PROTOCOL takes another"})
	}
	for _, l := range d.Learned {
		facts = append(facts, []string{"learned", fmt.Sprintf("since %s %s", l.At.Format(time.DateOnly), strings.Join(l.What, ", "))})
	}
	p, ok := price.Table{Own: own}.Find(hostOf(d.base), d.model)
	if !ok {
		return append(facts, []string{"price", "unknown; [price.MODEL] in the configuration file sets it"})
	}
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	from := "from the configuration file"
	if p.AsOf != "" {
		from = "list price of " + p.AsOf
	}
	return append(facts, []string{"price", fmt.Sprintf("$%g in, $%g cached, $%g out for a million tokens, %s", p.Input, cached, p.Output, from)})
}

// hostOf is the host of an address, empty for what is none.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "" // it fails at the first request, with the reason
	}
	return u.Hostname()
}

func reach(ctx context.Context, wire openai.Config) (string, error) {
	wire.Memory = openai.NewMemory("") // nothing is changed by looking
	client := openai.New(wire)
	defer client.Close()
	models, err := client.Models(ctx)
	var e *llm.Error
	switch {
	case err == nil:
		noun := "models"
		if len(models) == 1 {
			noun = "model"
		}
		return fmt.Sprintf("%s answers with a list of %d %s", client.Host(), len(models), noun), nil
	case !errors.As(err, &e):
		return "", fmt.Errorf("%s: %w", client.Host(), err)
	case e.Kind == llm.ErrAuth:
		return "", fmt.Errorf("%s refused the key (HTTP %d)", client.Host(), e.Status)
	case e.Kind != llm.ErrProtocol && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed):
		return listless(ctx, client, e)
	}
	return "", e
}

// listless tells a server that has no list of models from a path at which there is nothing.
func listless(ctx context.Context, client *openai.Client, e *llm.Error) (string, error) {
	text := fmt.Sprintf("%s answers, but lists no models (HTTP %d)", client.Host(), e.Status)
	there, err := client.Replies(ctx)
	var refused *llm.Error
	switch {
	case there:
		return text, nil
	case errors.As(err, &refused) && refused.Kind == llm.ErrAuth:
		return "", fmt.Errorf("%s refused the key (HTTP %d)", client.Host(), refused.Status)
	case err != nil:
		return "", fmt.Errorf("%s; asked for a reply: %w", text, err)
	case e.Hint != "":
		return "", errors.New(text + "; " + e.Hint)
	}
	return "", fmt.Errorf("%s answers, but lists no models (HTTP %d) and makes no replies there; the path of the base URL may be wrong", client.Host(), e.Status)
}
