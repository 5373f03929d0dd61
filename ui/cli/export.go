package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"vitrine/runtime"
	"vitrine/ui/export"
	"vitrine/ui/words"
)

const longExport words.Text = `Write a session with all its messages, folded ones too, as Markdown, JSON or one HTML file that needs nothing else:
to standard output, or to a file that does not exist yet.`

func (c *command) exportCommand(o *options) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use: "export ID", Short: c.T("Write a session as Markdown, JSON or HTML"), Args: oneID,
		Long: c.T(longExport),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format == "" {
				format = filepath.Ext(output)
			}
			f, err := export.ParseFormat(format)
			if err != nil {
				return &UsageError{What: err.Error(), Do: "name one with --format"}
			}
			return c.exportSession(cmd.Context(), o, args[0], f, output)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", c.T("md, json or html (default: by the file's name, else md)"))
	cmd.Flags().StringVar(&output, "output", "", c.T("the file to write"))
	return cmd
}

func (c *command) exportSession(ctx context.Context, o *options, id string, f export.Format, output string) (err error) {
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
	if output == "" {
		return c.writeSession(ctx, app, info, f, c.out.w)
	}
	if err := export.NewFile(output, func(w io.Writer) error { return c.writeSession(ctx, app, info, f, w) }); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &UsageError{What: output + " is there already", Do: "name another file"}
		}
		return fmt.Errorf("export session %s to %s: %w", id, output, err)
	}
	c.err.line("vitrine: wrote %s", output)
	return nil
}

func (c *command) writeSession(ctx context.Context, app *App, info runtime.SessionInfo, f export.Format, w io.Writer) error {
	return export.Write(ctx, w, f, app.Library, info, c.lang)
}
