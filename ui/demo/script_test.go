package demo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
)

const wholeScript = `title = "All of it"
about = "a line"
size = "120x36"

[config]
AGENT_MAX_CTX_TOKENS = "3000"

[slow]
calculator = "1.5s"

[[reply]]
when = "go"
text = "gone"

[[step]]
enter = "go"
[[step]]
paste = "many\nlines"
[[step]]
key = "ctrl+x n"
[[step]]
wait = { event = "answer", fields = { text = "gone" } }
within = "3s"
[[step]]
expect = { text = "gone", pane = "chat", not = true, regexp = "g.ne", state = "idle", todo = "x", done = true, turns = 1, answer = "gone" }
[[step]]
caption = "look"
for = "2s"
[[step]]
pause = "500ms"
[[step]]
resize = "80x24"
[[step]]
restart = true
[[step]]
crash = true
`

func TestParseScript(t *testing.T) {
	s, err := ParseScript("a.toml", []byte(wholeScript))
	if err != nil {
		t.Fatal(err)
	}
	var done []string
	for _, step := range s.Steps {
		done = append(done, fmt.Sprintf("%s@%d", step.Do, step.Line))
	}
	want := "type@15 key@15 paste@17 key@19 wait@21 expect@24 caption@26 pause@29 resize@31 restart@33 crash@35"
	if got := strings.Join(done, " "); got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	if s.Width != 120 || s.Height != 36 || s.Model != ModelScripted || len(s.Replies) != 1 || s.Config["AGENT_MAX_CTX_TOKENS"] != "3000" ||
		s.Slow["calculator"] != 1500*time.Millisecond || !s.Captions || s.Title != "All of it" {
		t.Errorf("%+v", s)
	}
	if w, c := s.Steps[4], s.Steps[6]; w.Limit != 3*time.Second || w.Find.Event != "answer" || w.Find.Fields["text"] != "gone" || c.For != 2*time.Second || c.Text != "look" {
		t.Errorf("%+v, %+v", w, c)
	}
	if keys := s.Steps[3].Keys; len(keys) != 2 || keys[0] != "ctrl+x" {
		t.Errorf("keys %q", keys)
	}
}

