package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"vitrine/runtime"
	"vitrine/ui/demo"
	"vitrine/ui/export"
	"vitrine/ui/record"
)

// demoFrom makes a script of a session.
func (c *command) demoFrom(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "from ID", Short: c.T("Make a demo script of a session"), Args: oneID,
		Long: c.T("Make a demo script of a session: its inputs are typed, its model's replies are scripted, its answers expected; the tools run again,\n" +
			"on the files that the session read, as far as it read them. It is a bug report that plays itself, and a regression test when it is kept.\n" +
			"The keys that are configured are masked. Look at it before you share it: it holds what was said and read."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.makeDemo(cmd.Context(), o, args[0], output)
		},
	}
	cmd.Flags().StringVar(&output, "output", "", c.T("the file to write (default: standard output)"))
	return cmd
}

func (c *command) makeDemo(ctx context.Context, o *options, id, output string) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	if app != nil {
		defer func() { err = c.closeApp(app, err) }()
	}
	info, err := c.find(ctx, cfg, app, id)
	if err != nil {
		return err
	}
	story := demo.NewStory(info.Title, record.Hider(cfg.Secrets()))
	for after := int64(0); ; {
		page, err := app.Library.Events(ctx, id, "", after, pageSize)
		if err != nil {
			return fmt.Errorf("read the events of session %s: %w", id, err)
		}
		for _, e := range page {
			story.Event(e)
			after = e.Seq
		}
		if len(page) < pageSize {
			break
		}
	}
	if err := c.eachMessage(ctx, app, id, func(m runtime.MessageRow) error { story.Message(m); return nil }); err != nil {
		return err
	}
	script, err := story.Script()
	if err != nil {
		return &UsageError{What: err.Error()}
	}
	if output == "" {
		_, err := c.out.w.Write(script)
		return err
	}
	if err := export.NewFile(output, func(w io.Writer) error { _, err := w.Write(script); return err }); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &UsageError{What: output + " is there already", Do: "name another file"}
		}
		return fmt.Errorf("write the demo script %s: %w", output, err)
	}
	c.err.line("%s", c.T("vitrine: wrote %s; look at it before you share it: it holds what was said and read", output))
	return nil
}
