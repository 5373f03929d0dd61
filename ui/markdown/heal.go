package markdown

import "strings"

// undecided says that a line shows nothing of meaning yet: a marker alone, the first of three fence signs, or a line under a
// paragraph that may turn it into a heading.
func undecided(line string) bool {
	if line == "" {
		return false
	}
	switch b := line[0]; b {
	case '`', '~', '#', '=', '*', '+', '>', '-', '_':
		n := run(line, b)
		return n == len(line) && !(b == '`' || b == '~') || n == len(line) && n < 3 || b == '#' && n <= 6 && strings.TrimSpace(line[n:]) == ""
	}
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return n > 0 && (n == len(line) && n <= 3 || n+1 == len(line) && (line[n] == '.' || line[n] == ')'))
}

// heal completes what the end of an open chunk leaves half done, so that it renders as it will when the rest is there.
func heal(src string) string {
	if t, ok := healTable(src); ok {
		return t
	}
	// Only the last paragraph can be open.
	start := strings.LastIndex(src, "\n\n") + 1
	head, last := src[:max(start, 0)], src[max(start, 0):]
	return head + healInline(last)
}

// healTable holds back a table until its second line is whole, and then each row until it is.
func healTable(src string) (string, bool) {
	text := strings.TrimLeft(src, " ")
	if !strings.HasPrefix(text, "|") {
		return src, false
	}
	i := strings.IndexByte(text, '\n')
	if i < 0 {
		return "", true
	}
	second := text[i+1:]
	j := strings.IndexByte(second, '\n')
	if j < 0 {
		if strings.Trim(second, "|:- \t") == "" {
			return "", true
		}
		return src, false
	}
	if strings.Trim(second[:j], "|:- \t") != "" {
		return src, false
	}
	return src[:strings.LastIndexByte(src, '\n')+1], true
}

// sign is a run of emphasis signs that is not closed yet.
type sign struct {
	run string
	at  int
}

// healInline closes emphasis, code and links at the end of a paragraph, or leaves out a sign that nothing follows yet.
func healInline(s string) string {
	s = strings.TrimRight(s, "\n")
	var open []sign // innermost last
	link := -1
	for i := 0; i < len(s); {
		switch b := s[i]; b {
		case '\\':
			i += 2
			continue
		case '`':
			n := run(s[i:], '`')
			end := closingRun(s[i+n:], s[i:i+n])
			if end < 0 {
				if i+n == len(s) {
					return strip(s[:i], open)
				}
				return s + s[i:i+n] + closeAll(open)
			}
			i += n + end + n
			continue
		case '*', '_', '~':
			i = toggle(s, i, run(s[i:], b), &open)
			continue
		case '[':
			link = i
		case ']':
			if link < 0 {
				break
			}
			if i+1 == len(s) {
				return unlink(s, link, i, open)
			}
			if s[i+1] == '(' {
				end := strings.IndexByte(s[i+2:], ')')
				if end < 0 && !strings.ContainsAny(s[i+2:], " \n") {
					return unlink(s, link, i, open)
				}
				if end >= 0 {
					i += 2 + end
				}
			}
			link = -1
		}
		i++
	}
	if link >= 0 && !strings.Contains(s[link:], "\n") {
		return unlink(s, link, len(s), open)
	}
	return strip(s, open)
}

// unlink leaves out the bracket at link and all from end on; next to nothing between them is perhaps a task's box.
func unlink(s string, link, end int, open []sign) string {
	if end-link <= 2 {
		for len(open) > 0 && open[len(open)-1].at >= link {
			open = open[:len(open)-1]
		}
		return strip(s[:link], open)
	}
	for i := range open {
		if open[i].at > link {
			open[i].at--
		}
	}
	return strip(s[:link]+s[link+1:end], open)
}

// toggle notes a run of emphasis signs as opened or closed and gives where to go on.
func toggle(s string, i, n int, open *[]sign) int {
	b := s[i]
	end := i + n
	if b == '~' && n != 2 || n > 3 {
		return end
	}
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	if end < len(s) {
		after = s[end]
	}
	if b == '_' && wordByte(before) && wordByte(after) {
		return end
	}
	if k := len(*open); k > 0 && (*open)[k-1].run == s[i:end] && !white(before) {
		*open = (*open)[:k-1]
		return end
	}
	if operator(b, before) {
		return end
	}
	if end == len(s) || !white(after) && (b != '_' || !wordByte(before)) {
		*open = append(*open, sign{s[i:end], i})
	}
	return end
}

// operator says that a sign behind this byte is more likely one of arithmetic, as in (17+5)*3 or 2**3: it opens nothing
// before it is closed. Scripts without blanks between words are left out of this.
func operator(sign, before byte) bool {
	return sign != '_' && (before == ')' || before == ']' || before < 0x80 && wordByte(before))
}

// strip leaves out signs at the very end and closes the rest.
func strip(s string, open []sign) string {
	for len(open) > 0 {
		last := open[len(open)-1]
		if from := last.at + len(last.run); from < len(s) && strings.TrimSpace(s[from:]) != "" {
			break
		}
		s, open = s[:min(last.at, len(s))], open[:len(open)-1]
	}
	if len(open) == 0 {
		return s
	}
	// A closing run that is half there: **bold* becomes **bold**.
	inner := open[len(open)-1].run
	if len(inner) > 1 && strings.HasSuffix(s, inner[:1]) && !strings.HasSuffix(s, inner) {
		s = strings.TrimRight(s, inner[:1])
	}
	trimmed := strings.TrimRight(s, " ")
	return trimmed + closeAll(open) + s[len(trimmed):]
}

func closeAll(open []sign) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i].run)
	}
	return b.String()
}

// closingRun finds a run of exactly the fence's length.
func closingRun(s, fence string) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := run(s[i:], '`')
		if n == len(fence) {
			return i
		}
		i += n
	}
	return -1
}

func white(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80
}
