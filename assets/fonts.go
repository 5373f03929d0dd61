package assets

import (
	_ "embed"
	"io"
	"strings"
)

//go:embed fonts/DroidSansFallbackFull.ttf
var fallbackFont string

// FallbackFont gives the TrueType font of what Go Mono lacks: Han, kana, Greek, Cyrillic and signs. Its licence lies beside it.
func FallbackFont() io.ReaderAt { return strings.NewReader(fallbackFont) }
