package cli

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"vitrine/runtime"
)

// schemaLimit bounds the file of --expect-schema, in bytes.
const schemaLimit = 1 << 20

// expectations are the flags that say what an answer has to pass.
type expectations struct {
	schema, regexp, tool string
	noOpenTodo           bool
}

func (c *command) expectFlags(e *expectations, f *pflag.FlagSet) {
	f.StringVar(&e.schema, "expect-schema", "", c.T("the answer has to be JSON that satisfies the JSON schema in this file"))
	f.StringVar(&e.regexp, "expect-regexp", "", c.T("the answer has to match this regular expression somewhere"))
	f.StringVar(&e.tool, "expect-tool", "", c.T("this tool has to succeed before the answer"))
	f.BoolVar(&e.noOpenTodo, "expect-no-open-todo", false, c.T("no todo of the session may be open at the end"))
}

// checks makes the checks of the flags; nil when there are none.
func (e *expectations) checks() (*runtime.Checks, error) {
	if *e == (expectations{}) {
		return nil, nil
	}
	c := &runtime.Checks{Regexp: e.regexp, Tool: e.tool, NoOpenTodo: e.noOpenTodo}
	if e.schema != "" {
		var err error
		if c.Schema, err = readSchema(e.schema); err != nil {
			return nil, &UsageError{What: fmt.Sprintf("--expect-schema %s: %v", e.schema, err), Do: "name a file with a JSON schema"}
		}
	}
	if err := c.Validate(); err != nil {
		return nil, &UsageError{What: "what the answer has to pass cannot be checked: " + err.Error(), Do: "correct the --expect flag"}
	}
	return c, nil
}

func readSchema(path string) ([]byte, error) {
	b, err := readBounded(path, schemaLimit)
	if err == nil && len(bytes.TrimSpace(b)) == 0 {
		err = errors.New("it is empty")
	}
	return b, err
}