// A wrong script is refused where it is wrong.
func TestScriptsThatAreRefused(t *testing.T) {
	const step = "[[step]]\nenter = \"x\"\n"
	for _, c := range []struct{ text, at, what string }{
		{"", "1:1", "1 to 10000 [[step]]"},
		{"nope = 1\n" + step, "1:1", `unknown key "nope"`},
		{"title = \"x\nsize", "1:11", "new lines"},
		{"title = \"x\"\nsize = \"80\"\n" + step, "2:1", "no size"},
		{"size = \"0x5\"\n" + step, "1:1", "no size"},
		{"model = \"gpt\"\n" + step, "1:1", "none of offline, scripted, live"},
		{"\nmodel = \"scripted\"\n" + step, "2:1", "no [[reply]]"},
		{"model = \"offline\"\n[[reply]]\ntext = \"x\"\n" + step, "1:1", "scripted one plays"},
		{"[[reply]]\ntext = \"x\"\ndeltas = [\"y\"]\n" + step, "3:1", "deltas"},
		{step + "[[step]]\n", "3:3", "one thing"},
		{step + "[[step]]\nenter = \"x\"\nkey = \"enter\"\n", "3:3", "one thing"},
		{"\ufeffsize = \"x\"\r\n" + step, "1:1", "is no size"},
		{step + "[[step]]\nkey = \"Enter\"\n", "4:1", "or enter, esc, tab"},
		{step + "[[step]]\nkey = \"Ctrl+x\"\n", "4:1", "there are ctrl, alt and shift"},
		{step + "[[step]]\nkey = \"ctrl+nothing\"\n", "4:1", "ctrl+nothing"},
		{step + "[[step]]\nkey = \"\"\n", "4:1", "no key"},
		{step + "[[step]]\nresize = \"big\"\n", "4:1", "no size"},
		{step + "[[step]]\npause = \"-1s\"\n", "4:1", "no time"},
		{step + "[[step]]\npause = \"2h\"\n", "4:1", "no time"},
		{step + "[[step]]\nrestart = false\n", "4:1", "true, or not there"},
		{step + "[[step]]\nenter = \"x\"\nwithin = \"3s\"\n", "5:1", "belongs to wait"},
		{step + "[[step]]\nenter = \"x\"\nfor = \"3s\"\n", "5:1", "belongs to caption"},
		{step + "[[step]]\nwait = {}\n", "4:1", "looks for nothing"},
		{step + "[[step]]\nwait = { text = \"x\", pane = \"roof\" }\n", "4:22", "none of tabs"},
		{step + "[[step]]\nwait = { answer = \"x\", pane = \"chat\" }\n", "4:24", "belong to text"},
		{step + "[[step]]\nwait = { answer = \"x\", fields = { a = \"b\" } }\n", "4:24", "belong to event"},
		{step + "[[step]]\nwait = { event = \"sunrise\" }\n", "4:10", "no event"},
		{step + "[[step]]\nwait = { answer = \"x\", done = true }\n", "4:24", "belongs to todo"},
		{step + "[[step]]\nwait = { state = \"happy\" }\n", "4:10", "none of idle"},
		{step + "[[step]]\nexpect = { regexp = \"(\" }\n", "4:12", "regexp"},
		{step + "[[step]]\nexpect = { text = \"x\", colour = \"red\" }\n", "4:24", `unknown key "colour"`},
		// A key inside a table of its own, or behind a dot.
		{step + "[[step]]\n[step.expect]\ntext = \"x\"\nregexp = \"(\"\n", "6:1", "regexp"},
		{step + "[[step]]\nwait.state = \"happy\"\n", "4:6", "none of idle"},
		{step + "[[step]]\nwait = { turns = -1 }\n", "4:10", "at least 0"},
		// Values of the wrong type.
		{"size = 100\n" + step, "1:8", "must be a text in quotes, not a whole number"},
		{"config = 5\n" + step, "1:10", "must be a table, not a whole number"},
		{"[config]\nAGENT_MAX_RAW_TURNS = 3\n" + step, "2:23", "must be a text in quotes, not a whole number"},
		{"captions = \"yes\"\n" + step, "1:12", "must be true or false, not a text"},
		{"[slow]\ncalculator = 5\n" + step, "2:14", `must be a time in quotes, such as "1.5s", not a whole number`},
		{"[[reply]]\ntext = \"x\"\npace = 20\n" + step, "3:8", "must be a time in quotes"},
		{"[[reply]]\ndeltas = \"x\"\n" + step, "2:10", "must be a list, not a text"},
		{step + "[[step]]\npause = 5\n", "4:9", "must be a time in quotes"},
		{step + "[[step]]\nwait = { text = \"x\" }\nwithin = 5\n", "5:10", "must be a time in quotes"},
		{"[slow]\ncalculator = \"soon\"\n" + step, "2:1", "no time from 0s to 1h"},
		{"[[reply]]\ntext = \"x\"\npace = \"soon\"\n" + step, "3:1", "no duration"},
		{"[[reply]]\nfail = { kind = \"rate\", retry_after = \"soon\" }\n" + step, "2:1", "no duration"},
		{step + "[[step]]\nwait = { text = \"x\" }\nwithin = \"soon\"\n", "5:1", "no time"},
		{step + "[[step]]\ncaption = \"x\"\nfor = \"soon\"\n", "5:1", "no time"},
		{step + "[[step]]\nwait = \"x\"\n", "4:8", "must be a table, not a text"},
		{step + "[[step]]\nwait = { turns = 1.5 }\n", "4:18", "must be a whole number, not a number"},
		{step + "[[step]]\nkey = 2020-01-01\n", "4:7", "must be a text in quotes, not a date"},
		// Settings.
		{"[config]\nAGENT_MAX_RAW_TURN = \"3\"\n" + step, "2:1", `no setting "AGENT_MAX_RAW_TURN"`},
		{"title = \"x\"\n[config]\nAGENT_COMPACT = \"off\"\nAGENT_MAX_RAW_TURNS = \"many\"\n" + step, "4:1", "AGENT_MAX_RAW_TURNS=many: must be a whole number from 1 to 10000"},
		{"config = { AGENT_COMPACT = \"never\" }\n" + step, "1:12", "must be auto, ask or off"},
		{"model = \"live\"\n[config]\nOPENAI_BASE_URL = \"http://elsewhere/v1\"\n" + step, "3:1", "names no endpoint and no key"},
		{"[config]\nOPENAI_API_KEY = \"sk-1234\"\n" + step, "2:1", "names no endpoint and no key"},
		{"[config]\nMODEL = \"local:ollama/m\"\n" + step, "2:1", `MODEL belongs to model = "live"`},
		{"[config]\nAGENT_DB_PATH = \"mine.db\"\n" + step, "2:1", "a folder of its own"},
	} {
		_, err := ParseScript("f.toml", []byte(c.text))
		var at *scripted.ParseError
		if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), "f.toml:"+c.at+": ") || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%q: %v, want %s at %s", c.text, err, c.what, c.at)
		}
	}
}

// FuzzParseScript: a script is taken, or refused with a place inside it.
func FuzzParseScript(f *testing.F) {
	f.Add([]byte(wholeScript))
	f.Add([]byte("[[step]]\nenter = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := ParseScript("f", data)
		var at *scripted.ParseError
		if err != nil && (!errors.As(err, &at) || at.Line < 1 || at.Line > strings.Count(string(data), "\n")+1) {
			t.Errorf("%v", err)
		}
	})
}
