package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"vitrine/ui/record"
	"vitrine/ui/words"
)

const longDemoExport words.Text = `Make a GIF, an SVG that moves, or text from a recording: an asciicast, version 2, of this program or of another.

Pauses are as long as the recording says unless --idle says otherwise. Pictures are drawn with fonts of the program's own. The keys
that are configured are masked. A file that is there is replaced when the new one is complete.`

// demoExport makes pictures and text of a cast.
func (c *command) demoExport(o *options) *cobra.Command {
	var d demoOptions
	var files record.Files
	cmd := &cobra.Command{
		Use: "export CAST", Short: c.T("Make a GIF, SVG or text from a recording"), Long: c.T(longDemoExport),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &UsageError{What: "name one recording", Do: "vitrine " + helpOf(cmd)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.exportCast(cmd.Context(), o, args[0], files, &d)
		},
	}
	f := cmd.Flags()
	f.StringVar(&files.GIF, "gif", "", c.T("the GIF to write"))
	f.StringVar(&files.SVG, "svg", "", c.T("the SVG to write"))
	f.StringVar(&files.Text, "txt", "", c.T("the text file to write: the screen at each mark, and the last"))
	f.Float64Var(&d.speed, "speed", 1, c.T("how much faster than it was, 0.1 to 100"))
	f.DurationVar(&d.idle, "idle", 0, c.T("the longest pause, such as 2s (default: as the recording has it)"))
	d.look(c, f)
	return cmd
}

// exportCast checks the flags, makes the files and says that they are there.
func (c *command) exportCast(ctx context.Context, o *options, cast string, files record.Files, d *demoOptions) error {
	if files == (record.Files{}) {
		return &UsageError{What: "nothing is to be written", Do: "name a file with --gif, --svg or --txt"}
	}
	if err := d.checkPace(); err != nil {
		return err
	}
	look, err := c.lookOf(d)
	if err != nil {
		return err
	}
	cfg, err := c.load(o) // its keys have to be known
	if err != nil {
		return err
	}
	look.Speed, look.Idle = d.speed, d.idle
	look.Masked = cfg.Secrets()
	err = record.Export(ctx, cast, files, look)
	if same, ok := errors.AsType[*record.SameError](err); ok {
		return &UsageError{What: same.Error(), Do: "name another file"}
	}
	if err != nil {
		return err
	}
	var wrote []string
	for _, path := range []string{files.GIF, files.SVG, files.Text} {
		if path != "" {
			wrote = append(wrote, path)
		}
	}
	c.err.line("%s", c.T("vitrine: wrote %s; look at it before you share it: it shows all that was on the screen", strings.Join(wrote, ", ")))
	return nil
}
