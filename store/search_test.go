package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/find"
	"vitrine/trace"
)

// places are the numbers of the messages of a session in which text is found.
func (r *rig) places(t testing.TB, id, text string) []int64 {
	t.Helper()
	p, err := r.Places(t.Context(), runtime.Search{User: "ann", Text: text}, id)
	if err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	if p.Unread != 0 || p.All != int64(len(p.Ns)) {
		t.Errorf("%q: %d unread, %d of %d", text, p.Unread, len(p.Ns), p.All)
	}
	return p.Ns
}

// hits are where text is found in all sessions.
func (r *rig) hits(t testing.TB, text string) (out []string) {
	t.Helper()
	found, err := r.Search(t.Context(), runtime.Search{User: "ann", Text: text})
	if err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	for _, h := range found.Hits {
		out = append(out, fmt.Sprint(h.SessionID, " ", h.N))
	}
	return out
}

// What was typed is data: words in any case, with or without accents, by their beginnings, Chinese by any part of a sentence; no
// sign means anything.
func TestSearchFinds(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	tx := r.tx(row)
	tx.Messages = []runtime.MessageRow{
		user("Remember that the Deploy is on Friday."),
		{Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "Le Café ferme à 5 heures; cafe\u0301s too",
			ToolCalls: []llm.ToolCall{{ID: "c", Name: "search_mock", Arguments: `{"query":"rollout window"}`}}},
		{Kind: llm.KindTool, Role: llm.RoleTool, ToolName: "search_mock", Content: `{"ok":true,"data":"line one\nline two 部署窗口是周五"}`},
		{Kind: llm.KindNotice, Role: llm.RoleUser, Content: "a notice of ours"},
		{Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: `say "AND" OR *not* -x NEAR(a, b): 今天天气很好`},
		user("a broken { json"),
	}
	r.commit(t, tx)
	for text, want := range map[string][]int64{
		"deploy": {1}, "DEPL": {1}, "eploy": nil, "deploy friday": {1}, "friday DEPLOY": {1}, "deploy monday": nil,
		"cafe": {2}, "CAFÉ": {2}, "5": {2}, "search_mock": {2, 3}, "mock": {2, 3}, "rollout": {2}, "query": {2}, "data": {3},
		"line two": {3}, "two 部署": {3}, "部署": {3}, "署窗": {3}, "窗口": {3}, "窗": {3}, "部窗": nil, "天气": {5}, "天": {5},
		"notice": nil, `"AND"`: {5}, "AND": {5}, "or": {5}, "*not*": {5}, "-x": {5}, "NEAR(a,": {5}, `"`: nil, "*": nil, "--": nil, "": nil,
		`x" OR "deploy`: nil, "text:deploy": nil, "^deploy": {1}, "{ json": {6}, "deploy AND friday": nil, "de*": {1}, "\x00deploy": {1},
		strings.Repeat("deploy ", 500): {1},
	} {
		if got := r.places(t, "s", text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	found, err := r.Search(t.Context(), runtime.Search{User: "ann", Text: "窗口"})
	if err != nil || len(found.Hits) != 1 {
		t.Fatal(found, err)
	}
	h := found.Hits[0]
	if line, spans := find.Parse("窗口").Excerpt(h.Text, 30, ""); len(spans) != 1 || line[spans[0].From:spans[0].To] != "窗口" || h.Tool != "search_mock" {
		t.Errorf("%+v, %q %v", h, line, spans)
	}
}

// Another user's sessions are not found, neither in all nor by name.
func TestSearchKeepsUsersApart(t *testing.T) {
	r := open(t, dbPath(t))
	r.say(t, r.openSession(t, "mine"), "secret plan")
	theirs, err := r.OpenSession(t.Context(), "theirs", "bob", true)
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, theirs, "secret plan")
	if _, err := r.Search(t.Context(), runtime.Search{User: "bob", Text: "plan"}); err != nil {
		t.Fatal(err)
	}
	diff(t, []string{"mine 1"}, r.hits(t, "plan"))
	if _, err := r.Places(t.Context(), runtime.Search{User: "ann", Text: "plan"}, "theirs"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("another user's session: %v", err)
	}
	if err := r.Star(t.Context(), "theirs", "ann", true); !errors.Is(err, runtime.ErrOtherUser) {
		t.Errorf("a star for it: %v", err)
	}
}

// Folded and undone messages are found as they were said; those of a session that was deleted or pruned are gone, also when its
// number is given again.
func TestSearchFollowsWhatIsStored(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	for i := range 6 {
		r.say(t, row, fmt.Sprint("word number ", i))
	}
	tx := r.tx(row)
	tx.Fold = &runtime.Fold{ID: "f", FirstN: 1, LastN: 3, From: 4, WasFrom: 1, SummaryAfter: []byte(`{}`)}
	r.commit(t, tx)
	diff(t, []int64{1, 2, 3, 4, 5, 6}, r.places(t, "s", "word"))
	tx = r.tx(row)
	tx.Fold = &runtime.Fold{ID: "f", LastFold: "f", From: 1, WasFrom: 4, Undo: true}
	r.commit(t, tx)
	diff(t, []int64{1, 2, 3, 4, 5, 6}, r.places(t, "s", "word"))
	r.say(t, row, "word after")
	diff(t, []int64{1, 2, 3, 4, 5, 6, 7}, r.places(t, "s", "word"))

	if err := r.DeleteSession(t.Context(), "s", "ann"); err != nil {
		t.Fatal(err)
	}
	again := r.openSession(t, "again") // under the same number
	r.say(t, again, "nothing of it")
	diff(t, []string(nil), r.hits(t, "word"))
	diff(t, []string{"again 1"}, r.hits(t, "nothing"))

	list, err := r.Sessions(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ReleaseSession(t.Context(), "again", again.Fence); err != nil {
		t.Fatal(err)
	}
	if n, _, err := r.Prune(t.Context(), "ann", list); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	var rows int
	if err := r.row(t.Context(), "SELECT (SELECT count(*) FROM words_docsize) + (SELECT count(*) FROM searched)", nil, &rows); err != nil || rows != 0 {
		t.Errorf("%d rows are left, %v", rows, err)
	}
}

// A search that has no patience looks at the newest that it has not read, says how much it has looked at and read, and goes on where it
// stood; one that is cancelled ends.
func TestSearchReadsInParts(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	tx := r.tx(row)
	const parts = 12
	for i := range parts * readRows {
		tx.Messages = append(tx.Messages, user(fmt.Sprint("message ", i)))
	}
	r.commit(t, tx)
	last := int64(len(tx.Messages))
	for unread, behind := last, last; behind > 0; {
		found, err := r.Search(t.Context(), runtime.Search{User: "ann", Text: "message", Limit: 10, Patience: 1})
		if err != nil {
			t.Fatal(err)
		}
		if found.Messages+found.Unread != last || len(found.Hits) != 10 || found.Hits[9].More != found.Messages-10 {
			t.Fatalf("%d and %d unread, %d hits", found.Messages, found.Unread, len(found.Hits))
		}
		if n := found.Hits[0].N; n != last {
			t.Fatalf("the first hit is %d, not the newest, %d", n, last)
		}
		// First all is looked at, then it is read.
		if found.Unread > 0 && (found.Behind != last || found.Unread >= unread) || found.Unread == 0 && found.Behind != behind-readRows {
			t.Fatalf("%d unread after %d, %d behind after %d", found.Unread, unread, found.Behind, behind)
		}
		unread, behind = found.Unread, found.Behind
	}
	p, err := r.Places(t.Context(), runtime.Search{User: "ann", Text: "message", Limit: 3}, "s")
	if err != nil || p.All != last || fmt.Sprint(p.Ns) != fmt.Sprint([]int64{last - 2, last - 1, last}) {
		t.Errorf("%v %v", p, err)
	}
	r.say(t, row, "one more")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Search(ctx, runtime.Search{User: "ann", Text: "more"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What is looked at past the index is what the index would give, in a session and in all, with what is said meanwhile, in other sessions
// too, and without what goes.
func TestSearchLooksPastTheIndex(t *testing.T) {
	for name, patience := range map[string]time.Duration{"a page at a time": 1, "some at a time": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			r := open(t, dbPath(t))
			var rows []runtime.SessionRow
			said := func(i, from, to int) {
				tx := r.tx(rows[i])
				for n := from; n <= to; n++ {
					m := user(fmt.Sprint("message ", n))
					if n%100 == 7 {
						m.Content += " 部署窗口"
					}
					tx.Messages = append(tx.Messages, m)
				}
				r.commit(t, tx)
			}
			for i, id := range []string{"one", "two", "gone"} {
				rows = append(rows, r.openSession(t, id))
				said(i, 1, 1000)
			}
			q := runtime.Search{User: "ann", Text: "窗口", Patience: patience}
			_, err := r.Search(t.Context(), q) // some of it, past the index
			if err != nil {
				t.Fatal(err)
			}
			said(0, 1001, 1700)
			if err := r.DeleteSession(t.Context(), "gone", "ann"); err != nil {
				t.Fatal(err)
			}
			p, err := r.Places(t.Context(), q, "one")
			for n := 0; err == nil && p.Unread > 0 && n < 100; n++ {
				if len(p.Ns) > 0 && p.From > p.Ns[len(p.Ns)-1] {
					t.Fatalf("from %d on all was looked at, and %v found", p.From, p.Ns)
				}
				p, err = r.Places(t.Context(), q, "one")
			}
			var want []int64
			for n := int64(7); n <= 1700; n += 100 {
				want = append(want, n)
			}
			diff(t, want, p.Ns)
			if err != nil || p.All != int64(len(want)) || patience == 1 && p.Behind == 0 {
				t.Errorf("%v, %d, %d behind", err, p.All, p.Behind)
			}
			found, err := r.Search(t.Context(), q)
			for n := 0; err == nil && found.Unread > 0 && n < 100; n++ {
				found, err = r.Search(t.Context(), q)
			}
			if err != nil || found.Messages != int64(len(want)+10) || found.Sessions != 2 || len(found.Hits) != len(want)+10 {
				t.Fatalf("%v: %d messages in %d sessions, %d hits", err, found.Messages, found.Sessions, len(found.Hits))
			}
			seen := map[string]bool{}
			for i, h := range found.Hits {
				at := fmt.Sprint(h.SessionID, " ", h.N)
				if seen[at] || !strings.Contains(h.Text, "部署窗口") || i > 0 && h.SessionID == found.Hits[i-1].SessionID && h.N >= found.Hits[i-1].N {
					t.Errorf("hit %d is %s", i, at)
				}
				seen[at] = true
			}
		})
	}
}

// The words of a search through all sessions are looked up once, not once for each session: a thousand of them took half a minute.
func TestSearchLooksWordsUpOnce(t *testing.T) {
	r := open(t, dbPath(t))
	db, err := r.reader()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		query, first, then string
		args               []any
	}{
		"counts": {countsQuery, "SCAN h", "sessions_num (num=?)", []any{"x", "ann"}},
		"hits":   {hitsQuery, "h", "m USING INTEGER PRIMARY KEY (rowid=?)", []any{"x", 1, 2, 3}},
		"past":   {pastQuery, "m USING INTEGER PRIMARY KEY (rowid=?)", "r USING INDEX", []any{"[1]"}},
	} {
		rows, err := db.Query("EXPLAIN QUERY PLAN "+c.query, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan += detail + "\n"
		}
		if err := closing(rows, rows.Err()); err != nil {
			t.Fatal(err)
		}
		if first, then := strings.Index(plan, c.first), strings.Index(plan, c.then); first < 0 || then < first || strings.Contains(plan, "sessions_user") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

// Where more is found than is remembered, the rest is read.
func TestSearchFindsMoreThanItRemembers(t *testing.T) {
	r := open(t, dbPath(t))
	r.looks.most = 300
	row := r.openSession(t, "s")
	tx := r.tx(row)
	for i := range 1000 {
		tx.Messages = append(tx.Messages, user(fmt.Sprint("message ", i)))
	}
	r.commit(t, tx)
	for n := 0; ; n++ {
		found, err := r.Search(t.Context(), runtime.Search{User: "ann", Text: "message", Limit: 1, Patience: 1})
		if err != nil || n > 50 {
			t.Fatalf("%v, after %d times %d of %d are unread", err, n, found.Unread, found.Behind)
		}
		if found.Unread == 0 {
			if found.Messages != 1000 {
				t.Errorf("%d messages", found.Messages)
			}
			break
		}
	}
}

// Two processes that search at once, while a third one writes, put each message's words in once.
func TestSearchOfTwoProcesses(t *testing.T) {
	path := dbPath(t)
	writer, one, two := open(t, path), open(t, path), open(t, path)
	row := writer.openSession(t, "s")
	const messages = 400
	var wg sync.WaitGroup
	wg.Add(3)
	go func() {
		defer wg.Done()
		for i := range messages {
			tx := writer.tx(row)
			tx.Messages = []runtime.MessageRow{user(fmt.Sprint("common ", i))}
			if _, err := writer.Commit(context.Background(), tx); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for _, r := range []*rig{one, two} {
		go func() {
			defer wg.Done()
			for n := int64(0); n < messages; {
				found, err := r.Search(context.Background(), runtime.Search{User: "ann", Text: "common", Limit: 1})
				if err != nil || found.Messages < n {
					t.Errorf("%d after %d, %v", found.Messages, n, err)
					return
				}
				n = found.Messages
			}
		}()
	}
	wg.Wait()
	if got := one.places(t, "s", "common"); len(got) != messages || got[0] != 1 || got[messages-1] != messages {
		t.Errorf("%d places", len(got))
	}
	exec(t, one, "INSERT INTO words (words) VALUES ('integrity-check')")
}

// What is read of a session that is deleted, and whose number and name are given again meanwhile, gets into nothing.
func TestSearchOfASessionThatGoes(t *testing.T) {
	r := open(t, dbPath(t))
	r.say(t, r.openSession(t, "s"), "before")
	sessions, err := all(t.Context(), r.Store, scanBehind, behindQuery, "ann", "", "")
	if err != nil || len(sessions) != 1 {
		t.Fatal(sessions, err)
	}
	if err := r.DeleteSession(t.Context(), "s", "ann"); err != nil {
		t.Fatal(err)
	}
	if upto, err := r.readSome(t.Context(), sessions[0]); err != nil || upto != 1 {
		t.Errorf("%d, %v", upto, err)
	}
	r.say(t, r.openSession(t, "s"), "after")
	sessions[0].upto = 0
	if _, err := r.readSome(t.Context(), sessions[0]); err != nil {
		t.Fatal(err)
	}
	diff(t, []int64{1}, r.places(t, "s", "after"))
	diff(t, []int64(nil), r.places(t, "s", "before"))
}

// Who comes late with what another process has read already adds nothing, and takes nothing of it back.
func TestSearchThatComesLate(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	r.say(t, row, "first")
	late, err := all(t.Context(), r.Store, scanBehind, behindQuery, "ann", "", "")
	if err != nil || len(late) != 1 {
		t.Fatal(late, err)
	}
	r.say(t, row, "second")
	diff(t, []int64{2}, r.places(t, "s", "second"))
	if upto, err := r.readSome(t.Context(), late[0]); err != nil || upto != 2 {
		t.Errorf("up to %d, %v", upto, err)
	}
	if again, err := all(t.Context(), r.Store, scanBehind, behindQuery, "ann", "", ""); err != nil || len(again) != 0 {
		t.Errorf("behind again: %v, %v", again, err)
	}
}

// A search agrees with looking at each message.
func TestSearchAgreesWithReading(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, err := tryOpen(dbPath(t))
		if err != nil {
			rt.Fatal(err)
		}
		defer r.close(t)
		row := r.openSession(t, "s")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abAÉé 今天气候-\"*\n")), 1, 20, -1)
		var said []string
		for range rapid.IntRange(1, 3).Draw(rt, "txs") {
			tx := r.tx(row)
			for _, s := range rapid.SliceOfN(text, 1, 10).Draw(rt, "texts") {
				tx.Messages = append(tx.Messages, user(s))
				said = append(said, s)
			}
			r.commit(t, tx)
			query := text.Draw(rt, "query")
			var want []int64
			for i, s := range said {
				if _, all := find.Parse(query).Spans(s, 1); all {
					want = append(want, int64(i+1))
				}
			}
			if got := r.places(t, "s", query); fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Fatalf("%q: %v, want %v of %q", query, got, want, said)
			}
		}
	})
}

