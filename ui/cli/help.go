package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// speakHelp puts what Cobra writes itself into the language of the command.
func (c *command) speakHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.NewReplacer(
		"Usage:", c.T("Usage:"), "Aliases:", c.T("Aliases:"), "Examples:", c.T("Examples:"), "Available Commands:", c.T("Available Commands:"),
		"Global Flags:", c.T("Global Flags:"), "Flags:", c.T("Flags:"),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, c.T(`"%s [command] --help" tells more of a command.`, "{{.CommandPath}}"),
	).Replace(root.UsageTemplate()))
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	c.speakFlags(root)
}

func (c *command) speakFlags(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	if f := cmd.Flags().Lookup("help"); f != nil {
		f.Usage = c.T("help for %s", cmd.Name())
	}
	if f := cmd.Flags().Lookup("version"); f != nil {
		f.Usage = c.T("version of %s", cmd.Name())
	}
	if cmd.Name() == "help" {
		cmd.Short = c.T("Help about any command")
		cmd.Long = cmd.Short
	}
	for _, sub := range cmd.Commands() {
		c.speakFlags(sub)
	}
}
