package theme

// Glyphs are the signs of the screen. All are one cell wide but the mark, which has two. None has an ambiguous width.
type Glyphs struct {
	Mark       [4]string // the glass case; a light goes round in it while any tab works: frames of one turn
	MarkStill  string
	Here       string // this row, this tab
	Closed     string // can be opened
	Open       string
	Done       string
	Failed     string
	Question   string // needs you
	Todo       string // not yet
	Stopped    string
	Pin        string
	Recording  string
	Star       string // kept by the user
	Cut        string // something was cut here
	Edge       string // between panes, beside the user's words
	Busy       [10]string
	BusyStill  string // in place of Busy when motion is reduced
	MeterFixed string // system prompt and pins
	MeterMem   string
	MeterWin   string
	MeterFree  string
	BarWait    string // waiting for the first token
	BarStream  string
	BarWork    string
	BarDot     string // the shortest bar
	// HalfStart begins a bar in the right half of its cell, HalfEnd ends it in the left half.
	HalfWaitStart, HalfWaitEnd     string
	HalfStreamStart, HalfStreamEnd string
	HalfWorkStart, HalfWorkEnd     string
	// Quote, Bullet, Check and Box are Markdown's.
	Quote, Bullet, Check, Box string
	// RuleH is one cell of a horizontal rule.
	RuleH string
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		Mark: [4]string{"⣟⣹", "⣏⣻", "⣏⣽", "⣯⣹"}, MarkStill: "⣏⣹",
		Here: "❯", Closed: "▸", Open: "▾", Done: "✓", Failed: "✗", Question: "?", Todo: "◦", Stopped: "/",
		Pin: "⚑", Recording: "◉", Star: "✦", Cut: "⋯", Edge: "⡇",
		Busy: [10]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}, BusyStill: "⠿",
		MeterFixed: "⣿", MeterMem: "⣶", MeterWin: "⣤", MeterFree: "⣀",
		BarWait: "⠒", BarStream: "⠿", BarWork: "⠶", BarDot: "⠂",
		HalfWaitStart: "⠐", HalfWaitEnd: "⠂",
		HalfStreamStart: "⠸", HalfStreamEnd: "⠇",
		HalfWorkStart: "⠰", HalfWorkEnd: "⠆",
		Quote: "⡇", Bullet: "-", Check: "✓", Box: "◦", RuleH: "⠒",
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		Mark: [4]string{"[]", "[]", "[]", "[]"}, MarkStill: "[]",
		Here: ">", Closed: "+", Open: "-", Done: "v", Failed: "x", Question: "?", Todo: "o", Stopped: "/",
		Pin: "^", Recording: "@", Star: "&", Cut: "$", Edge: "|",
		Busy: [10]string{"*", "*", "*", "*", "*", "*", "*", "*", "*", "*"}, BusyStill: "*",
		MeterFixed: "#", MeterMem: "=", MeterWin: "-", MeterFree: ".",
		BarWait: ".", BarStream: "#", BarWork: "=", BarDot: ".",
		HalfWaitStart: ".", HalfWaitEnd: ".",
		HalfStreamStart: "#", HalfStreamEnd: "#",
		HalfWorkStart: "=", HalfWorkEnd: "=",
		Quote: "|", Bullet: "-", Check: "v", Box: "o", RuleH: "-",
	}
}

// Spinner is the busy sign in a phase: all spinners turn together.
func (t *Theme) Spinner(phase int) string {
	if t.opts.Reduced {
		return t.Glyphs.BusyStill
	}
	n := len(t.Glyphs.Busy)
	return t.Glyphs.Busy[((phase%n)+n)%n]
}

// Brand is the mark in a phase; it stands still while nothing works.
func (t *Theme) Brand(phase int, working bool) string {
	if !working || t.opts.Reduced {
		return t.Glyphs.MarkStill
	}
	n := len(t.Glyphs.Mark)
	return t.Glyphs.Mark[((phase%n)+n)%n]
}
