package theme

import (
	"strconv"

	"vitrine/trace"
)

// Unknown stands for a number that nobody reported.
const Unknown = "-"

// Tokens writes a count: 412, 3.1k, 1.2M; an estimate has a ~ before it. Negative is unknown.
func Tokens(n int, estimated bool) string {
	if n < 0 {
		return Unknown
	}
	s := short(n)
	if estimated {
		return "~" + s
	}
	return s
}

// Count writes a whole number with commas: 3,112.
func Count(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func short(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 999_950:
		return scaled(n, 1000, "k")
	}
	return scaled(n, 1_000_000, "M")
}

// scaled writes n in units with one decimal, none when it is 0 in a round number of the thousands (6k, not 6.0k).
func scaled(n, unit int, name string) string {
	if n%unit == 0 {
		return strconv.Itoa(n/unit) + name
	}
	return strconv.FormatFloat(float64(n)/float64(unit), 'f', 1, 64) + name
}

// Money writes US dollars: $0.0012, from one dollar $1.20. nil is unknown.
func Money(f *float64) string {
	if f == nil {
		return Unknown
	}
	return trace.FormatMoney(*f)
}

// Bytes writes a size: 412 B, 1.2 KB, 3.4 MB. Negative is unknown.
func Bytes(n int64) string {
	if n < 0 {
		return Unknown
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, u := range []string{"KB", "MB", "GB"} {
		f /= 1024
		if f < 1023.95 || u == "GB" {
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + u
		}
	}
	return ""
}
