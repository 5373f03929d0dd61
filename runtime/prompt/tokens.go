package prompt

import (
	"unicode"
	"unicode/utf8"

	"vitrine/llm"
)

// Fixed costs of the wire format, in tokens.
const (
	messageOverhead = 4
	callOverhead    = 8
	toolOverhead    = 10
)

// Estimate is our own count of s in tokens. It looks at scripts: Latin words, digits, punctuation and spaces cost by the
// run, Han, kana and Hangul by the character. It is one pass without allocation and safe on any bytes.
func Estimate(s string) int {
	var sixths int // of a token, so that it stays in integers
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			sixths += runeCost(r)
			i += n
			continue
		}
		j := i + 1
		switch asciiKinds[c] {
		case asciiLetter:
			for j < len(s) && asciiKinds[s[j]] == asciiLetter {
				j++
			}
			sixths += wordCost(j - i)
		case asciiDigit:
			for j < len(s) && asciiKinds[s[j]] == asciiDigit {
				j++
			}
			sixths += (j - i + 2) / 3 * 6
		case asciiSpace:
			for j < len(s) && s[j] == c {
				j++
			}
			sixths += spaceCost(c, j-i)
		default:
			for j < len(s) && j-i < 3 && asciiKinds[s[j]] == asciiPunct {
				j++
			}
			sixths += 5
		}
		i = j
	}
	return (sixths + 5) / 6
}

const (
	asciiPunct = iota
	asciiLetter
	asciiDigit
	asciiSpace
	notASCII
)

// asciiKinds is the kind of each byte. It is immutable.
var asciiKinds = func() (kinds [256]uint8) {
	for c := range kinds {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			kinds[c] = asciiLetter
		case c >= '0' && c <= '9':
			kinds[c] = asciiDigit
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			kinds[c] = asciiSpace
		case c >= utf8.RuneSelf:
			kinds[c] = notASCII
		}
	}
	return kinds
}()

// wordCost: a common word with its leading space is one token up to about seven letters, then one more for each four.
func wordCost(n int) int {
	if n <= 7 {
		return 6
	}
	return 6 + (n-4)/4*6
}

// spaceCost: one space belongs to the next word; more of them, and line breaks, make a token of their own.
func spaceCost(c byte, n int) int {
	switch {
	case c == ' ' && n == 1:
		return 0
	case c == '\n':
		return 4
	}
	return 5
}

func runeCost(r rune) int {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF:
		return 5
	case r >= 0x3040 && r <= 0x30FF:
		return 4
	case r >= 0xAC00 && r <= 0xD7A3:
		return 4
	case r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF:
		return 6
	case unicode.IsLetter(r):
		return 3
	case r == utf8.RuneError:
		return 12
	case r >= 0x1F000:
		return 12
	}
	return 6
}

// EstimateMessage counts a message with the wire's overhead.
func EstimateMessage(m llm.Message) int {
	n := messageOverhead + Estimate(m.Content)
	for _, c := range m.ToolCalls {
		n += callOverhead + Estimate(c.Name) + Estimate(c.Arguments)
	}
	return n
}

// EstimateTools counts the schemas that stand in every request.
func EstimateTools(specs []llm.ToolSpec) int {
	n := 0
	for _, t := range specs {
		n += toolOverhead + Estimate(t.Name) + Estimate(t.Description) + Estimate(string(t.Schema))
	}
	return n
}

// Bounds of the ratio between a report and our estimate; outside of them the report is not believed.
const (
	minRatio = 0.6
	maxRatio = 1.8
	// maxJump is how far a report may lie from the ones before; farther ones count when the next agrees.
	maxJump = 1.25
)

// Counter is the one count of a session's context: the last believed report plus k times the estimate of what came since.
// It is not safe for concurrent use.
type Counter struct {
	k        float64
	anchor   int // reported input of the request at the anchor
	estimate int // our estimate of that same request
	anchored bool
	odd      float64 // the ratio of the last report, when it jumped; 0 for none
}

// Count is the context's size in tokens for a request that we estimate at estimate; estimated is false when a report
// stands behind it.
func (c *Counter) Count(estimate int) (tokens int, estimated bool) {
	if !c.anchored {
		return int(float64(estimate)*c.factor() + 0.5), true
	}
	n := float64(c.anchor) + c.factor()*float64(estimate-c.estimate)
	return max(0, int(n+0.5)), false
}

// Estimated is the opposite of Count: the estimate at which a request has that many tokens.
func (c *Counter) Estimated(tokens int) int {
	if !c.anchored {
		return int(float64(tokens)/c.factor() + 0.5)
	}
	return max(0, c.estimate+int(float64(tokens-c.anchor)/c.factor()+0.5))
}

// Report takes in what the provider counted for a request that we estimated at estimate. It says whether it was believed.
func (c *Counter) Report(reported, estimate int) bool {
	if reported <= 0 || estimate <= 0 {
		return false
	}
	ratio := float64(reported) / float64(estimate)
	if ratio < minRatio || ratio > maxRatio {
		return false
	}
	switch {
	case c.k == 0:
		c.k = ratio
	case near(ratio, c.k):
		c.k += (ratio - c.k) * 0.3
	case c.odd > 0 && near(ratio, c.odd):
		c.k = ratio // two in a row: the context is of another kind now
	default:
		c.odd = ratio
		return false
	}
	c.odd = 0
	c.anchor, c.estimate, c.anchored = reported, estimate, true
	return true
}

func near(a, b float64) bool { return a < b*maxJump && b < a*maxJump }

// Drop forgets the anchor: after a fold or a change of model the last report says nothing of the next request. The ratio
// is forgotten too when the model changed.
func (c *Counter) Drop(model bool) {
	c.anchored = false
	if model {
		c.k, c.odd = 0, 0
	}
}

// Factor is the ratio of the reports to our estimates, 1 without reports.
func (c *Counter) Factor() float64 { return c.factor() }

func (c *Counter) factor() float64 {
	if c.k == 0 {
		return 1
	}
	return c.k
}
