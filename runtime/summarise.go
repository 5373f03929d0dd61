package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// Bounds of what a summary is made of and may become.
const (
	maxSummaryBytes = 64 << 10
	maxFoldedChars  = 6000 // of one text of a message; the middle of a longer one is left out
	minFoldedChars  = 100  // of each text, when a message has very many
	minChunkTokens  = 800
)

// foldedMessage is one message as the summariser gets it.
type foldedMessage struct {
	Role    string   `json:"role"`
	Content string   `json:"content"`
	Calls   []string `json:"calls,omitempty"`
}

// summarise has the model make the new summary, chunk by chunk when there is too much for one call. What the chunks before
// the last gave is kept as a fold before would have been: the model may answer with what is new only.
func (f *folder) summarise(leaving []MessageRow) (prompt.Summary, error) {
	limit := f.s.counter.Estimated(f.s.limit())
	head := prompt.Estimate(f.s.eng.cfg.Summarize) + f.s.memoryTokens + f.s.reserve()
	room := max(minChunkTokens, limit*9/10-head)
	old := f.s.summary
	var chunk []json.RawMessage
	used := 0
	for _, m := range leaving {
		fm, cost, err := folded(m, room)
		if err != nil {
			return prompt.Summary{}, err
		}
		if used > 0 && used+cost > room {
			next, err := f.chunk(old, chunk)
			if err != nil {
				return prompt.Summary{}, err
			}
			old, _ = prompt.Merge(old, next, f.s.eng.cfg.Clock.Now())
			chunk, used = nil, 0
		}
		chunk, used = append(chunk, fm), used+cost
	}
	next, err := f.chunk(old, chunk)
	if err == nil && len(leaving) > len(chunk) {
		next, _ = prompt.Merge(old, next, f.s.eng.cfg.Clock.Now())
	}
	return next, err
}

// folded gives a message as data for the summariser, and what it costs: room at most, however many and long its calls are.
func folded(m MessageRow, room int) (json.RawMessage, int, error) {
	for most := maxFoldedChars; ; most /= 2 {
		data, err := foldedWithin(m, most)
		if err != nil {
			return nil, 0, err
		}
		if cost := prompt.Estimate(string(data)); cost <= room || most <= minFoldedChars {
			return data, cost, nil
		}
	}
}

// foldedWithin is folded with texts of most characters each.
func foldedWithin(m MessageRow, most int) (json.RawMessage, error) {
	content := m.Content
	if m.PromptContent != nil {
		content = *m.PromptContent
	}
	fm := foldedMessage{Role: string(m.Role), Content: withFiles(content, most)}
	for _, c := range m.ToolCalls {
		fm.Calls = append(fm.Calls, c.Name+" "+withoutMiddle(c.Arguments, most))
	}
	return plainJSON(fm)
}

// withFiles is what the summariser gets of a message: the user's words, and of each file with them a part.
func withFiles(content string, most int) string {
	text, files := attach.Split(content)
	if len(files) == 0 {
		return withoutMiddle(content, most)
	}
	for i, f := range files {
		files[i].Text = strings.ToValidUTF8(f.Text[:min(len(f.Text), most/len(files))], "")
	}
	return attach.Compose(withoutMiddle(text, most), files)
}

// withoutMiddle leaves the middle out of a text of more than most characters.
func withoutMiddle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2]) + "\n[…]\n" + string(r[len(r)-most/2:])
}

// plainJSON encodes v; a < stays one character, where json.Marshal makes six of it.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write what is to be summarised: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// chunk makes the summary of the old one and some messages: one call, and one more with the error when the reply is no summary.
func (f *folder) chunk(old prompt.Summary, messages []json.RawMessage) (prompt.Summary, error) {
	data, err := plainJSON(map[string]any{"memory": json.RawMessage(summaryOrEmpty(old)), "messages": messages})
	if err != nil {
		return prompt.Summary{}, err
	}
	req := llm.Request{Model: f.model, Temperature: f.s.eng.cfg.Limits.Temperature, Schema: prompt.SummarySchema(), Messages: []llm.Message{
		{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: f.s.eng.cfg.Summarize},
		{Role: llm.RoleUser, Kind: llm.KindUser, Content: string(data)},
	}}
	text, err := f.ask(req)
	if err != nil {
		return prompt.Summary{}, err
	}
	s, bad := prompt.ParseSummary(text)
	if bad == nil {
		return s, nil
	}
	if strings.TrimSpace(text) == "" {
		text = "(nothing)"
	}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.RoleAssistant, Kind: llm.KindAssistant, Content: text},
		llm.Message{Role: llm.RoleUser, Kind: llm.KindNotice, Content: "[RUNTIME] That was " + oneLine(bad) + ". Answer with the JSON object only."})
	if text, err = f.ask(req); err != nil {
		return prompt.Summary{}, err
	}
	if s, bad = prompt.ParseSummary(text); bad != nil {
		return prompt.Summary{}, fmt.Errorf("the model's summary cannot be used: %w", bad)
	}
	return s, nil
}

func summaryOrEmpty(s prompt.Summary) string {
	if b := encodeSummary(s); b != nil {
		return string(b)
	}
	return `{"goals":[],"facts":[],"todos":[],"unresolved":[]}`
}

