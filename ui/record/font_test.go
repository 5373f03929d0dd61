package record

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// usual are signs of the screen, and those that models write often.
const usual = `❯▸▾✓✗⚑◦◉⋯⇥⠋ ←↑→↓↔↕↖↗↘↙↩↪↳↵↺↻⇄⇐⇒⇔⇧⟵⟶⟷➜➤➔⬆⬇ •‣⁃◆◇◈△▲▽▼◎○●◯▪▫■□☐☑☒✘✕✚✦✧❖❤♡☆★⚠
∀∃∅∇∈∉∋∑∏√∛∞∝∠∥∧∨∩∪∫∴∵∼≃≅≈≠≡≤≥≪≫⊂⊃⊆⊇⊕⊗⊥⊢⌈⌉⌊⌋⟨⟩⋅∗×÷±°µ′″ℝℕℤℚℂ½⅓¼⁰¹²³₀₁₂ⁿ €£¥₩₹₽₫₺₴₦₪¢ ℃℉Å№™©®ℹⅠⅣⅹ①②⑩❶❷
⌘⏎⌥⌃⌫⎋⇪ ‐‑‒–—―‖‰…‥‽⁉“”‘’«»‹›„†‡§¶ αβγΔΩἀᾳЖяЇґЂҚəʃŋĐđơƯẢậễỵşğıłżřőßæ
，。、；：？！（）【】《》〈〉「」『』〔〕～·￥％＋＝１ＡｂアかカーｱＺ 日本語简体繁體 한국어뷁값의
😀😂🤔🎉🚀✨⭐🔥💡📝🔍📌🔧📁📄🎯👋👍👍🏽💯🔴🟢🟡🔵⚡⏰⏱📊📈🐛🔒🤖✅❌➕➖❓❗☕⏳🧪🛠🗑`

// B187: what is usual has a look of its own in every weight, and no frame stands for it.
func TestUsualSignsB187(t *testing.T) {
	fonts, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []glyph{{}, {bold: true}, {italic: true}} {
		seen := map[string]string{}
		for rest := usual; rest != ""; {
			text, width := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
			rest = rest[len(text):]
			if strings.TrimSpace(text) == "" {
				continue
			}
			g := style
			g.text, g.width = text, int8(width)
			ink := string(fonts.draw(g))
			if strings.Trim(ink, "\x00") == "" {
				t.Errorf("%q is not drawn", text)
			}
			if was, ok := seen[ink]; ok && !alike(was+text) {
				t.Errorf("%q looks like %q", text, was)
			}
			seen[ink] = text
		}
	}
	if got := fonts.lacking(); got != "" {
		t.Errorf("no font has %s", got)
	}
	for _, space := range []string{" ", "\u00a0", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u3000"} {
		if strings.Trim(string(fonts.draw(glyph{text: space, width: 1})), "\x00") != "" {
			t.Errorf("%q shows something", space)
		}
	}
	if got := fonts.lacking(); got != "" {
		t.Errorf("no font has the space %s", got)
	}
}

// alike are pairs that look the same in most fonts.
func alike(pair string) bool {
	for _, p := range []string{"‐‑", "–‒", "—―", "‐⁃", "‑⁃", "⁃‐", "·⋅", "👍👍🏽", "➔→", "→➔", "❤♡"} {
		if pair == p {
			return true
		}
	}
	return false
}

// What the fallback fonts have fits into its cells: nothing of it is cut off.
func TestSignsFitTheirCells(t *testing.T) {
	fonts, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := rune(0xa0); r < 0x20000; r++ {
		width := ansi.StringWidth(string(r))
		if _, drawn := shapeOf(r); drawn || width < 1 || unicode.Is(unicode.M, r) || fonts.mono[0].has(&fonts.buf, r) || fonts.others[0][0].has(&fonts.buf, r) || !fonts.has(r) {
			continue
		}
		o, err := fonts.outline(r, glyph{text: string(r), width: int8(width)})
		if err != nil {
			t.Fatal(err)
		}
		n++
		low, high := 0, 0
		for _, c := range o {
			for _, v := range c {
				low, high = min(low, v.x.Round()), max(high, v.x.Round())
			}
		}
		if unicode.Is(unicode.Greek, r) || r == '˞' { // the marks before capitals lie in the cell of the neighbour
			low = 0
		}
		if low < -1 || high > width*cellW+1 {
			t.Errorf("U+%04X %c reaches from %d to %d of %d pixels", r, r, low, high, width*cellW)
		}
	}
	if n < 3000 {
		t.Errorf("there are only %d signs", n)
	}
}

// Korean syllables are put together within their two cells, and none looks like another: all vowels, all finals and all initials beside
// one of the others each, and some of all.
func TestSyllables(t *testing.T) {
	fonts, err := newFonts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]rune{}
	for r := rune(firstSyllable); r <= lastSyllable; r++ {
		i := int(r - firstSyllable)
		initial, vowel, final := i/(vowelCount*finalCount), i/finalCount%vowelCount, i%finalCount
		if !(initial == 11 && (vowel == 0 || final == 0 || final == 4) || vowel == 8 && final == 0 || i%13 == 0) {
			continue
		}
		s, ok := fonts.shape(r, glyph{text: string(r), width: 2})
		if !ok {
			t.Fatalf("%c is no shape", r)
		}
		for _, p := range s.parts {
			for _, at := range p {
				if x := at.x + middle(2); x < 0 || x > 2*cellW || at.y < 0 || at.y > cellH {
					t.Fatalf("%c reaches to %v", r, at)
				}
			}
		}
		pix := make([]uint8, 2*cellW*cellH)
		s.fill(pix, 2, middle(2))
		if was, ok := seen[string(pix)]; ok {
			t.Fatalf("%c looks like %c", r, was)
		}
		seen[string(pix)] = r
	}
	if _, ok := fonts.shape('한', glyph{text: "한", width: 1}); ok {
		t.Error("half a syllable is drawn")
	}
}
