// Package export writes a session for readers outside of the program: as Markdown, as JSON, or as one HTML file that needs nothing
// else. A Writer takes the messages one by one, so that a session of any length passes through; what came from models, tools and
// the user is data in all three: in HTML nothing in it becomes a tag, and in Markdown no message reaches into the next. (An answer's own Markdown stays
// Markdown, so it may hold headings.)
package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/ui/paint"
	"vitrine/ui/words"
)

// Format is what a session is written as.
type Format string

// The formats.
const (
	Markdown Format = "md"
	JSON     Format = "json"
	HTML     Format = "html"
)

// ParseFormat knows a format by its name or a usual other one.
func ParseFormat(name string) (Format, error) {
	switch strings.ToLower(strings.TrimPrefix(name, ".")) {
	case "", "md", "markdown":
		return Markdown, nil
	case "json":
		return JSON, nil
	case "html", "htm":
		return HTML, nil
	}
	return "", fmt.Errorf("%q is no format; there are md, json and html", name)
}

// Session is what is said of a session before its messages.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Model     string    `json:"model,omitempty"`
	Turns     int       `json:"turns"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Lang is what a document for people is written in around the messages.
	Lang words.Lang `json:"-"`
}

// message is one message in JSON.
type message struct {
	N          int64          `json:"n"`
	Kind       llm.Kind       `json:"kind"`
	Role       llm.Role       `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []llm.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Tool       string         `json:"tool,omitempty"`
	Partial    bool           `json:"partial,omitempty"`
	CreatedAt  time.Time      `json:"created_at"`
}

// Writer writes one session. Close ends it; a Writer that is not closed leaves half a document. It is used by one goroutine.
type Writer struct {
	out    *bufio.Writer
	format Format
	turn   int
	count  int
	err    error
	lang   words.Lang
}

// NewWriter begins a session in a format.
func NewWriter(w io.Writer, f Format, s Session) *Writer {
	out := &Writer{out: bufio.NewWriter(w), format: f, lang: s.Lang}
	s.Title = paint.CleanLine(s.Title)
	if s.Title == "" {
		s.Title = s.ID
	}
	switch f {
	case JSON:
		head, err := json.Marshal(s)
		out.err = err
		out.print(`{"session":%s,"messages":[`, escapeHidden(string(head)))
	case HTML:
		out.print(htmlHead, map[words.Lang]string{words.English: "en", words.Chinese: "zh-Hans"}[s.Lang], escape(s.Title), escape(s.Title), escape(facts(s)))
	default:
		out.print("# %s\n\n%s\n", inline(s.Title), inline(facts(s)))
	}
	return out
}

func facts(s Session) string {
	model := ""
	if s.Model != "" {
		model = s.Lang.T(", model %s", s.Model)
	}
	turns := s.Lang.N(s.Turns, "%d turn", "%d turns", s.Turns)
	const layout = "2006-01-02 15:04"
	return s.Lang.T("Session %s%s, %s, %s to %s UTC", s.ID, model, turns, s.CreatedAt.UTC().Format(layout), s.UpdatedAt.UTC().Format(layout))
}

