package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"vitrine/tools"
)

// shelf holds artifacts by session and handle.
type shelf map[string]map[string]string

func (s shelf) ReadArtifact(_ context.Context, session, handle string) (tools.Artifact, string, bool, error) {
	if session == "broken" {
		return tools.Artifact{}, "", false, errors.New("disk on fire")
	}
	text, ok := s[session][handle]
	return tools.Artifact{Handle: handle, Tool: "search", Bytes: len(text)}, text, ok, nil
}

func (s shelf) ListArtifacts(_ context.Context, session string, limit int) ([]tools.Artifact, error) {
	if session == "unlisted" {
		return nil, errors.New("disk on fire")
	}
	var out []tools.Artifact
	for h, text := range s[session] {
		if len(out) < limit {
			out = append(out, tools.Artifact{Handle: h, Tool: "search", Bytes: len(text)})
		}
	}
	return out, nil
}

// fatal is what both kinds of test have.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// readArtifact runs the tool and checks that what it says fits into a prompt uncut.
func readArtifact[Out any](t fatal, s shelf, session string, in artifactIn) (Out, *tools.Error) {
	t.Helper()
	var out Out
	args, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, err := Artifact(s).Run(context.Background(), tools.Call{SessionID: session}, args)
	if err != nil {
		var e *tools.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v", err)
		}
		return out, e
	}
	res := tools.NewResult(got, nil)
	if _, _, cut := tools.Limit(res, tools.MaxResultChars, "x"); cut {
		t.Fatalf("the result would be cut again: %d characters", utf8.RuneCount(res.Data))
	}
	if err := json.Unmarshal(res.Data, &out); err != nil {
		t.Fatalf("%v", err)
	}
	return out, nil
}

// B080: reading on at next gives the whole, whatever it is, in pieces that are cut between clusters.
func TestReadTheWholeInPieces(t *testing.T) {
	long := strings.Repeat("line with \"quotes\" and 字 and 👨‍👩‍👧\r\n", 300)
	for name, text := range map[string]string{
		"lines": long, "one line": strings.Repeat("0123456789", 700), "chinese": strings.Repeat("部署在周五", 900), "empty": "",
		"controls": strings.Repeat("\x01\x02", 1000), "no cut": "short", "family": strings.Repeat("👨‍👩‍👧‍👦", 300), "marks": "a" + strings.Repeat("\u0301", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			s := shelf{"s": {"a-1": text}}
			var b strings.Builder
			next := 0
			for range 1000 {
				got, e := readArtifact[artifactOut](t, s, "s", artifactIn{Handle: "a-1", Offset: next})
				if e != nil || got.Characters != utf8.RuneCountInString(text) || got.Lines != lineCount(text) || got.Offset != next && name != "marks" {
					t.Fatalf("%+v, %v", got, e)
				}
				b.WriteString(got.Text)
				if got.Next == nil {
					break
				}
				if name == "marks" {
					return // one cluster of 5,001 characters can only be looked at
				}
				next = *got.Next
			}
			if b.String() != text {
				t.Errorf("%d bytes of %d came", b.Len(), len(text))
			}
		})
	}
}

func TestReadLines(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "row %d\n", i)
	}
	text := b.String() + strings.Repeat("x", 5000) + "\nlast"
	s := shelf{"s": {"a-1": text}}
	got, e := readArtifact[artifactOut](t, s, "s", artifactIn{Handle: "a-1", Unit: "lines", Offset: 7, Limit: 2})
	if e != nil || got.Text != "row 7\nrow 8\n" || got.Next == nil || *got.Next != 9 || got.Lines != 502 {
		t.Errorf("%+v, %v", got, e)
	}
	got, e = readArtifact[artifactOut](t, s, "s", artifactIn{Handle: "a-1", Unit: "lines", Offset: 500})
	if e != nil || got.CutAt == nil || got.Next == nil || *got.Next != 501 {
		t.Fatalf("a line that is too long: %+v, %v", got, e)
	}
	more, e := readArtifact[artifactOut](t, s, "s", artifactIn{Handle: "a-1", Offset: *got.CutAt})
	if e != nil || !strings.HasPrefix(more.Text, "xxx") {
		t.Errorf("the rest of it: %+v, %v", more, e)
	}
	got, e = readArtifact[artifactOut](t, s, "s", artifactIn{Handle: "a-1", Unit: "lines", Offset: 501})
	if e != nil || got.Text != "last" || got.Next != nil {
		t.Errorf("the end: %+v, %v", got, e)
	}
	for _, in := range []artifactIn{{Handle: "a-1", Unit: "lines", Offset: 502}, {Handle: "a-1", Offset: len(text)}} {
		if _, e := readArtifact[artifactOut](t, s, "s", in); e == nil || e.Code != tools.CodeInvalidArgument || e.Field != "offset" {
			t.Errorf("behind the end: %v", e)
		}
	}
}

