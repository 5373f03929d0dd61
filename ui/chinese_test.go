package ui

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vitrine/ui/words"
)

// chineseScreens are the golden screens of all plays in Chinese, as text. On none of them stand two English words in a row that are
// no data, and each row has exactly the screen's width.
type chineseScreens struct {
	shots map[string]map[[2]int]string
	data  map[string]bool // pairs of words that the plays and the offline model bring
}

var chineseDir = filepath.Join("testdata", "chinese")

func chineseSizes() [][2]int { return [][2]int{{80, 24}, {40, 12}} }

// speak gives a play the language of its stage.
func (s *stage) speak(o *Options) {
	if s.zh != nil {
		o.Lang = words.Chinese
	}
}

func TestGoldenScreensInChinese(t *testing.T) {
	zh := &chineseScreens{shots: map[string]map[[2]int]string{}, data: pairsOfData(t)}
	all := plays()
	for _, size := range chineseSizes() {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			t.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], name), func(t *testing.T) {
				all[name](&stage{T: t, w: size[0], h: size[1], zh: zh})
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(zh.shots)) {
		zh.compare(t, name)
	}
	files, err := os.ReadDir(chineseDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".txt"); zh.shots[name] == nil && len(zh.shots) > 80 { // with -run a part of them is missing
			path := filepath.Join(chineseDir, f.Name())
			if !*update {
				t.Errorf("nothing shows %s any more", path)
			} else if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c *chineseScreens) shot(s *stage, d *driver, name string) {
	s.Helper()
	d.paint()
	content := d.m.View().Content
	for y, row := range strings.Split(content, "\n") {
		if n := d.m.env.style.Metrics.Width(row); n != s.w {
			s.Errorf("%s: row %d is %d cells wide, not %d: %q", name, y, n, s.w, row)
		}
	}
	text := textOf(cells(d))
	for _, run := range c.english(text) {
		s.Errorf("%s: %q is English and no data:\n%s", name, run, text)
	}
	if c.shots[name] == nil {
		c.shots[name] = map[[2]int]string{}
	}
	c.shots[name][[2]int{s.w, s.h}] = text + "--\n" + cursorWord(d.m.View())
}

// english finds words in a row that no play brought. A word that is cut, by a sign or a dialog, is one that begins or ends so.
func (c *chineseScreens) english(text string) (found []string) {
	for row := range strings.Lines(text) {
		before := ""
		for _, word := range strings.Split(strings.TrimRight(row, "\n"), " ") {
			plain := strings.ToLower(strings.TrimRight(word, ",.;:?!"))
			if !wholeWord.MatchString(plain) {
				before = ""
				continue
			}
			if before != "" && !c.brought(before, plain) {
				found = append(found, before+" "+plain)
			}
			if before = plain; strings.ContainsAny(word, ".:;?!") {
				before = "" // what follows is another sentence
			}
		}
	}
	return found
}

func (c *chineseScreens) brought(one, two string) bool {
	if c.data[one+" "+two] {
		return true
	}
	for p := range c.data {
		if a, b, _ := strings.Cut(p, " "); strings.HasSuffix(a, one) && strings.HasPrefix(b, two) {
			return true
		}
	}
	return false
}

func (c *chineseScreens) compare(t *testing.T, name string) {
	t.Helper()
	var b strings.Builder
	for _, size := range chineseSizes() {
		text, ok := c.shots[name][size]
		if !ok {
			return // some were left out
		}
		fmt.Fprintf(&b, "== %dx%d\n%s", size[0], size[1], text)
	}
	path := filepath.Join(chineseDir, name+".txt")
	if *update {
		if err := os.MkdirAll(chineseDir, 0o755); err != nil {
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
	if string(want) != b.String() {
		t.Errorf("%s differs (-want +got):\n%s", path, diffLines(string(want), b.String()))
	}
}

var (
	oneWord   = regexp.MustCompile(`[A-Za-z]{2,}`)
	wholeWord = regexp.MustCompile(`^[a-z]{2,}$`)
)

// pairs are the words of a text, two by two, in lower case.
func pairs(text string) (out []string) {
	all := oneWord.FindAllString(strings.ToLower(text), -1)
	for i := range len(all) - 1 {
		out = append(out, all[i]+" "+all[i+1])
	}
	return out
}

// pairsOfData are those of what the plays type and answer, of the offline model and of what goes to models.
func pairsOfData(t *testing.T) map[string]bool {
	t.Helper()
	data := map[string]bool{"your favourite": true} // the offline model puts it together
	files := []string{"scenes_test.go", "fake_test.go", "fold_test.go", "driver_test.go"}
	offline, err := filepath.Glob("../llm/offline/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, offline...) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				for _, p := range pairs(text) {
					data[p] = true
				}
			}
			return true
		})
	}
	err = filepath.WalkDir("../assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, p := range pairs(string(text)) {
			data[p] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The check finds English, and lets data be.
func TestChineseScreensSeeEnglish(t *testing.T) {
	c := &chineseScreens{data: map[string]bool{"deploy plan": true}}
	if got := c.english("❯1 deploy plan   就绪   Esc 关闭   Ctrl+P 命令\n需要 needs you\n"); !slices.Equal(got, []string{"needs you"}) {
		t.Errorf("%q", got)
	}
}
