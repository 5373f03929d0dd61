// Package mention finds the files that a text names with @, offers names for one that is being typed, and reads them.
//
// A mention is @ and a path, up to the next blank, or @ and a path in quotes. It begins the text or stands behind what is no letter
// of an address: in user@example.com there is none. Behind a path that is not quoted other words may stand without a blank, as they
// do in Chinese: the longest part that is a file counts.
package mention

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"vitrine/llm/attach"
)

// Bounds of what one message may hold of files.
const (
	MaxFile  = 64 << 10  // bytes of a file; of a longer one the beginning is taken
	MaxAll   = 256 << 10 // bytes of all files together
	MaxFiles = 20
	// maxName bounds a name, maxTries the beginnings of an unquoted one that are tried.
	maxName  = 1024
	maxTries = 64
)

// Mention is a file that a text names.
type Mention struct {
	// Start and End are its bytes in the text, @ and quotes included.
	Start, End int
	// Name is the path as it stands there; of one that is not quoted words may follow that do not belong to it.
	Name   string
	Quoted bool
}

// Find gives the mentions of a text in order.
func Find(text string) []Mention {
	var out []Mention
	for from := 0; from < len(text); {
		i := strings.IndexByte(text[from:], '@')
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		if !begins(text, i) {
			continue
		}
		m, closed := read(text, i)
		if m.Name == "" || m.Quoted && !closed || len(m.Name) > maxName {
			continue
		}
		out = append(out, m)
		from = m.End
	}
	return out
}

// begins says that the @ at i is not within a word.
func begins(text string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(text[:i])
	return n == 0 || r >= utf8.RuneSelf || !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("@/\\._-+", r))
}

// read reads what stands behind the @ at i; closed says that the quotes end.
func read(text string, i int) (m Mention, closed bool) {
	m = Mention{Start: i}
	rest := text[i+1:]
	if m.Quoted = strings.HasPrefix(rest, `"`); m.Quoted {
		end := strings.IndexAny(rest[1:], "\"\n")
		if end < 0 {
			m.Name, m.End = rest[1:], len(text)
			return m, false
		}
		m.Name, m.End = rest[1:1+end], i+1+1+end
		if closed = rest[1+end] == '"'; closed {
			m.End++
		}
		return m, closed
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	m.Name, m.End = rest[:end], i+1+end
	return m, true
}

// At gives the mention that is being typed at a byte of a text: it begins before it, and is not over.
func At(text string, at int) (m Mention, ok bool) {
	for i := strings.LastIndexByte(text[:at], '@'); i >= 0; i = strings.LastIndexByte(text[:i], '@') {
		if !begins(text, i) {
			continue
		}
		m, closed := read(text[:at], i)
		if m.End < at || m.Quoted && closed || len(m.Name) > maxName {
			return Mention{}, false
		}
		m.End = at
		return m, true
	}
	return Mention{}, false
}

// Write is how a name stands in a text.
func Write(name string) string {
	if strings.ContainsFunc(name, unicode.IsSpace) || !utf8.ValidString(name) || tail(name) {
		return `@"` + name + `"`
	}
	return "@" + name
}

// tail says that a name ends in what Resolve would take for words behind it, or begins like a quoted one.
func tail(name string) bool {
	r, _ := utf8.DecodeLastRuneInString(name)
	return name == "" || strings.HasPrefix(name, `"`) || strings.ContainsRune(",;:!?)]}，。；：！？）】》、", r)
}

// Reader reads a file of the folder: its text, at most limit bytes of it, or why not.
type Reader func(ctx context.Context, name string, limit int) attach.File

// Resolve reads the files that a text names, each once. What is no file is plain text, unless it is quoted, leads outside, or known
// says that it was one before.
func Resolve(ctx context.Context, text string, read Reader, known func(name string) bool) []attach.File {
	var out []attach.File
	left := MaxAll
	for _, m := range Find(text) {
		if ctx.Err() != nil || len(out) == MaxFiles {
			break
		}
		f, ok := one(ctx, m, read, min(MaxFile, left), known)
		if !ok || slices.ContainsFunc(out, func(o attach.File) bool { return o.Name == f.Name }) {
			continue
		}
		if f.Refused == "" && f.Text == "" && f.Bytes > 0 {
			f.Refused = attach.NoRoom
		}
		left -= len(f.Text)
		out = append(out, f)
	}
	return out
}

// one reads the file of a mention; ok is false when it is plain text.
func one(ctx context.Context, m Mention, read Reader, limit int, known func(string) bool) (f attach.File, ok bool) {
	first := read(ctx, m.Name, limit)
	if first.Refused != attach.Gone || m.Quoted {
		return first, true
	}
	gone := ""
	for _, name := range beginnings(m.Name) {
		if f := read(ctx, name, limit); f.Refused != attach.Gone {
			return f, f.Refused != attach.Outside && f.Refused != attach.Folder
		}
		if gone == "" && known(name) {
			gone = name
		}
	}
	if known(m.Name) {
		gone = m.Name
	}
	return attach.File{Name: gone, Refused: attach.Gone}, gone != ""
}

// beginnings are the parts of a name that may be the whole of it, the longest first: it ends before a mark, or before or behind a
// letter of a script that is written without blanks.
func beginnings(name string) []string {
	var out []string
	for end := len(name); end > 0 && len(out) < maxTries; {
		r, n := utf8.DecodeLastRuneInString(name[:end])
		cut := end - n
		before, _ := utf8.DecodeLastRuneInString(name[:cut])
		if cut > 0 && (unicode.IsPunct(r) || unicode.IsSymbol(r) || unbroken(r) || unbroken(before)) {
			out = append(out, name[:cut])
		}
		end = cut
	}
	return out
}

func unbroken(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul)
}