// Around gives a stretch of a session with the turn that it begins in, and TurnStart where a turn begins.
func TestAround(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	const turns = 300
	for i := 1; i <= turns; i++ {
		tx := r.tx(row)
		run := runtime.RunRow{ID: fmt.Sprint("r", i), Turn: i, State: runtime.StateSucceeded, StartedAt: at(1), FinishedAt: ptr(at(2))}
		tx.Run, tx.NewTurn = &run, true
		tx.Messages = []runtime.MessageRow{user(fmt.Sprint("turn ", i)), {Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "a", RunID: run.ID}}
		tx.Messages[0].RunID = run.ID
		tx.Events = []trace.Event{{RunID: run.ID, Turn: i, Data: trace.RunStartData{Input: "x", N: int64(2*i - 1)}}, {RunID: run.ID, Turn: i, Data: trace.RunEndData{}}}
		r.commit(t, tx)
	}
	for _, c := range []struct {
		n             int64
		before, after int
		first, last   int64
		turn          int
	}{
		{1, 10, 10, 1, 10, 1}, {20, 10, 10, 10, 29, 5}, {600, 300, 300, 300, 600, 150}, {700, 5, 5, 596, 600, 298}, {0, 5, 5, 1, 5, 1}, {300, 0, 600, 300, 600, 150},
	} {
		s, err := r.Around(t.Context(), "s", c.n, c.before, c.after)
		if err != nil || len(s.Messages) == 0 {
			t.Fatal(s, err)
		}
		if got := s.Messages; got[0].N != c.first || got[len(got)-1].N != c.last || int64(len(got)) != c.last-c.first+1 || s.Turn != c.turn || s.Newest != 2*turns {
			t.Errorf("%+v: %d to %d, turn %d, newest %d", c, got[0].N, got[len(got)-1].N, s.Turn, s.Newest)
		}
	}
	for turn, want := range map[int]int64{1: 1, 2: 3, 300: 599} {
		if n, err := r.TurnStart(t.Context(), "s", turn); err != nil || n != want {
			t.Errorf("turn %d starts at %d, %v", turn, n, err)
		}
	}
	if _, err := r.TurnStart(t.Context(), "s", 301); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("a turn that is not there: %v", err)
	}
	// Without a run the turns are counted.
	plain := r.openSession(t, "plain")
	for i := range 5 {
		r.say(t, plain, fmt.Sprint(i))
	}
	if s, err := r.Around(t.Context(), "plain", 4, 0, 1); err != nil || s.Turn != 4 {
		t.Errorf("turn %d, %v", s.Turn, err)
	}
}

