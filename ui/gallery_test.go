package ui

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"vitrine/runtime"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/paint/termtest"
	"vitrine/ui/theme"
)

// gallery holds the golden screens: what the plays of scenes_test.go show, at each size. A shot is kept as text and, for its colours,
// as the roles and grounds of its cells, which are the same in each look. Each is painted by our painter over those before it and
// by Bubble Tea's renderer, in the dark and in the light, and both must give the cells that it would have painted whole.
type gallery struct {
	shots  map[string]map[[2]int]string
	seen   map[string]bool // what of the registrations was on a screen
	film   map[[2]int][]tea.View
	plays  int // that came to their end
	themes map[theme.Options]*theme.Theme
	// An old terminal, and our painter for it.
	old     *termtest.Terminal
	painter *paint.Painter
}

// galleryDir holds a file for each shot.
var galleryDir = filepath.Join("testdata", "screens")

// gallerySizes are those of the golden screens.
func gallerySizes() [][2]int { return [][2]int{{200, 50}, {120, 36}, {80, 24}, {40, 12}} }

// A stage is where a play is given.
type stage struct {
	*testing.T
	g    *gallery
	w, h int
	zh   *chineseScreens // in place of g for screens in Chinese
}

func (s *stage) driver(change ...func(*Options, *fake)) *driver {
	d := newDriver(s.T, s.w, s.h, append(slices.Clone(change), func(o *Options, _ *fake) { s.speak(o) })...)
	d.frames = d.straight
	return d
}

func TestGoldenScreens(t *testing.T) {
	g := &gallery{shots: map[string]map[[2]int]string{}, seen: map[string]bool{}, film: map[[2]int][]tea.View{}, themes: map[theme.Options]*theme.Theme{}}
	all := plays()
	for _, size := range gallerySizes() {
		if testing.Short() && size[0] != 40 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			t.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], name), func(t *testing.T) {
				all[name](&stage{T: t, g: g, w: size[0], h: size[1]})
				g.plays++
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.shots)) {
		g.compare(t, name)
	}
	if g.plays == len(all)*len(gallerySizes()) {
		g.orphans(t)
		g.complete(t)
	}
	for size, film := range g.film {
		t.Run(fmt.Sprintf("stock/%dx%d", size[0], size[1]), func(t *testing.T) { stockShows(t, size[0], size[1], film) })
	}
}

// shot takes the screen of now under a name.
func (s *stage) shot(d *driver, name string) {
	s.Helper()
	if s.zh != nil {
		s.zh.shot(s, d, name)
		return
	}
	g, size := s.g, [2]int{s.w, s.h}
	d.paint()
	if g.shots[name] == nil {
		g.shots[name] = map[[2]int]string{}
	}
	if _, twice := g.shots[name][size]; twice {
		s.Fatalf("two shots are called %q", name)
	}
	dark, view := cells(d), d.m.View()
	text, names := textOf(dark), nameStyles(s.T, d.m.env.style.Theme, dark)
	g.shots[name][size] = text + "--\n" + cursorWord(view) + styleRows(names)
	g.note(d)
	g.film[size] = append(g.film[size], view)
	looks := []string{"light"}
	if size == [2]int{120, 36} {
		looks = []string{"light", "contrast", "sixteen", "none"}
	}
	for _, look := range looks {
		s.look(d, look)
		d.paint()
		lines := cells(d)
		if got := textOf(lines); got != text {
			s.Errorf("%s, %s: the text is another (-dark +%s):\n%s", name, look, look, diffLines(text, got))
		}
		switch look {
		case "light", "contrast":
			th := d.m.env.style.Theme
			if y, x, want, got := otherStyle(th, names, lines); y >= 0 {
				s.Errorf("%s, %s: the cell at %d,%d has the style %q, %v would have %q", name, look, x, y, got, names[y][x], want)
			}
		case "none":
			if m := colourSequence.FindString(d.m.View().Content); m != "" {
				s.Errorf("%s: without colours %+q is written", name, m)
			}
		}
		if look == "light" {
			g.film[size] = append(g.film[size], d.m.View())
		}
	}
	if size == [2]int{80, 24} {
		s.onOld(d, name)
	}
	s.look(d, "dark")
}

