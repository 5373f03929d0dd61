package assets

import (
	_ "embed"
	"strings"
)

//go:embed prompts/system.md
var systemPrompt string

// SystemPrompt is the program's system prompt, without a line end.
func SystemPrompt() string { return strings.TrimRight(systemPrompt, "\n") }
