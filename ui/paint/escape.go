package paint

import "unicode/utf8"

// SkipControl gives the end of the control character or escape sequence that starts at i. A string sequence (OSC, DCS, SOS,
// PM, APC) ends with its terminator; one that does not end on its line loses its introducer only, so that nothing can hide
// the rest of a text.
func SkipControl(s string, i int) int {
	b := s[i]
	if b == 0x1b {
		return skipEscape(s, i+1)
	}
	if b != 0xc2 || i+1 >= len(s) {
		return i + 1
	}
	switch s[i+1] { // C1, as UTF-8
	case 0x9b:
		return skipCSI(s, i+2)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		return skipString(s, i+2)
	}
	return i + 2
}

func skipEscape(s string, i int) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '[':
		return skipCSI(s, i+1)
	case 'P', 'X', ']', '^', '_':
		return skipString(s, i+1)
	}
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		i++
	}
	return i
}

func skipCSI(s string, i int) int {
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		i++
	}
	return i
}

func skipString(s string, i int) int {
	for j := i; j < len(s); {
		switch b := s[j]; {
		case b == 0x07:
			return j + 1
		case b == 0x1b:
			if j+1 < len(s) && s[j+1] == '\\' {
				return j + 2
			}
			return j
		case b == '\n' || b == '\r':
			return i
		case b < 0x20 && b != '\t':
			return j
		case b < utf8.RuneSelf:
			j++
		default:
			r, n := utf8.DecodeRuneInString(s[j:])
			switch {
			case r == 0x9c:
				return j + n
			case r >= 0x80 && r < 0xa0:
				return j
			case r == 0x2028 || r == 0x2029:
				return i
			}
			j += n
		}
	}
	return i
}