// onOld paints the screen over those before it on an old terminal: without colours, in ASCII but for what was said, counted code point
// by code point. It knows all that it is written, and shows what painting it whole would show.
func (s *stage) onOld(d *driver, name string) {
	s.Helper()
	o := d.m.env.style.Theme.Options()
	o.Name, o.Profile, o.ASCII, o.NoLinks = theme.Dark, colorprofile.ASCII, true, true
	if s.g.themes[o] == nil {
		s.g.themes[o] = theme.New(o)
	}
	th, metrics := d.m.env.style.Theme, d.m.env.style.Metrics
	d.m.env.style.Theme, d.method = s.g.themes[o], ansi.WcWidth
	d.m.env.metrics(paint.Metrics{})
	d.m.restyle()
	d.frame()
	if s.g.old == nil {
		s.g.old = termtest.New(termtest.Config{W: s.w, H: s.h, Old: true, Shows: true, Wc: true})
		s.g.painter = paint.NewPainter(paint.PainterConfig{Profile: colorprofile.ASCII, Old: true, Plain: true})
		s.g.painter.Resize(s.w, s.h)
	}
	v := d.m.View()
	_, _ = s.g.old.Write(s.g.painter.Frame(v))
	if bad := differs(repaint(v.Content, s.w, s.h, ansi.WcWidth), s.g.old.CellAt); bad != "" {
		s.Errorf("%s on an old terminal: %s", name, bad)
	}
	if u := s.g.old.Unknown(); len(u) > 0 {
		s.Errorf("%s: the old terminal does not know %v", name, u)
	}
	d.m.env.style.Theme, d.method = th, ansi.GraphemeWidth
	d.m.env.metrics(metrics)
	d.m.restyle()
	d.frame()
}

// look puts on another set of colours.
func (s *stage) look(d *driver, name string) {
	profile, look := colorprofile.TrueColor, theme.Name(name)
	switch name {
	case "sixteen":
		profile, look = colorprofile.ANSI, theme.Dark
	case "none":
		profile, look = colorprofile.ASCII, theme.Dark
	}
	o := d.m.env.style.Theme.Options()
	o.Name, o.Profile = look, profile
	if s.g.themes[o] == nil { // themes are dear to make
		s.g.themes[o] = theme.New(o)
	}
	d.m.env.style.Theme = s.g.themes[o]
	d.m.restyle()
	d.frame()
}

// cells is the screen of now as the library draws it.
func cells(d *driver) []uv.Line { return repaint(d.m.View().Content, d.w, d.h, d.method).Lines }

func textOf(lines []uv.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return b.String()
}

// named is the style of a cell by what it means.
type named struct {
	role  theme.Role
	bg    theme.Bg
	bold  bool
	extra uint8 // attributes that Markdown added
	under bool
	none  bool // nothing was written there
	blank bool // only the ground is seen
}

func (n named) String() string {
	if n.none {
		return "none"
	}
	word := [...]string{"rule", "faint", "text", "strong", "accent", "warn", "error"}[n.role] + [...]string{"", ".panel", ".raised", ".row"}[n.bg]
	for _, a := range []struct {
		on   bool
		sign string
	}{{n.bold, "*"}, {n.extra&uv.AttrItalic != 0, "/"}, {n.extra&uv.AttrStrikethrough != 0, "-"}, {n.extra&uv.AttrReverse != 0, "!"}, {n.under, "_"}} {
		if a.on {
			word += a.sign
		}
	}
	return word
}

const markdownAttrs = uv.AttrItalic | uv.AttrStrikethrough | uv.AttrReverse

// plainStyle leaves out of a style what Markdown adds.
func plainStyle(s uv.Style) uv.Style {
	s.Attrs &^= markdownAttrs
	s.Underline, s.UnderlineColor = uv.UnderlineNone, nil
	return s
}

