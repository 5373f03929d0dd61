package export

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/ui/paint"
)

// htmlHead begins the file: its title twice, and the facts. It fetches nothing and runs nothing.
const htmlHead = `<!doctype html>
<html lang="%s">
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
		said, files := attach.Split(m.Content)
		w.print("<h2>%s</h2>\n<section class=\"user\">%s</section>\n", w.lang.T("Turn %d", w.turn), escape(paint.CleanSource(said)))
		for _, f := range files {
			w.print("<details><summary>%s</summary><pre>%s</pre></details>\n", w.lang.T("With %s, %s", "<code>"+escape(paint.CleanLine(f.Name))+"</code>", w.attached(f)), escape(paint.CleanSource(f.Text)))
		}
	case llm.KindTool:
		w.print("<details><summary>%s</summary><pre>%s</pre></details>\n", w.lang.T("%s gave", "<code>"+escape(paint.CleanLine(m.ToolName))+"</code>"), escape(text))
	case llm.KindNotice:
		w.print("<p class=\"note\">%s %s</p>\n", w.lang.T("Note to the model:"), escape(text))
	default:
		if strings.TrimSpace(text) != "" {
			w.print("<section>%s</section>\n", w.rendered(text))
		}
		for _, c := range m.ToolCalls {
			w.print("<details><summary>%s</summary><pre>%s</pre></details>\n", w.lang.T("Called %s", "<code>"+escape(paint.CleanLine(c.Name))+"</code>"), escape(paint.CleanSource(c.Arguments)))
		}
	}
	if m.Partial {
		w.print("<p class=\"note\">%s</p>\n", w.lang.T("(cut)"))
	}
}

// rendered is Markdown as HTML. Tags in it are shown as the text that they are; links that would run something are left out.
func (w *Writer) rendered(source string) string {
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tagsAsText{}, 1))))
	if err := md.Convert([]byte(source), &b); err != nil {
		return "<pre>" + escape(source) + "</pre>"
	}
	return b.String()
}

// tagsAsText renders raw HTML as text.
type tagsAsText struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (tagsAsText) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			writeText(w, source, n.(*ast.RawHTML).Segments)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block := n.(*ast.HTMLBlock)
		if entering {
			_, _ = w.WriteString("<pre>")
			writeText(w, source, block.Lines())
			return ast.WalkContinue, nil
		}
		if block.HasClosure() {
			_, _ = w.WriteString(escape(string(block.ClosureLine.Value(source))))
		}
		_, _ = w.WriteString("</pre>\n")
		return ast.WalkContinue, nil
	})
}

// writeText writes to memory, which does not fail.
func writeText(w util.BufWriter, source []byte, parts *text.Segments) {
	for i := range parts.Len() {
		part := parts.At(i)
		_, _ = w.WriteString(escape(string(part.Value(source))))
	}
}
