package store

import (
	"testing"

	"vitrine/runtime"
)

// What a run started, and what that started, with what each used; nothing of others, and no end where the rows make a ring.
func TestStarted(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	for _, run := range []runtime.RunRow{
		{ID: "root", State: runtime.StateSucceeded}, {ID: "child", ParentRun: "root", State: runtime.StateSucceeded, Usage: runtime.RunUsage{Calls: 3}},
		{ID: "grandchild", ParentRun: "child", State: runtime.StateExecuting, Usage: runtime.RunUsage{Prompt: 9}},
		{ID: "second", ParentRun: "root", State: runtime.StateFailed}, {ID: "other", State: runtime.StateFailed}, {ID: "others", ParentRun: "other", State: runtime.StateFailed},
		{ID: "ring", ParentRun: "ring", State: runtime.StateFailed},
	} {
		tx := r.tx(row)
		tx.Run = &run
		r.commit(t, tx)
	}
	for of, want := range map[string][]string{"root": {"child", "grandchild", "second"}, "child": {"grandchild"}, "second": nil, "other": {"others"}, "": nil, "nope": nil, "ring": nil} {
		rows, err := r.Started(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.ID)
			if row.ID == "child" && row.Usage.Calls != 3 || row.ID == "grandchild" && row.Usage.Prompt != 9 {
				t.Errorf("%+v", row)
			}
		}
		diff(t, want, got)
	}
}
