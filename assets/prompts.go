package assets

import (
	_ "embed"
	"strings"
)

//go:embed prompts/system.md
var systemPrompt string

//go:embed prompts/summarize.md
var summarizePrompt string

// SummarizePrompt asks a model for the memory of what leaves the window, without a line end.
func SummarizePrompt() string { return strings.TrimRight(summarizePrompt, "\n") }

// SystemPrompt is the program's system prompt, without a line end.
func SystemPrompt() string { return strings.TrimRight(systemPrompt, "\n") }