// A star is listed, changes nothing of the session, keeps it from pruning, and goes with it.
func TestStar(t *testing.T) {
	r := open(t, dbPath(t))
	var rows []runtime.SessionRow
	for _, id := range []string{"a", "b"} {
		row := r.openSession(t, id)
		r.say(t, row, "x")
		rows = append(rows, row)
	}
	before := r.openSession(t, "a").UpdatedAt
	for range 2 {
		if err := r.Star(t.Context(), "a", "ann", true); err != nil {
			t.Fatal(err)
		}
	}
	list, err := r.Sessions(t.Context(), "ann")
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, s := range list {
		if s.Starred != (s.ID == "a") || s.ID == "a" && !s.UpdatedAt.Equal(before) {
			t.Errorf("%+v", s)
		}
	}
	for _, row := range rows {
		if err := r.ReleaseSession(t.Context(), row.ID, row.Fence); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, err := r.Prune(t.Context(), "ann", list); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if list, err = r.Sessions(t.Context(), "ann"); err != nil || len(list) != 1 || list[0].ID != "a" {
		t.Fatal(list, err)
	}
	if err := r.Star(t.Context(), "a", "ann", false); err != nil {
		t.Fatal(err)
	}
	if n, _, err := r.Prune(t.Context(), "ann", list); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := r.Star(t.Context(), "a", "ann", true); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("a star for what is gone: %v", err)
	}
}

// A database of the version before is searched like any other.
func TestSearchAfterMigration(t *testing.T) {
	path := dbPath(t)
	older(t, path, 4, 40)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSteps(path, steps[:4])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	r := open(t, path)
	diff(t, before, contents(t, path))
	rawDB(t, path, "UPDATE sessions SET next_n = 41")
	found, err := r.Search(t.Context(), runtime.Search{User: "ann", Text: "content 4", Each: 1})
	if err != nil || found.Messages != 4*1 || found.Sessions != 4 || len(found.Hits) != 4 {
		t.Errorf("%d messages, %d sessions, %v", found.Messages, found.Sessions, err)
	}
	if err := r.SaveTabs(t.Context(), "ann", runtime.Tabs{Sessions: []string{"s999"}, Panes: "x"}); err != nil {
		t.Fatal(err)
	}
	tabs, err := r.Tabs(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Tabs{Sessions: []string{"s999"}, Panes: "x"}, tabs)
}
