package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
)

// said makes text that looks like what is said: English and Chinese of a few thousand words.
func said(r *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		if r.IntN(4) == 0 {
			for range 2 + r.IntN(3) {
				b.WriteRune(rune(0x4e00 + r.IntN(3000)))
			}
			continue
		}
		fmt.Fprintf(&b, "w%d ", int(r.ExpFloat64()*400))
	}
	return b.String()
}

// talked makes sessions of many messages, without events.
func talked(b testing.TB, path string, sessions, messages int) {
	b.Helper()
	s, err := tryOpen(path)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range sessions {
		row := s.openSession(b, fmt.Sprint("s", i))
		for done := 0; done < messages; {
			tx := s.tx(row)
			for n := 0; n < 500 && done < messages; n++ {
				m := user(said(r, 40))
				if done%2 == 1 {
					m.Kind, m.Role = llm.KindAssistant, llm.RoleAssistant
				}
				if done == messages/2 {
					m.Content += " 部署窗口 needle"
				}
				tx.Messages = append(tx.Messages, m)
				done++
			}
			s.commit(b, tx)
		}
	}
	s.close(b)
}

// BenchmarkSearch reads and searches 100,000 messages of one session, and as many in 1,000 sessions. "first" is the first search, which
// looks at all; "read" reads all for those to come, and its slowest transaction is what a run may have to wait for.
func BenchmarkSearch(b *testing.B) {
	for _, sessions := range []int{1, 1000} {
		path := filepath.Join(b.TempDir(), "sessions.db")
		talked(b, path, sessions, 100_000/sessions)
		b.Run(fmt.Sprintf("sessions=%d/first", sessions), func(b *testing.B) {
			for b.Loop() {
				r := open(b, path)
				start, asked := time.Now(), 0
				for unread := int64(1); unread > 0; asked++ {
					found, err := r.Search(b.Context(), runtime.Search{User: "ann", Text: "needle", Limit: 100, Each: 3, Patience: 250 * time.Millisecond})
					if unread = found.Unread; err != nil || unread == 0 && found.Sessions != sessions {
						b.Fatal(found.Sessions, err)
					}
					if asked == 0 {
						b.ReportMetric(time.Since(start).Seconds(), "s-to-hits")
					}
				}
				b.ReportMetric(time.Since(start).Seconds(), "s")
			}
		})
		b.Run(fmt.Sprintf("sessions=%d/read", sessions), func(b *testing.B) {
			for b.Loop() {
				r := open(b, path)
				var slowest time.Duration
				start := time.Now()
				for {
					at := time.Now()
					left, err := all(b.Context(), r.Store, scanBehind, behindQuery, "ann", "", "")
					if err == nil {
						left, err = r.read(b.Context(), runtime.Search{User: "ann", Patience: 1}, left)
					}
					if err != nil {
						b.Fatal(err)
					}
					slowest = max(slowest, time.Since(at))
					if len(left) == 0 {
						break
					}
				}
				b.ReportMetric(time.Since(start).Seconds(), "s")
				b.ReportMetric(float64(slowest.Microseconds())/1000, "ms-slowest")
			}
		})
		r := open(b, path)
		for name, text := range map[string]string{"rare": "needle", "chinese": "部署", "common": "w1", "character": "署", "two": "w1 w2"} {
			b.Run(fmt.Sprintf("sessions=%d/all/%s", sessions, name), func(b *testing.B) {
				for b.Loop() {
					found, err := r.Search(b.Context(), runtime.Search{User: "ann", Text: text, Limit: 100, Each: 3})
					if err != nil || found.Messages == 0 {
						b.Fatal(found, err)
					}
				}
			})
			b.Run(fmt.Sprintf("sessions=%d/one/%s", sessions, name), func(b *testing.B) {
				for b.Loop() {
					if _, err := r.Places(b.Context(), runtime.Search{User: "ann", Text: text, Limit: 1000}, "s0"); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
