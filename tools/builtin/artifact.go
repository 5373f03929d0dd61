package builtin

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"vitrine/tools"
)

// Bounds of one reading. Its result stays below what a prompt takes of a result, so that reading an artifact never makes
// another one.
const (
	maxRead     = 1500 // characters of JSON
	maxHandle   = 100
	hitClusters = 60 // on each side of a hit
	mostHits    = 8
	maxFound    = 1000
	hitFrame    = 45 // what the numbers of a hit take
)

type artifactIn struct {
	Handle string `json:"handle" minlen:"1" maxlen:"100" jsonschema:"the handle that a cut result names"`
	Unit   string `json:"unit,omitempty" enum:"characters,lines" jsonschema:"what offset and limit count; characters when left out"`
	Offset int    `json:"offset,omitempty" min:"0" jsonschema:"where to begin, from 0"`
	Limit  int    `json:"limit,omitempty" min:"0" jsonschema:"how much at most; as much as fits when left out"`
	Search string `json:"search,omitempty" maxlen:"200" jsonschema:"find this text instead of reading, from the character offset on; case does not count"`
}

// artifactOut is a piece of an artifact.
type artifactOut struct {
	Handle string `json:"handle"`
	// Characters and Lines are the size of the whole.
	Characters int `json:"characters"`
	Lines      int `json:"lines"`
	// Offset is where Text begins, in Unit.
	Unit   string `json:"unit,omitempty"`
	Offset int    `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset at which to go on, nil at the end.
	Next *int `json:"next"`
	// CutAt says that the last line was longer than what fits; it goes on at this character.
	CutAt *int `json:"line_goes_on_at_character,omitempty"`
}

// artifactHits is what a search found.
type artifactHits struct {
	Handle     string        `json:"handle"`
	Characters int           `json:"characters"`
	Lines      int           `json:"lines"`
	Found      int           `json:"found"`
	AtLeast    bool          `json:"at_least,omitempty"` // there may be more than Found
	Hits       []artifactHit `json:"hits"`
	// Next is the offset in characters at which the search goes on, nil when all hits are there.
	Next *int `json:"next"`
}

type artifactHit struct {
	Offset  int    `json:"offset"` // in characters
	Line    int    `json:"line"`   // from 0
	Excerpt string `json:"excerpt"`
}

// Artifact makes the tool that reads large outputs of this session in pieces and searches in them.
func Artifact(reader tools.ArtifactReader) tools.Tool {
	t := &artifacts{reader: reader}
	return tools.New(tools.ArtifactTool, "Reads a large result of this session that was cut for you, by the handle that the cut result names: "+
		"a range by characters or lines, or a search for a text. It says how large the whole is and where to go on (next).",
		tools.ReadOnly, t.run)
}

type artifacts struct{ reader tools.ArtifactReader }

func (t *artifacts) run(ctx context.Context, call tools.Call, in artifactIn) (tools.Output, error) {
	a, content, ok, err := t.reader.ReadArtifact(ctx, call.SessionID, in.Handle)
	if err != nil {
		return tools.Output{}, fmt.Errorf("read the artifact: %w", err)
	}
	if !ok {
		return tools.Output{}, t.unknown(ctx, call.SessionID, in.Handle)
	}
	content = strings.ToValidUTF8(content, "\uFFFD")
	if in.Search != "" {
		return searchArtifact(a.Handle, content, in)
	}
	if in.Unit == "lines" {
		return readLines(a.Handle, content, in)
	}
	return readCharacters(a.Handle, content, in)
}

// unknown is the error of a handle that names nothing here.
func (t *artifacts) unknown(ctx context.Context, session, handle string) error {
	list, err := t.reader.ListArtifacts(ctx, session, maxNamed+1)
	if err != nil {
		return fmt.Errorf("list the artifacts: %w", err)
	}
	message := fmt.Sprintf("this session has no artifact %q", tools.CleanLine(handle, maxHandle))
	if len(list) == 0 {
		message += "; it has none at all"
	} else {
		var names []string
		for i, a := range list {
			if i == maxNamed {
				names = append(names, "older ones")
				break
			}
			names = append(names, fmt.Sprintf("%s (%s, %d bytes)", tools.CleanLine(a.Handle, maxHandle), tools.CleanLine(a.Tool, 40), a.Bytes))
		}
		message += "; it has " + strings.Join(names, ", ")
	}
	return &tools.Error{Code: tools.CodeNotFound, Field: "handle", Message: message}
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// beyond is the error of an offset behind the end.
func beyond(in artifactIn, size int, unit string) error {
	return &tools.Error{Code: tools.CodeInvalidArgument, Field: "offset", Expected: fmt.Sprintf("less than %d", size),
		Message: fmt.Sprintf("offset %d is behind the end: the artifact has %d %s", in.Offset, size, unit)}
}

// at gives the byte at which the cluster with the character number n begins, and the number of that cluster's first character.
func at(s string, n int) (byteAt, char int) {
	for it := graphemes.FromString(s); it.Next(); {
		size := utf8.RuneCountInString(it.Value())
		if char+size > n {
			return byteAt, char
		}
		byteAt, char = byteAt+len(it.Value()), char+size
	}
	return byteAt, char
}

// charAt is the byte at which the character number n begins, or the end.
func charAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func readCharacters(handle, content string, in artifactIn) (tools.Output, error) {
	out := artifactOut{Handle: handle, Characters: utf8.RuneCountInString(content), Lines: lineCount(content), Unit: "characters"}
	if in.Offset >= out.Characters && in.Offset > 0 {
		return tools.Output{}, beyond(in, out.Characters, "characters")
	}
	start, first := at(content, in.Offset)
	rest := content[start:]
	if in.Limit > 0 {
		// The cluster in which the limit falls comes whole, so that every reading goes on.
		end, char := at(rest, in.Limit)
		if char < in.Limit && end < len(rest) {
			end += len(firstCluster(rest[end:]))
		}
		rest = rest[:end]
	}
	out.Offset, out.Text = first, rest[:fit(rest)]
	if next := first + utf8.RuneCountInString(out.Text); next < out.Characters {
		out.Next = &next
	}
	return tools.Output{Data: out, Summary: fmt.Sprintf("%d of %d characters", utf8.RuneCountInString(out.Text), out.Characters)}, nil
}

// fit is how much of s a result takes; at least its first cluster, unless that alone is larger than a result may be.
func fit(s string) int {
	n, _ := tools.Fit(s, maxRead)
	if n == 0 && s != "" {
		// A cluster of more than a thousand marks: characters of it have to do.
		for i := range s {
			if i > maxRead/8 {
				return i
			}
		}
	}
	return n
}

func firstCluster(s string) string {
	it := graphemes.FromString(s)
	if it.Next() {
		return it.Value()
	}
	return ""
}

func readLines(handle, content string, in artifactIn) (tools.Output, error) {
	out := artifactOut{Handle: handle, Characters: utf8.RuneCountInString(content), Lines: lineCount(content), Unit: "lines", Offset: in.Offset}
	if in.Offset >= out.Lines && in.Offset > 0 {
		return tools.Output{}, beyond(in, out.Lines, "lines")
	}
	line, start := 0, 0
	var b strings.Builder
	room := maxRead
	for l := range strings.Lines(content) {
		if line >= in.Offset {
			n, cost := tools.Fit(l, room)
			if n < len(l) {
				if b.Len() == 0 { // one line that is too long by itself
					n = fit(l)
					b.WriteString(l[:n])
					goOn := utf8.RuneCountInString(content[:start+n])
					out.CutAt = &goOn
					line++
				}
				break
			}
			b.WriteString(l)
			room -= cost
			if line++; in.Limit > 0 && line-in.Offset >= in.Limit {
				break
			}
		} else {
			line++
		}
		start += len(l)
	}
	out.Text = b.String()
	if line < out.Lines {
		out.Next = &line
	}
	return tools.Output{Data: out, Summary: fmt.Sprintf("%d of %d lines", line-in.Offset, out.Lines)}, nil
}

func searchArtifact(handle, content string, in artifactIn) (tools.Output, error) {
	re, err := regexp.Compile("(?i)" + regexp.QuoteMeta(in.Search))
	if err != nil {
		return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "search", Message: "this text cannot be searched for"}
	}
	out := artifactHits{Handle: handle, Characters: utf8.RuneCountInString(content), Lines: lineCount(content), Hits: []artifactHit{}}
	start := charAt(content, in.Offset) // within a cluster too: what goes on behind a hit must not find it again
	all := re.FindAllStringIndex(content[start:], maxFound)
	out.Found, out.AtLeast = len(all), len(all) == maxFound
	most := mostHits
	if in.Limit > 0 {
		most = min(most, in.Limit)
	}
	shown := all[:min(len(all), most)]
	for i := range shown {
		shown[i][0] += start
		shown[i][1] += start
	}
	room := maxRead
	chars, lines, last := 0, 0, 0
	for i, x := range excerpts(content, shown) {
		chars += utf8.RuneCountInString(content[last:shown[i][0]])
		lines += strings.Count(content[last:shown[i][0]], "\n")
		last = shown[i][0]
		text := content[x.start:x.end]
		n, cost := tools.Fit(text, room)
		if n < len(text) && len(out.Hits) > 0 {
			break
		}
		text = text[:n]
		room -= cost + hitFrame
		out.Hits = append(out.Hits, artifactHit{Offset: chars, Line: lines, Excerpt: text})
	}
	if len(out.Hits) < out.Found {
		next := out.Hits[len(out.Hits)-1].Offset + 1
		out.Next = &next
	}
	return tools.Output{Data: out, Summary: fmt.Sprintf("%d found", out.Found)}, nil
}

type excerpt struct{ start, end int }

// excerpts gives for each hit, in their order, the text around it, cut between clusters.
func excerpts(s string, hits [][]int) []excerpt {
	out := make([]excerpt, len(hits))
	if len(hits) == 0 {
		return out
	}
	var ring [hitClusters]int // where the last clusters began
	count, next := 0, 0
	type open struct{ hit, left int }
	var waiting []open
	i := 0
	for it := graphemes.FromString(s); it.Next(); count++ {
		end := i + len(it.Value())
		for next < len(hits) && hits[next][0] < end {
			out[next] = excerpt{start: i, end: len(s)}
			if count > 0 {
				out[next].start = ring[max(0, count-hitClusters)%hitClusters]
			}
			waiting = append(waiting, open{next, hitClusters})
			next++
		}
		kept := waiting[:0]
		for _, w := range waiting {
			if end >= hits[w.hit][1] {
				if w.left--; w.left < 0 {
					out[w.hit].end = end
					continue
				}
			}
			kept = append(kept, w)
		}
		waiting = kept
		ring[count%hitClusters] = i
		i = end
		if next == len(hits) && len(waiting) == 0 {
			break
		}
	}
	return out
}