// styleOf is how a theme writes a role on a ground.
func styleOf(th *theme.Theme, n named) uv.Style {
	if n.none {
		return uv.Style{}
	}
	s := uv.NewStyledString(th.Paint(n.role, n.bg, n.bold, "x")).Lines(0)[0][0].Style
	s.Attrs |= n.extra
	if n.under {
		s.Underline = uv.UnderlineSingle
	}
	return s
}

// nameStyles finds the role and the ground of each cell.
func nameStyles(t *testing.T, th *theme.Theme, lines []uv.Line) [][]named {
	t.Helper()
	known := map[uv.Style]named{{}: {none: true}}
	for r := theme.Error; ; r-- {
		for bg := theme.OnRow; ; bg-- {
			for _, bold := range []bool{true, false} {
				n := named{role: r, bg: bg, bold: bold}
				known[styleOf(th, n)] = n
			}
			if bg == theme.OnBase {
				break
			}
		}
		if r == theme.Rule {
			break
		}
	}
	names := make([][]named, len(lines))
	for y, l := range lines {
		names[y] = make([]named, len(l))
		for x := range l {
			if l[x].Width == 0 {
				names[y][x] = names[y][max(x-1, 0)]
				continue
			}
			n, ok := known[plainStyle(l[x].Style)]
			if !ok {
				t.Fatalf("the cell %q at %d,%d has the style %q, which no role has", l[x].Content, x, y, l[x].Style.String())
			}
			n.extra, n.under = l[x].Style.Attrs&markdownAttrs, l[x].Style.Underline != uv.UnderlineNone
			n.blank = l[x].Content == " " && n.extra&uv.AttrStrikethrough == 0 && !n.under
			names[y][x] = n
		}
	}
	return names
}

// otherStyle finds a cell that another look does not write by its role and ground.
func otherStyle(th *theme.Theme, names [][]named, lines []uv.Line) (y, x int, want, got string) {
	memo := map[named]uv.Style{}
	for y, row := range names {
		for x, n := range row {
			if lines[y][x].Width == 0 {
				continue
			}
			style, ok := memo[n]
			if !ok {
				style = styleOf(th, n)
				memo[n] = style
			}
			got := lines[y][x].Style
			if !style.Equal(&got) {
				return y, x, style.String(), got.String()
			}
		}
	}
	return -1, 0, "", ""
}

// styleRows writes the roles of a screen: how many cells of each, row by row; rows that are alike are one.
func styleRows(names [][]named) string {
	var b strings.Builder
	last, from := "", 0
	flush := func(to int) {
		switch {
		case last == "":
		case to == from:
			fmt.Fprintf(&b, "%d  %s\n", from, last)
		default:
			fmt.Fprintf(&b, "%d-%d  %s\n", from, to, last)
		}
	}
	for y, row := range names {
		var parts []string
		n := 0
		now := named{none: true}
		for x, c := range row {
			if c.blank && x > 0 && c.bg == now.bg && now.none == c.none && !now.under {
				c = now // its letters' colour is not seen
			}
			c.blank = false
			if x > 0 && c != now {
				parts = append(parts, fmt.Sprintf("%d %v", n, now))
				n = 0
			}
			now = c
			n++
		}
		if text := strings.Join(append(parts, fmt.Sprintf("%d %v", n, now)), ", "); text != last {
			flush(y - 1)
			last, from = text, y
		}
	}
	flush(len(names) - 1)
	return b.String()
}

func cursorWord(v tea.View) string {
	if v.Cursor == nil {
		return "no cursor\n"
	}
	return fmt.Sprintf("cursor %d,%d\n", v.Cursor.X, v.Cursor.Y)
}

