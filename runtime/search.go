package runtime

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime/find"
)

// Finder looks for words in what was said, and reads around a place in it, for screens and commands. Its methods are safe for
// concurrent use.
type Finder interface {
	// Search looks through all sessions of a user. Nothing to look for finds nothing.
	Search(ctx context.Context, q Search) (Found, error)
	// Places looks through one session and gives the numbers of the messages, ascending.
	Places(ctx context.Context, q Search, sessionID string) (Places, error)
	// Around gives up to before messages in front of the one with that number, and up to after from it on.
	Around(ctx context.Context, sessionID string, n int64, before, after int) (Stretch, error)
	// TurnStart gives the number of the message that began a turn; ErrNotFound when there is none.
	TurnStart(ctx context.Context, sessionID string, turn int) (int64, error)
	// TurnSeqs gives the first and the last seq of a turn's events; ErrNotFound when there are none.
	TurnSeqs(ctx context.Context, sessionID string, turn int) (first, last int64, err error)
	// Stars lists the sessions of a user that are marked.
	Stars(ctx context.Context, user string) ([]string, error)
	// Star marks a session for its user, or takes the mark away. Whoever holds the session is not asked. ErrNotFound, ErrOtherUser.
	Star(ctx context.Context, id, user string, on bool) error
}

// Search is what is looked for.
type Search struct {
	User string
	// Text is what was typed: words that all have to be in a message.
	Text string
	// Limit bounds what is given of what was found, Each what of a session in a search through all; 0 is no bound.
	Limit, Each int
	// Patience bounds the time that is taken to read what was said since the last search, for this one and those to come, and then again
	// the time to look at what is left of it for this one alone, the newest first; 0 reads all of it.
	Patience time.Duration
}

// Found is what a search through all sessions found.
type Found struct {
	// Hits are those of the sessions that changed last first, in a session the newest first.
	Hits []Hit
	// Messages and Sessions count all that was found.
	Messages int64
	Sessions int
	// Unread counts the messages that have not been looked at yet, for want of patience: ask again. Behind counts those that the next
	// search will have to look at again: asking again reads on.
	Unread, Behind int64
}

// Hit is a message that was found.
type Hit struct {
	SessionID, Title string
	Starred          bool
	N                int64
	Turn             int
	Kind             llm.Kind
	Tool             string
	At               time.Time
	// Text is all that was looked through, in which find.Query shows where.
	Text string
	// More is how many messages of the session were found beside those that are given; it stands with the last one of a session.
	More int64
}

// Places is where in a session words stand.
type Places struct {
	Ns []int64
	// All counts what was found, also beyond the limit.
	All            int64
	Unread, Behind int64
	// From on all messages were looked at; 1 when all of them were.
	From int64
}

// Stretch is a part of a session.
type Stretch struct {
	Messages []MessageRow
	// Turn is that of the first message.
	Turn int
	// Newest is the number of the session's last message.
	Newest int64
}

// SearchText is what of a message is looked through: what is shown of it, without the signs of the form that it is stored in.
func SearchText(m MessageRow) string {
	var b strings.Builder
	switch m.Kind {
	case llm.KindNotice:
		return ""
	case llm.KindTool:
		b.WriteString(m.ToolName)
		writeValues(&b, m.Content)
	default:
		b.WriteString(m.Content)
	}
	for _, c := range m.ToolCalls {
		b.WriteString("\n" + c.Name)
		writeValues(&b, c.Arguments)
	}
	return b.String()
}

// writeValues adds the strings and numbers of a JSON text, or the text when it is none.
func writeValues(b *strings.Builder, text string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out strings.Builder
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		switch v := tok.(type) {
		case string:
			out.WriteString("\n" + v)
		case json.Number:
			out.WriteString("\n" + v.String())
		}
	}
	if d.InputOffset() < int64(len(strings.TrimRight(text, " \n\t\r"))) {
		b.WriteString("\n" + text)
		return
	}
	b.WriteString(out.String())
}

// Query is what the search looks for.
func (s Search) Query() find.Query { return find.Parse(s.Text) }
