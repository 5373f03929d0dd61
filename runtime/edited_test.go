package runtime_test

import (
	"testing"

	"vitrine/runtime"
)

// The arguments of the user are found in a tool message, and nowhere else in it.
func TestEditedArgumentsInAMessage(t *testing.T) {
	const told = "The user changed the arguments of this call before it ran: "
	for in, want := range map[string]string{
		`{"ok":true,"notice":"` + told + `{\"a\":1}"}`:                       `{"a":1}`,
		`{"ok":true,"notice":"` + told + `{\"a\":{\"b\":\"}\"}} And more."}`: `{"a":{"b":"}"}}`,
		`{"ok":true,"data":"` + told + `{\"a\":1}"}`:                         "",
		`{"ok":true,"data":{"notice":"` + told + `{\"a\":1}"}}`:              "",
		`{"ok":true,"notice":"Note. ` + told + `{\"a\":1}"}`:                 "",
		`{"ok":true,"notice":"` + told + `{\"a\":"}`:                         "",
		`not json`: "",
	} {
		if got := string(runtime.EditedArguments(in)); got != want {
			t.Errorf("%s gives %q, want %q", in, got, want)
		}
	}
}
