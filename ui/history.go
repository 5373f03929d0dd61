package ui

import (
	"slices"

	"vitrine/ui/input"
)

// history is what was sent or cleared in one session, oldest first, and where Up and Down stand in it.
type history struct {
	entries []string
	at      int    // len(entries): at the draft
	draft   string // what was in the input before Up
	sent    string // the last entry that was sent
}

// mostEntries bounds the history of a session.
const mostEntries = 500

// add appends an entry and goes to the end; the same as the last one is not added again.
func (h *history) add(text string) {
	h.record(text)
	h.leave()
}

// record appends an entry; who browses stays where they are.
func (h *history) record(text string) {
	if text == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return
	}
	end := !h.browsing()
	h.entries = append(h.entries, text)
	if over := len(h.entries) - mostEntries; over > 0 {
		h.entries = append([]string(nil), h.entries[over:]...)
		h.at = max(h.at-over, 0)
	}
	if end {
		h.at = len(h.entries)
	}
}

// leave goes to the end, and gives the draft that was left for an older entry.
func (h *history) leave() (draft string) {
	if h.browsing() {
		draft = h.draft
	}
	h.at, h.draft = len(h.entries), ""
	return draft
}

// load replaces the entries by those of a stored session and keeps what was added here.
func (h *history) load(stored []string) {
	own := h.entries
	if draft := h.leave(); draft != "" {
		own = append(own, draft)
	}
	if n := len(stored); n > 0 {
		h.sent = stored[n-1]
	}
	h.entries, h.at = nil, 0
	for _, s := range stored {
		if i := slices.IndexFunc(own, func(o string) bool { return input.Plain(o) == s }); i >= 0 {
			s = own[i] // it knows its pastes
			own = slices.Delete(slices.Clone(own), i, i+1)
		}
		h.add(s)
	}
	for _, s := range own {
		if !slices.Contains(stored, input.Plain(s)) {
			h.add(s)
		}
	}
	h.at = len(h.entries)
}

// older gives the entry before the place; now is the text in the input, kept as the draft at the first step.
func (h *history) older(now string) (string, bool) {
	if h.at == len(h.entries) {
		h.draft = now
	}
	if h.at == 0 {
		return "", false
	}
	h.at--
	return h.entries[h.at], true
}

// newer gives the entry after the place, the draft at the end.
func (h *history) newer() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	h.at++
	if h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}

// browsing says that the input shows an entry.
func (h *history) browsing() bool { return h.at < len(h.entries) }
