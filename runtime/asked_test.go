package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// slowWords makes the commit of each word on a call take a minute, as a database does that another program has locked.
func (b *bed) slowWords() {
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if !after && len(tx.Approvals) > 0 {
			return b.clk.Sleep(context.Background(), time.Minute)
		}
		return nil
	}
}

// B070: a message while the word on the first of two calls is being stored: the second still waits, so both are answered as not run
// before the message, which is the next turn.
func TestB070MessageWhileAWordIsStored(t *testing.T) {
	b := asking(t, twoFires(), scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.slowWords()
		b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Allow: true})
		if n := len(b.questions()); n != 2 {
			t.Fatalf("the word is stored already: %d questions", n)
		}
		if err := b.eng.Submit(ctx, "s", "actually do X"); err != nil {
			t.Fatal(err)
		}
		if end := b.await(ctx, 1); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	got := b.results()
	if len(b.ran) != 0 || len(got) != 2 || !strings.Contains(got[0], "the user sent a new message") || !strings.Contains(got[1], "the user sent a new message") {
		t.Errorf("ran %v; results %v", b.ran, got)
	}
	b.checkHistory("s")
}

// Words of every kind on the call that still waits are taken while another word is being stored.
func TestWordsWhileAWordIsStored(t *testing.T) {
	result := `{"mine":1}`
	for name, tc := range map[string]struct {
		say func(id string) runtime.Decision
		ran []string
	}{
		"allow":  {func(id string) runtime.Decision { return runtime.Decision{Call: id, Allow: true} }, []string{"fire:a", "fire:b"}},
		"deny":   {func(id string) runtime.Decision { return runtime.Decision{Call: id} }, []string{"fire:a"}},
		"answer": {func(id string) runtime.Decision { return runtime.Decision{Call: id, Result: &result} }, []string{"fire:a"}},
		"edit":   {func(id string) runtime.Decision { return runtime.Decision{Call: id, Arguments: `{"text":"mine"}`} }, []string{"fire:a", "fire:mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := asking(t, twoFires(), scripted.Text("fine"))
			b.run(func(ctx context.Context) {
				b.begin(ctx, "go", time.Second)
				b.slowWords()
				q := b.questions()
				b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true})
				b.decide(ctx, tc.say(q[1].ID))
				if err := b.clk.Sleep(ctx, 5*time.Minute); err != nil {
					t.Fatal(err)
				}
				if name == "edit" {
					q = b.questions()
					if len(q) != 1 || string(q[0].Arguments) != `{"text":"mine"}` {
						t.Fatalf("questions = %+v", q)
					}
					b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true})
				}
				if end := b.await(ctx, 0); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			if d := cmp.Diff(tc.ran, b.ran); d != "" {
				t.Error(d)
			}
			b.checkHistory("s")
		})
	}
}

// While the last word is being stored nothing waits any more: a message is the next one's, and a word finds no call.
func TestNothingWaitsWhileTheLastWordIsStored(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"), scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.slowWords()
		q := b.questions()[0]
		b.decide(ctx, runtime.Decision{Call: q.ID, Allow: true})
		edit := runtime.Setting{Decide: []runtime.Decision{{Call: q.ID, Arguments: `{"text":"late"}`}}}
		if err := b.eng.Set(ctx, "s", edit); err == nil {
			t.Error("an edit is taken of a call whose word is being stored")
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Step: &runtime.Step{Call: q.ID}}); err == nil {
			t.Error("a step is taken where nothing stands still")
		}
		if err := b.eng.Submit(ctx, "s", "next"); err != nil {
			t.Fatal(err)
		}
		if end := b.await(ctx, 1); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if d := cmp.Diff([]string{"fire:a"}, b.ran); d != "" {
		t.Error(d)
	}
	for _, ev := range b.named(trace.RunEnd) {
		if end := ev.Data.(trace.RunEndData); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	}
	b.checkHistory("s")
}

// However many calls of a reply wait: words on all of them at once are all taken, or an error says that none was.
func TestManyWordsAtOnce(t *testing.T) {
	const many = 300
	var calls []scripted.Call
	for i := range many {
		calls = append(calls, scripted.Call{Name: "fire", Args: fmt.Sprintf(`{"text":"%d"}`, i)})
	}
	b := asking(t, scripted.Calls(calls...), scripted.Text("done"))
	b.cfg.Limits.Budget, b.cfg.Limits.ContextTokens = runtime.Budget{}, 1_000_000
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		var words []runtime.Decision
		for _, q := range b.questions() {
			words = append(words, runtime.Decision{Call: q.ID, Allow: true})
		}
		if len(words) != many {
			t.Fatalf("%d questions", len(words))
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Decide: slices.Repeat(words, 10)}); err == nil || !strings.Contains(err.Error(), "none was taken") {
			t.Fatalf("words without end: %v", err)
		}
		if n := len(b.questions()); n != many {
			t.Fatalf("%d questions after words that were refused", n)
		}
		b.set(ctx, runtime.Setting{Decide: words})
		if n := len(b.questions()); n != 0 {
			t.Errorf("%d words were dropped", n)
			b.eng.Cancel("s")
		}
		b.await(ctx, 0)
	})
	if len(b.ran) != many {
		t.Errorf("%d of %d ran", len(b.ran), many)
	}
}
