package runtime

import (
	"errors"
	"fmt"
	"strings"

	"vitrine/trace"
)

// set applies a change by the user.
func (s *session) set(c Setting) error {
	if err := s.writable(); err != nil {
		return err
	}
	switch {
	case c.Title != nil:
		return s.rename(*c.Title)
	case c.Model != nil:
		return s.setModel(*c.Model)
	case c.ToggleTodo != "":
		return s.toggle(c.ToggleTodo)
	case c.AddTodo != "":
		return s.addTodo(c.AddTodo)
	case c.Compact:
		return s.foldNow()
	case c.UndoFold:
		return s.undoFold()
	case c.Fold != nil:
		s.foldWord.TryPut(*c.Fold)
		return nil
	case len(c.Decide) > 0 && c.Resume == nil:
		return s.decideCalls(c.Decide)
	case c.Break != nil:
		return s.setBreak(*c.Break)
	case c.Step != nil && c.Resume == nil:
		return s.step(*c.Step)
	case c.StopCall != "":
		return s.stopCall(c.StopCall)
	case c.ToolRule != nil:
		return s.setRule(*c.ToolRule)
	case c.Pin != "":
		return s.pin(c.Pin)
	case c.Unpin != "":
		return s.unpin(c.Unpin)
	case c.Leave:
		s.stopRun(ReasonPaused)
		return nil
	case c.Resume != nil:
		return s.settle(c)
	case len(c.Outcomes) > 0:
		return s.noteOutcomes(c.Outcomes)
	}
	return nil
}

func (s *session) rename(title string) error {
	title = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(title, "\uFFFD"), unprintable), " ")
	title = cutTitle(title, titleLimit)
	if title == "" {
		return errors.New("a title cannot be empty")
	}
	tx := s.tx()
	tx.Title = &title
	tx.Events = []trace.Event{s.event(trace.SessionData{Action: "renamed", Title: title})}
	if _, err := s.commit(tx); err != nil {
		return err
	}
	s.row.Title = title
	return nil
}

func (s *session) setModel(model string) error {
	if s.busy() {
		return errors.New("the model cannot change while a turn runs")
	}
	tx := s.tx()
	tx.Model = &model
	tx.Events = []trace.Event{s.event(trace.SessionData{Action: "model", Model: model})}
	if _, err := s.commit(tx); err != nil {
		return err
	}
	s.row.Model = model
	s.counter.Drop(true)
	s.cut = serverCut{}
	m := s.measure()
	s.publish(trace.StateData{State: "", Meter: &m})
	return nil
}

func (s *session) toggle(id string) error {
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	todos, err := s.eng.cfg.Store.Todos(ctx, s.id)
	if err != nil {
		return fmt.Errorf("read the todos of session %s: %w", s.id, err)
	}
	for _, t := range todos {
		if t.ID != id {
			continue
		}
		action := "completed"
		if t.Completed {
			action = "reopened"
		}
		tx := s.tx()
		tx.Todos = []TodoChange{{Action: action, ID: id, CreatedAt: tx.At}}
		tx.Events = []trace.Event{s.event(trace.TodoData{ID: id, Text: t.Text, Completed: !t.Completed, Action: action})}
		_, err := s.commit(tx)
		return err
	}
	return fmt.Errorf("todo %s: %w", id, ErrNotFound)
}