func TestSearchArtifact(t *testing.T) {
	text := strings.Repeat("filler 字 ", 400) + "the Needle is\nhere 👨‍👩‍👧 " + strings.Repeat("filler ", 400) + "NEEDLE" + strings.Repeat(" needle", 50)
	s := shelf{"s": {"a-1": text}}
	seen, next := 0, 0
	for range 100 {
		got, e := readArtifact[artifactHits](t, s, "s", artifactIn{Handle: "a-1", Search: "needle", Offset: next})
		if e != nil || len(got.Hits) == 0 {
			t.Fatalf("%+v, %v", got, e)
		}
		if next == 0 && (got.Found != 52 || got.Hits[0].Line != 0 || got.Hits[1].Line != 1) {
			t.Errorf("%+v", got)
		}
		for _, h := range got.Hits {
			if r := []rune(text); !strings.EqualFold(string(r[h.Offset:h.Offset+6]), "needle") || !strings.Contains(strings.ToLower(h.Excerpt), "needle") || !strings.Contains(text, h.Excerpt) {
				t.Errorf("hit %+v", h)
			}
			seen++
		}
		if got.Next == nil {
			break
		}
		next = *got.Next
	}
	if seen != 52 {
		t.Errorf("%d hits were shown", seen)
	}
	if got, e := readArtifact[artifactHits](t, s, "s", artifactIn{Handle: "a-1", Search: ".*"}); e != nil || got.Found != 0 || got.Next != nil {
		t.Errorf("a pattern is a text: %+v, %v", got, e)
	}
	if got, e := readArtifact[artifactHits](t, s, "s", artifactIn{Handle: "a-1", Search: "needle", Limit: 1}); e != nil || len(got.Hits) != 1 {
		t.Errorf("limit: %+v, %v", got, e)
	}
	many := shelf{"s": {"a-1": strings.Repeat("a", 5000)}}
	if got, e := readArtifact[artifactHits](t, many, "s", artifactIn{Handle: "a-1", Search: "a"}); e != nil || got.Found != maxFound || !got.AtLeast {
		t.Errorf("%+v, %v", got, e)
	}
}

// A search goes on behind a hit also where a hit and what follows it are one character to a reader.
func TestSearchGoesOn(t *testing.T) {
	s := shelf{"s": {"a-1": strings.Repeat("e\u0301x", 3)}}
	var at []int
	for next := 0; len(at) < 5; {
		got, e := readArtifact[artifactHits](t, s, "s", artifactIn{Handle: "a-1", Search: "e", Offset: next, Limit: 1})
		if e != nil || len(got.Hits) != 1 {
			t.Fatalf("%+v, %v", got, e)
		}
		at = append(at, got.Hits[0].Offset)
		if got.Next == nil {
			break
		}
		next = *got.Next
	}
	if !slices.Equal(at, []int{0, 3, 6}) {
		t.Errorf("hits at %v", at)
	}
}

// Unknown handles, also those of another session, name what there is.
func TestUnknownArtifact(t *testing.T) {
	s := shelf{"s": {"a-1": "mine"}, "other": {"a-2": "theirs"}, "many": {}}
	for i := range 30 {
		s["many"][fmt.Sprint("a-", i)] = "x"
	}
	for _, tt := range []struct{ session, handle, says string }{
		{"s", "a-2", "a-1 (search, 4 bytes)"}, {"new", "a-1", "none at all"}, {"many", "b", "older ones"}, {"s", "\x1b[31mx", `no artifact "x"`},
	} {
		_, e := readArtifact[artifactOut](t, s, tt.session, artifactIn{Handle: tt.handle})
		if e == nil || e.Code != tools.CodeNotFound || e.Field != "handle" || !strings.Contains(e.Message, tt.says) || strings.Contains(e.Message, "theirs") {
			t.Errorf("%s %s: %v", tt.session, tt.handle, e)
		}
		if e != nil && len(e.Message) > 1000 {
			t.Errorf("the list is %d bytes", len(e.Message))
		}
	}
	for _, session := range []string{"broken", "unlisted"} {
		if _, e := readArtifact[artifactOut](t, s, session, artifactIn{Handle: "a"}); e == nil || e.Code != tools.CodeInternal {
			t.Errorf("%s: %v", session, e)
		}
	}
	if Artifact(s).Effect() != tools.ReadOnly || Artifact(s).Name() != tools.ArtifactTool {
		t.Error("the tool is another one")
	}
}

// Whatever the text and the arguments, a piece is cut between clusters, stands in the text where it says, and fits.
func TestArtifactPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "word ", "\n", "字", "👨‍👩‍👧", "e\u0301", "\r\n", "\"", "\x00", "🇩🇪"})
		text := strings.Repeat(strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), ""), rapid.IntRange(1, 80).Draw(t, "times"))
		bounds := map[int]bool{0: true}
		at := 0
		for it := graphemes.FromString(text); it.Next(); {
			at += len(it.Value())
			bounds[at] = true
		}
		in := artifactIn{
			Handle: "h", Unit: rapid.SampledFrom([]string{"", "characters", "lines"}).Draw(t, "unit"),
			Offset: rapid.IntRange(0, 300).Draw(t, "offset"), Limit: rapid.IntRange(0, 300).Draw(t, "limit"),
		}
		s := shelf{"s": {"h": text}}
		if rapid.Bool().Draw(t, "search") {
			in.Search = rapid.SampledFrom([]string{"a", "word", "字", "\n", "e"}).Draw(t, "what")
			got, e := readArtifact[artifactHits](t, s, "s", in)
			if e != nil {
				t.Fatalf("%v", e)
			}
			for _, h := range got.Hits {
				if i := strings.Index(text, h.Excerpt); i < 0 || h.Offset < in.Offset-20 {
					t.Fatalf("hit %+v", h)
				}
			}
			return
		}
		got, e := readArtifact[artifactOut](t, s, "s", in)
		if e != nil {
			if e.Field != "offset" {
				t.Fatalf("%v", e)
			}
			return
		}
		start := 0
		if in.Unit == "lines" {
			for range in.Offset {
				start += strings.IndexByte(text[start:], '\n') + 1
			}
		} else {
			start = len(string([]rune(text)[:got.Offset]))
		}
		if !bounds[start] && in.Unit != "lines" || !strings.HasPrefix(text[start:], got.Text) || !bounds[start+len(got.Text)] && in.Unit != "lines" {
			t.Fatalf("cut inside a cluster, or another place: %+v", got)
		}
		if got.Text == "" && text != "" {
			t.Fatalf("nothing came: %+v", got)
		}
	})
}
