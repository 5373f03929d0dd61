package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/words"
)

// The exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2 // wrong usage or configuration
	ExitWaits       = 3 // waits for the user: an approval, an unknown outcome
	ExitBudget      = 4 // a budget ran out
	ExitInterrupted = 130
)

// UsageError is a command line that asks for what cannot be.
type UsageError struct {
	// What is wrong, Do what to do about it.
	What, Do string
}

// Error is both.
func (e *UsageError) Error() string { return sentence(e.What, e.Do) }

// StoreError is a store that could not be opened or read. Err says all about it in one line.
type StoreError struct {
	Err error
	// Configuration is set when another path or other permissions would help.
	Configuration bool
}

// Error is that of Err, with the variable that names the path.
func (e *StoreError) Error() string {
	s := e.Err.Error()
	if e.Configuration && !strings.Contains(s, "AGENT_DB_PATH") {
		s = sentence(s, "the path comes from AGENT_DB_PATH")
	}
	return s
}

// Unwrap is Err.
func (e *StoreError) Unwrap() error { return e.Err }

// RunError is a run that did not succeed.
type RunError struct {
	State  runtime.State
	Reason runtime.Reason
	// Told says that the user has been told why.
	Told bool
	// SessionID is where the run stands, User who was named with --user.
	SessionID, User string
}

// Error says how the run ended and what can be done.
func (e *RunError) Error() string {
	switch e.State {
	case runtime.StateExhausted:
		return fmt.Sprintf("the run ended because a budget ran out (%s); the model was not asked again", e.Reason)
	case runtime.StateCancelled:
		return sentence("interrupted; what was done so far is stored", "session "+e.SessionID)
	case runtime.StateWaitingApproval, runtime.StateReconciling:
		return sentence("the run waits for your word", "open it with vitrine --session "+e.SessionID+asUser(e.User))
	}
	if e.Reason != "" {
		return fmt.Sprintf("the run failed (%s)", e.Reason)
	}
	return "the run failed"
}

// OutputError is standard output that could not be written.
type OutputError struct {
	Err error
	// Do says where what is missing can be had.
	Do string
}

// Error names the cause.
func (e *OutputError) Error() string {
	return sentence(fmt.Sprintf("cannot write to standard output: %s", cause(e.Err)), e.Do)
}

// Unwrap is the cause.
func (e *OutputError) Unwrap() error { return e.Err }

// userError is an error of a command that was given for a user; empty is the login name.
type userError struct {
	error
	user string
}

// Unwrap is the error.
func (e *userError) Unwrap() error { return e.error }

// asUser is the flag that a command needs which is printed to be copied: without it the sessions would be another
// user's. Users have no characters that a shell would read otherwise.
func asUser(user string) string {
	if user == "" {
		return ""
	}
	return " --user " + user
}

// errInterrupted is a command that a signal ended.
var errInterrupted = errors.New("interrupted")

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var (
		usage  *UsageError
		conf   *config.Error
		file   *configFileError
		store  *StoreError
		run    *RunError
		larger *runtime.TooLargeError
		open   *runtime.OutcomeError
		other  *runtime.VersionError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &run):
		return runCode(run)
	case errors.As(err, &open):
		return ExitWaits
	case errors.As(err, &store) && store.Configuration:
		return ExitUsage
	case errors.As(err, &usage), errors.As(err, &conf), errors.As(err, &file), errors.As(err, &larger), errors.As(err, &other),
		errors.Is(err, runtime.ErrHeld), errors.Is(err, runtime.ErrOtherUser), errors.Is(err, runtime.ErrNotFound),
		errors.Is(err, runtime.ErrEmptyInput):
		return ExitUsage
	}
	return ExitFailed
}

func runCode(e *RunError) int {
	switch e.State {
	case runtime.StateSucceeded:
		return ExitOK
	case runtime.StateExhausted:
		return ExitBudget
	case runtime.StateCancelled:
		return ExitInterrupted
	case runtime.StateWaitingApproval, runtime.StateReconciling:
		return ExitWaits
	}
	return ExitFailed
}

// describe is the one place where errors become text for the user: lines that say what happened, why, and what to do.
func describe(err error) []string {
	var (
		held  *runtime.HeldError
		run   *RunError
		open  *runtime.OutcomeError
		other *runtime.VersionError
	)
	switch {
	case errors.As(err, &open):
		var of *userError
		if !errors.As(err, &of) {
			of = &userError{}
		}
		return describeOutcomes(open, of.user)
	case errors.As(err, &other):
		return []string{sentence(other.Error(), "bring that back, or give the run up: a new prompt to its session does")}
	case errors.As(err, &run) && run.Told && (run.State == runtime.StateFailed || run.State == runtime.StateExhausted):
		return nil
	case errors.As(err, &held):
		return []string{fmt.Sprintf("session %s is open in process %d; close it there, or name another one with --session", held.SessionID, held.PID)}
	case errors.Is(err, runtime.ErrOtherUser):
		return []string{sentence(err.Error(), "name another session, or the right user with --user")}
	case errors.Is(err, runtime.ErrNotStored):
		return []string{sentence(err.Error(), "what was stored before is safe; mend that and ask again")}
	case errors.Is(err, context.Canceled):
		return []string{errInterrupted.Error()}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, describe(e)...)
		}
		return lines
	}
	return []string{err.Error()}
}

// describeEvent is the same for a failure that an event tells of, in the language of lang. Advice that names what only the screen has is
// left out.
func describeEvent(lang words.Lang, d trace.ErrorData) string {
	// Each part is translated by itself: joined, one that is not known could take the others along.
	because, also := ": ", "; "
	if lang == words.Chinese {
		because, also = "：", "；"
	}
	s := lang.Tell(d.Message)
	if d.Why != "" {
		s += because + lang.Tell(d.Why)
	}
	var advice []string
	for _, part := range strings.Split(d.Todo, "; ") {
		for _, one := range strings.SplitAfter(part, ". ") {
			if one = strings.Trim(one, " ."); one != "" && !strings.Contains(one, "/") && !strings.Contains(one, "this tab") {
				advice = append(advice, lang.Tell(withinSentence(one)))
			}
		}
	}
	if len(advice) == 0 {
		return s
	}
	return s + also + strings.Join(advice, also)
}

// withinSentence writes a sentence as a part of another one. Names such as OPENAI_BASE_URL keep their letters.
func withinSentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[size:]); unicode.IsUpper(second) {
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}

// finish writes what went wrong and gives the exit code.
func (c *command) finish(err error) int {
	if c.out.err != nil && !c.out.gone() && !c.rerouted(err) {
		err = &OutputError{Err: c.out.err}
	}
	code := exitCode(err)
	if code == ExitFailed && c.stop.stopped() {
		code = ExitInterrupted
	}
	if err != nil {
		for _, line := range describe(err) {
			c.err.line("vitrine: %s", c.lang.Tell(line))
		}
		var failed *DemoError
		if errors.As(err, &failed) {
			c.err.text(strings.TrimRight(failed.Screen, "\n"))
		}
	}
	return code
}

// rerouted says that err is about the output already, or weighs more.
func (c *command) rerouted(err error) bool {
	var out *OutputError
	return errors.As(err, &out) || exitCode(err) > ExitFailed
}

// sentence joins what happened and what to do.
func sentence(what, do string) string {
	if do == "" {
		return what
	}
	return what + "; " + do
}

// cause is the innermost error's text: for system errors, what the system says.
func cause(err error) string {
	for {
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			next = joined.Unwrap()[0]
		}
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