func (w *Writer) print(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

// Message writes the next message.
func (w *Writer) Message(m runtime.MessageRow) error {
	if m.Kind == llm.KindUser {
		w.turn++
	}
	w.count++
	switch w.format {
	case JSON:
		w.json(m)
	case HTML:
		w.html(m)
	default:
		w.markdown(m)
	}
	return w.err
}

// Close ends the document.
func (w *Writer) Close() error {
	switch w.format {
	case JSON:
		w.print("\n]}\n")
	case HTML:
		w.print("</main>\n</html>\n")
	}
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}

func (w *Writer) json(m runtime.MessageRow) {
	line, err := json.Marshal(message{
		N: m.N, Kind: m.Kind, Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, Tool: m.ToolName,
		Partial: m.Partial, CreatedAt: m.CreatedAt.UTC(),
	})
	if w.err == nil {
		w.err = err
	}
	comma := ","
	if w.count == 1 {
		comma = ""
	}
	w.print("%s\n%s", comma, escapeHidden(string(line)))
}

// escapeHidden writes what a terminal may obey, and JSON lets stand in a string, as \u escapes: the value stays the same.
func escapeHidden(s string) string {
	hidden := func(r rune) bool {
		return r >= 0x7f && r < 0xa0 || r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (w *Writer) markdown(m runtime.MessageRow) {
	text := paint.CleanSource(m.Content)
	switch m.Kind {
	case llm.KindUser:
		said, files := attach.Split(m.Content)
		w.print("\n## %s\n\n%s\n", w.lang.T("Turn %d", w.turn), quote(paint.CleanSource(said)))
		for _, f := range files {
			if w.print("\n%s\n", w.lang.T("With %s, %s", "`"+code(f.Name)+"`", w.attached(f))); f.Text != "" {
				w.print("\n%s", fenced("", paint.CleanSource(f.Text)))
			}
		}
	case llm.KindTool:
		w.print("\n%s\n\n%s", w.lang.T("%s gave", "`"+code(m.ToolName)+"`"), fenced("json", text))
	case llm.KindNotice:
		w.print("\n*%s* %s\n", w.lang.T("Note to the model:"), inline(text))
	default:
		if strings.TrimSpace(text) != "" {
			w.print("\n%s\n", closed(text))
		}
		for _, c := range m.ToolCalls {
			w.print("\n%s\n\n%s", w.lang.T("Called %s with", "`"+code(c.Name)+"`"), fenced("json", paint.CleanSource(c.Arguments)))
		}
	}
	if m.Partial {
		w.print("\n*%s*\n", w.lang.T("(cut)"))
	}
}

// attached says what of a file went with a message.
func (w *Writer) attached(f attach.File) string {
	switch {
	case f.Refused != "":
		return w.lang.T("which was not attached: %s", w.lang.Tell(string(f.Refused)))
	case f.Cut():
		return w.lang.T("the first %d of %d bytes", len(f.Text), f.Bytes)
	}
	return w.lang.T("%d bytes", f.Bytes)
}

// quote makes a text a block of its own, whatever it holds.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> ")
}

// closed keeps a text's Markdown to itself: a block of code that it leaves open is ended, and a row that would begin raw HTML is
// text, so that neither swallows what comes after.
func closed(text string) string {
	open := ""
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		trimmed := strings.TrimLeft(row, " ")
		if len(row)-len(trimmed) >= 4 {
			continue // code, or the rest of a paragraph: it begins nothing
		}
		if open == "" && beginsHTML(trimmed) {
			rows[i] = row[:len(row)-len(trimmed)] + "\\" + trimmed
			continue
		}
		for _, mark := range []string{"`", "~"} {
			n := len(trimmed) - len(strings.TrimLeft(trimmed, mark))
			switch {
			case n < 3, open == "" && mark == "`" && strings.Contains(trimmed[n:], "`"): // code within the row
			case open == "":
				open = strings.Repeat(mark, n)
			case open[:1] == mark && n >= len(open) && strings.TrimSpace(trimmed[n:]) == "":
				open = ""
			}
		}
	}
	text = strings.Join(rows, "\n")
	if open == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n" + open
}

// beginsHTML says that a row begins like a tag, a comment or a declaration.
func beginsHTML(row string) bool {
	if len(row) < 2 || row[0] != '<' {
		return false
	}
	c := row[1]
	return c == '/' || c == '!' || c == '?' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// fenced is a block of code whose fence is longer than any in the text.
func fenced(language, text string) string {
	n := 3
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		n = max(n, len(run)+1)
	}
	fence := strings.Repeat("`", n)
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// inline is text in which nothing is markup.
func inline(text string) string {
	var b strings.Builder
	for _, r := range paint.CleanLine(text) {
		if strings.ContainsRune("\\`*_{}[]<>#|~!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code is text that can stand between two backquotes.
func code(text string) string { return strings.ReplaceAll(paint.CleanLine(text), "`", "'") }
