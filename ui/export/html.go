package export

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/ui/paint"
)

// htmlHead begins the file: its title twice, and the facts. It fetches nothing and runs nothing.
const htmlHead = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
section { margin: 1.5rem 0; }
.user { border-left: 4px solid #07665A; padding-left: 1rem; font-weight: 600; white-space: pre-wrap; }
.note, .facts { opacity: .75; font-size: .9em; }
pre { overflow-x: auto; padding: .5rem .75rem; background: color-mix(in srgb, currentColor 8%%, transparent); white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; } td, th { border: 1px solid; padding: .2rem .6rem; }
</style>
<main>
<h1>%s</h1>
<p class="facts">%s</p>
`

func escape(text string) string { return html.EscapeString(text) }

func (w *Writer) html(m runtime.MessageRow) {
	text := paint.CleanSource(m.Content)
	switch m.Kind {
	case llm.KindUser:
		w.print("<h2>Turn %d</h2>\n<section class=\"user\">%s</section>\n", w.turn, escape(text))
	case llm.KindTool:
		w.print("<details><summary><code>%s</code> gave</summary><pre>%s</pre></details>\n", escape(paint.CleanLine(m.ToolName)), escape(text))
	case llm.KindNotice:
		w.print("<p class=\"note\">Note to the model: %s</p>\n", escape(text))
	default:
		if strings.TrimSpace(text) != "" {
			w.print("<section>%s</section>\n", w.rendered(text))
		}
		for _, c := range m.ToolCalls {
			w.print("<details><summary>Called <code>%s</code></summary><pre>%s</pre></details>\n", escape(paint.CleanLine(c.Name)), escape(paint.CleanSource(c.Arguments)))
		}
	}
	if m.Partial {
		w.print("<p class=\"note\">(cut)</p>\n")
	}
}

// rendered is Markdown as HTML. The library leaves raw HTML and links that would run something out.
func (w *Writer) rendered(text string) string {
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(text), &b); err != nil {
		return "<pre>" + escape(text) + "</pre>"
	}
	return b.String()
}
