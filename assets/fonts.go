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

//go:embed fonts/NotoEmojiUsual.ttf
var emojiFont string

// EmojiFont gives the TrueType font of the most usual emoji, in one colour. Its licence lies beside it.
func EmojiFont() io.ReaderAt { return strings.NewReader(emojiFont) }

//go:embed fonts/DejaVuSigns.ttf
var signsFont string

// SignsFont gives the TrueType font of what Go Mono and the fallback font lack: arrows, mathematics, shapes, dingbats, marks, and rarer
// letters of Latin, Greek and Cyrillic. Its licence lies beside it.
func SignsFont() io.ReaderAt { return strings.NewReader(signsFont) }
