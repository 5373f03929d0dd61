package markdown

import (
	"strings"

	"vitrine/ui/theme"
)

// grammar is what little of a language tells its comments, strings and keywords. Code is set apart in the three neutral
// roles only: colour has another meaning on this screen.
type grammar struct {
	known    bool
	line     []string // what starts a comment to the end of the line
	block    [2]string
	quotes   string // characters that enclose a string on one line
	long     []string
	keywords map[string]bool
	diff     bool
}

// state is what a line of code leaves open for the next one: the text that ends a comment or a string.
type state struct {
	until string
	role  theme.Role
}

const (
	goWords = "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false"
	pyWords = "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False match case"
	jsWords = "async await break case catch class const continue default delete do else enum export extends finally for from function if implements import in instanceof interface let new null of return static super switch this throw true false try type typeof undefined var void while yield"
	shWords = "if then else elif fi for while until do done case esac in function select return exit export local set unset source break continue trap"
	cWords  = "auto bool break case catch char class const constexpr continue default delete do double else enum extern false final float for fn goto if impl import inline int let long loop match mod mut namespace new null nullptr package private protected public pub return self short signed sizeof static struct super switch template this throw trait true try typedef typename union unsigned use using var virtual void volatile where while"
	sqlWord = "select from where and or not null insert into values update set delete create table index primary key foreign references join left right inner outer on group by order having limit offset as distinct union all begin commit rollback with case when then else end in is like"
)

// grammarOf gives the grammar of a fence's language; an unknown one sets nothing apart.
func grammarOf(lang string) grammar {
	c := grammar{known: true, line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`}
	switch lang {
	case "go", "golang":
		c.keywords, c.long = words(goWords), []string{"`"}
	case "js", "javascript", "ts", "typescript", "jsx", "tsx":
		c.keywords, c.long = words(jsWords), []string{"`"}
	case "c", "cpp", "c++", "h", "java", "rust", "rs", "cs", "csharp", "kotlin", "swift", "zig":
		c.keywords = words(cWords)
		if lang == "rust" || lang == "rs" {
			c.quotes = `"`
		}
	case "py", "python":
		return grammar{known: true, line: []string{"#"}, quotes: `"'`, long: []string{`"""`, `'''`}, keywords: words(pyWords)}
	case "sh", "bash", "shell", "zsh", "console", "fish":
		return grammar{known: true, line: []string{"#"}, quotes: `"'`, keywords: words(shWords)}
	case "yaml", "yml", "toml", "ini", "dockerfile", "make", "makefile":
		return grammar{known: true, line: []string{"#"}, quotes: `"'`, keywords: words("true false null yes no")}
	case "json", "jsonc", "json5":
		c.keywords = words("true false null")
	case "sql":
		return grammar{known: true, line: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: `'`, keywords: words(sqlWord + " " + strings.ToUpper(sqlWord))}
	case "diff", "patch":
		return grammar{known: true, diff: true}
	default:
		return grammar{}
	}
	return c
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// tokens divides a line; together the tokens cover it.
func (g grammar) tokens(st *state, line string) []token {
	if !g.known {
		return []token{{len(line), theme.Text}}
	}
	if g.diff {
		return []token{{len(line), diffRole(line)}}
	}
	var out []token
	add := func(end int, role theme.Role) {
		if n := len(out); n > 0 && out[n-1].role == role {
			out[n-1].end = end
		} else {
			out = append(out, token{end, role})
		}
	}
	for i := 0; i < len(line); {
		if st.until != "" {
			j := strings.Index(line[i:], st.until)
			if j < 0 {
				add(len(line), st.role)
				return out
			}
			i += j + len(st.until)
			add(i, st.role)
			st.until = ""
			continue
		}
		end, role := g.next(st, line, i)
		add(end, role)
		i = end
	}
	return out
}

// next gives the token at i.
func (g grammar) next(st *state, line string, i int) (end int, role theme.Role) {
	rest := line[i:]
	for _, c := range g.line {
		// A number sign within a word is no comment.
		if strings.HasPrefix(rest, c) && (c != "#" || i == 0 || line[i-1] == ' ') {
			return len(line), theme.Faint
		}
	}
	if g.block[0] != "" && strings.HasPrefix(rest, g.block[0]) {
		*st = state{g.block[1], theme.Faint}
		return i + len(g.block[0]), theme.Faint
	}
	for _, q := range g.long {
		if strings.HasPrefix(rest, q) {
			*st = state{q, theme.Text}
			return i + len(q), theme.Text
		}
	}
	if strings.IndexByte(g.quotes, rest[0]) >= 0 {
		return quoted(line, i), theme.Text
	}
	n := 0
	for n < len(rest) && (rest[n] == '_' || wordByte(rest[n])) {
		n++
	}
	if n == 0 {
		return i + 1, theme.Text
	}
	if g.keywords[rest[:n]] {
		return i + n, theme.Strong
	}
	return i + n, theme.Text
}

// quoted gives the end of the string that starts at i; one that does not close ends with the line.
func quoted(line string, i int) int {
	for j := i + 1; j < len(line); j++ {
		switch line[j] {
		case '\\':
			j++
		case line[i]:
			return j + 1
		}
	}
	return len(line)
}

func diffRole(line string) theme.Role {
	switch {
	case strings.HasPrefix(line, "+"):
		return theme.Strong
	case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "@@"):
		return theme.Faint
	}
	return theme.Text
}