func diffLines(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

// compare holds a shot against its file.
func (g *gallery) compare(t *testing.T, name string) {
	t.Helper()
	var b strings.Builder
	for _, size := range gallerySizes() {
		if text, ok := g.shots[name][size]; ok {
			fmt.Fprintf(&b, "== %dx%d\n%s", size[0], size[1], text)
		}
	}
	path := filepath.Join(galleryDir, name+".txt")
	whole := len(g.shots[name]) == len(gallerySizes())
	if *update && whole {
		if err := os.MkdirAll(galleryDir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v; run with -update", err)
		return
	}
	if !whole { // some sizes were left out
		for size, text := range g.shots[name] {
			if !strings.Contains(string(want), fmt.Sprintf("== %dx%d\n%s", size[0], size[1], text)) {
				t.Errorf("%s differs at %v", path, size)
			}
		}
		return
	}
	if string(want) != b.String() {
		t.Errorf("%s differs (-want +got):\n%s", path, diffLines(string(want), b.String()))
	}
}

// orphans finds files that no play makes any more; -update takes them away.
func (g *gallery) orphans(t *testing.T) {
	t.Helper()
	files, err := os.ReadDir(galleryDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".txt"); g.shots[name] != nil {
			continue
		}
		path := filepath.Join(galleryDir, f.Name())
		if !*update {
			t.Errorf("nothing shows %s any more", path)
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// note keeps what of the registrations is on the screen.
func (g *gallery) note(d *driver) {
	p := d.m.page()
	if p.dialog != nil {
		g.seen["dialog "+reflect.Indirect(reflect.ValueOf(p.dialog)).FieldByName("kind").String()] = true
	}
	g.seen["question "+constants("question")[p.question()]] = true
	g.seen["pane "+constants("pane")[p.focus]] = true
	g.seen["state "+string(p.run.state)] = true
	for _, p := range d.m.pages {
		g.seen["mark "+constants("tabMark")[p.mark()]] = true
	}
	for _, b := range banners() {
		b.rows(p, d.m.notices, func([]line.Span, ...line.Span) { g.seen["banner "+b.name] = true })
	}
}

// complete wants each dialog, question, pane, mark, state and banner of the program on a golden screen.
func (g *gallery) complete(t *testing.T) {
	t.Helper()
	var all []string
	for _, k := range constants("dialog.Kind") {
		all = append(all, "dialog "+k)
	}
	for _, q := range constants("question")[1:] {
		all = append(all, "question "+q)
	}
	for _, p := range constants("pane") {
		if p != "paneNone" {
			all = append(all, "pane "+p)
		}
	}
	for _, m := range constants("tabMark") {
		all = append(all, "mark "+m)
	}
	for _, s := range runtime.States() {
		all = append(all, "state "+string(s))
	}
	for _, b := range banners() {
		all = append(all, "banner "+b.name)
	}
	if len(all) < 50 {
		t.Errorf("only %d things are registered: %q", len(all), all)
	}
	for _, what := range all {
		if !g.seen[what] {
			t.Errorf("no golden screen shows the %s: add it to a play in scenes_test.go", what)
		}
	}
}

// constants lists the constants of a type as the source declares them: their values when they are strings, else their names.
func constants(of string) []string { return declarations()[of] }

// declarations are the typed constants of the package, by type, in order.
var declarations = sync.OnceValue(func() map[string][]string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		panic(err)
	}
	declared := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		for _, d := range f.Decls {
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.CONST {
				declare(declared, gen)
			}
		}
	}
	return declared
})

func declare(declared map[string][]string, gen *ast.GenDecl) {
	kind := ""
	for _, spec := range gen.Specs {
		v := spec.(*ast.ValueSpec)
		switch typ := v.Type.(type) {
		case nil:
			if len(v.Values) > 0 {
				kind = ""
			}
		case *ast.Ident:
			kind = typ.Name
		case *ast.SelectorExpr:
			kind = fmt.Sprintf("%v.%s", typ.X, typ.Sel.Name)
		}
		if kind == "" {
			continue
		}
		word := v.Names[0].Name
		if len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				word = strings.Trim(lit.Value, `"`)
			}
		}
		declared[kind] = append(declared[kind], word)
	}
}