// ask makes one model call of the fold and shows it as it streams.
func (f *folder) ask(req llm.Request) (string, error) {
	var text strings.Builder
	for chunk, err := range f.s.eng.cfg.Model.Stream(f.ctx, req) {
		switch {
		case err != nil:
			return "", fmt.Errorf("ask the model for a summary: %w", err)
		case chunk.Retry != nil:
			text.Reset()
			w := chunk.Retry
			f.s.eng.cfg.Bus.Publish(f.event(trace.RetryData{Attempt: w.Attempt, Max: w.Max, WaitMS: w.Wait.Milliseconds(), Cause: w.Cause, Status: w.Status, Shared: w.Shared}))
			f.show(trace.DeltaData{Kind: "summary", ID: f.id, Reset: true})
		case chunk.Void:
			text.Reset()
			f.show(trace.DeltaData{Kind: "summary", ID: f.id, Reset: true})
		case chunk.Text != "":
			if text.Len()+len(chunk.Text) > maxSummaryBytes {
				return "", &llm.Error{Kind: llm.ErrTooLarge, Message: "the summary is longer than 64 KiB"}
			}
			text.WriteString(chunk.Text)
			f.show(trace.DeltaData{Kind: "summary", ID: f.id, Text: chunk.Text})
		case chunk.Done != nil:
			f.account(req, text.String(), chunk.Done.Usage)
			f.emit(trace.CompactData{Phase: phaseSummarised, DurationMS: f.took(), Tokens: f.use.Prompt + f.use.Completion})
			return text.String(), nil
		}
	}
	return "", &llm.Error{Kind: llm.ErrCut, Message: "the stream ended without a reply"}
}

func (f *folder) show(d trace.DeltaData) { f.s.eng.cfg.Bus.Publish(f.event(d)) }

// account counts the fold's model call: it is part of the run's budget.
func (f *folder) account(req llm.Request, text string, u llm.Usage) {
	use := RunUsage{Completion: prompt.Estimate(text)}
	for _, m := range req.Messages {
		use.Prompt += prompt.EstimateMessage(m)
	}
	use.Estimated = u.Prompt == nil || u.Completion == nil
	if u.Prompt != nil {
		use.Prompt = *u.Prompt
	}
	if u.Completion != nil {
		use.Completion = *u.Completion
	}
	for _, to := range []*RunUsage{&f.use, f.runUsage()} {
		to.pay(u.Cost)
		to.Prompt += use.Prompt
		to.Completion += use.Completion
		to.Estimated = to.Estimated || use.Estimated
	}
}

func (f *folder) runUsage() *RunUsage {
	if f.r == nil {
		return &RunUsage{}
	}
	return &f.r.row.Usage
}

// maxDescribed bounds how many messages of each kind a fold's event names: a long session's fold is an event of ordinary size.
const maxDescribed = 40

// describe names what a plan does, message by message, and how many messages leave.
func (s *session) describe(plan prompt.Plan) (leaving, shortened []trace.CompactMessage, leave int) {
	short := map[int64]bool{}
	for _, n := range plan.Shorten {
		short[n] = true
	}
	turn := s.row.TurnCount
	for _, m := range s.window {
		if m.Kind == llm.KindUser {
			turn--
		}
	}
	for _, m := range s.window {
		if m.Kind == llm.KindUser {
			turn++
		}
		cm := trace.CompactMessage{N: m.N, Turn: turn, Kind: string(m.Kind), Title: titleOfMessage(m), Tokens: m.Tokens}
		switch {
		case short[m.N]:
			if len(shortened) < maxDescribed {
				shortened = append(shortened, cm)
			}
		case plan.Last > 0 && m.N >= plan.First && m.N <= plan.Last && m.N != plan.Keep:
			if leave++; leave <= maxDescribed {
				leaving = append(leaving, cm)
			}
		}
	}
	return leaving, shortened, leave
}

func titleOfMessage(m MessageRow) string {
	switch {
	case m.Role == llm.RoleTool:
		return m.ToolName
	case m.Content == "" && len(m.ToolCalls) > 0:
		return m.ToolCalls[0].Name
	}
	return titleOf(m.Content)
}

// items is the window with what shortened results would really cost.
func (f *folder) items() []prompt.Item {
	items := f.s.items()
	f.short = map[int64]shortForm{}
	for i, m := range f.s.window {
		if items[i].Short == items[i].Tokens {
			continue
		}
		items[i].Short = items[i].Tokens
		if form := f.s.shorten(m); form.Tokens <= m.Tokens*3/4 {
			f.short[m.N], items[i].Short = form, form.Tokens
		}
	}
	return items
}

// shorten makes the short form of a result: the beginning and the end of its data, and a handle for the whole.
func (s *session) shorten(m MessageRow) shortForm {
	var res tools.Result
	if json.Unmarshal([]byte(m.Content), &res) != nil {
		res = tools.Result{OK: true, Data: json.RawMessage(m.Content)}
	}
	handle := "a-" + s.eng.cfg.NewID()
	less, full, _ := tools.Shorten(res, shortChars, handle)
	text := string(tools.EncodeResult(less))
	m.Content = text
	form := shortForm{Shortened: Shortened{N: m.N, Content: &text, Tokens: prompt.EstimateMessage(wireMessage(m))}}
	if full != "" {
		form.whole = &ArtifactRow{Handle: handle, SessionID: s.id, RunID: m.RunID, Tool: m.ToolName, Content: full, CreatedAt: s.eng.cfg.Clock.Now()}
	}
	return form
}

// shortChars is what stays of a shortened result's data.
const shortChars = 320
