package words

import "strings"

// Table is all translations, Told the formats of what other parts tell.
func Table() map[Text]string { return chinese() }

// Told is the table of formats.
func Told() map[string]string { return toldTable() }

// Plain is a text without its verbs and its note.
func Plain(s string) string {
	s, _, _ = strings.Cut(s, note)
	return verbs.ReplaceAllString(s, "")
}

// Filled is a format with something in the places of its verbs.
func Filled(s string) string {
	return verbs.ReplaceAllStringFunc(s, func(v string) string {
		switch v[len(v)-1] {
		case '%':
			return "%"
		case 'd':
			return "7"
		}
		return "x"
	})
}

// Pieces are the literal parts of a format.
func Pieces(s string) []string { return verbs.Split(s, -1) }

// Verbs is how many arguments a format takes.
func Verbs(s string) int { return len(arguments(s)) }
