package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
)

// slowFinder looks at 1,000 messages a second, and finds one in each thousand.
type slowFinder struct {
	runtime.Finder
	clk  clock.Clock
	left int64
	hits []runtime.Hit
	err  error
	all  []runtime.Search
}

func (s *slowFinder) Search(ctx context.Context, q runtime.Search) (runtime.Found, error) {
	s.all = append(s.all, q)
	if err := s.clk.Sleep(ctx, time.Second); err != nil {
		return runtime.Found{}, err
	}
	if s.left -= 1000; s.left < 0 {
		s.left = 0
	}
	return runtime.Found{Hits: s.hits, Messages: int64(len(s.hits)), Sessions: 1, Unread: s.left, Behind: 7}, s.err
}

// A search that has much to look at for the first time tells a person how far it is, nobody else, and gives all that was found at the
// end; what is only behind for searches to come is not waited for.
func TestSessionsSearch(t *testing.T) {
	for err, told := range map[Stream]bool{Terminal: true, Data: false} {
		b := newBench(t)
		f := &slowFinder{clk: b.sim, left: 8000, hits: []runtime.Hit{
			{SessionID: "s", Title: "plan", N: 4, Turn: 2, Kind: llm.KindUser, At: b.sim.Now(), Text: "the 部署窗口 of Friday\x1b[31m"},
			{SessionID: "s", Title: "plan", N: 5, Turn: 2, Kind: llm.KindTool, Tool: "read_file", At: b.sim.Now(), Text: "部署窗口: 15:00"},
		}}
		open := b.prog.Open
		b.prog.Open = func(ctx context.Context, cfg config.Config, clk clock.Clock, o OpenOptions) (*App, error) {
			app, err := open(ctx, cfg, clk, o)
			app.Finder = f
			return app, err
		}
		b.proc.Err = err
		got := b.run("sessions", "search", "部署")
		b.want(got, ExitOK, "the 部署窗口 of Friday", "")
		if strings.Contains(got.out, "\x1b") || !strings.Contains(got.out, "read_file") {
			t.Errorf("%q", got.out)
		}
		if strings.Contains(got.err, "messages to look at") != told || strings.Count(got.err, "\n") > 3 {
			t.Errorf("told %v: %q", told, got.err)
		}
		if len(f.all) != 8 || f.all[0].Patience <= 0 || f.all[0].Text != "部署" || f.all[0].User != "ada" {
			t.Errorf("%d searches, %+v", len(f.all), f.all[0])
		}
		got = b.run("sessions", "search", "--json", "部署", "窗口")
		b.want(got, ExitOK, "", "")
		var hit struct {
			N    int64
			Hits [][2]int
			Tool string
		}
		if lines := strings.Split(strings.TrimSpace(got.out), "\n"); len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &hit) != nil || hit.N != 5 || len(hit.Hits) == 0 || hit.Tool != "read_file" {
			t.Errorf("%q", got.out)
		}
		f.hits = nil
		b.want(b.run("sessions", "search", "x1"), ExitOK, "", "nothing of ada has that")
		f.err = errors.New("broken")
		b.want(b.run("sessions", "search", "x1"), ExitFailed, "", `look for "x1"`)
		b.want(b.run("sessions", "search", "--limit", "0", "x"), ExitUsage, "", "--limit 0")
		b.want(b.run("sessions", "search", ","), ExitUsage, "", "letters or digits")
	}
}
