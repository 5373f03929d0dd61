package runtime_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"vitrine/runtime"
)

var updateDiagram = flag.Bool("update-diagram", false, "write the state table into the package comment")

// diagram draws the table: a state, and for each place that it leads to the inputs and what is done.
func diagram() string {
	var b strings.Builder
	for _, s := range runtime.States() {
		if s.Terminal() {
			continue
		}
		fmt.Fprintf(&b, "//\t%s\n", s)
		type edge struct{ to, do string }
		var order []edge
		inputs := map[edge][]string{}
		for _, in := range runtime.Inputs() {
			switch in {
			case runtime.InCancel, runtime.InGiveUp, runtime.InBroken:
				continue // the same in every state, told once
			}
			next, effects, err := runtime.Next(s, in)
			if err != nil {
				continue
			}
			e := edge{to: string(next)}
			for _, do := range effects {
				e.do = " (" + string(do) + ")"
			}
			if inputs[e] == nil {
				order = append(order, e)
			}
			inputs[e] = append(inputs[e], string(in))
		}
		for _, e := range order {
			fmt.Fprintf(&b, "//\t  --> %s%s: %s\n", e.to, e.do, strings.Join(inputs[e], ", "))
		}
	}
	return b.String()
}

// The diagram in the package comment is the table.
func TestDiagramIsTrue(t *testing.T) {
	b, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "// The state table, made from Next by a test:\n//\n", "//\n// From every state"
	before, rest, ok := strings.Cut(string(b), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("doc.go has no place for the diagram")
	}
	if old == diagram() {
		return
	}
	if !*updateDiagram {
		t.Fatalf("the diagram is not the table (go test ./runtime -run Diagram -update-diagram):\n%s", diagram())
	}
	if err := os.WriteFile("doc.go", []byte(before+from+diagram()+to+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
