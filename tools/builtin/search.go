package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"vitrine/tools"
)

const (
	maxHits    = 3
	maxSnippet = 200 // characters
)

type searchIn struct {
	Query string `json:"query" minlen:"1" maxlen:"500" jsonschema:"a few keywords, English or Chinese"`
}

type searchHit struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Lang    string  `json:"lang"`
	Score   float64 `json:"score"`
	Snippet string  `json:"snippet"`
}

type searchOut struct {
	Hits []searchHit `json:"hits"`
}

// SearchMock makes the tool that looks keywords up in the documents of corpus. The same query gives the same hits in the same
// order, always. The documents are read and indexed at the first call; one that cannot be read fails every call.
func SearchMock(corpus fs.FS) tools.Tool {
	load := sync.OnceValues(func() (*index, error) { return newIndex(corpus) })
	return tools.New("search_mock", fmt.Sprintf("Looks keywords up in a small built-in library of short texts on agents, Go and this program, "+
		"in English and Chinese, and gives the best %d with title, score and an excerpt. It knows nothing else: it is no web search.", maxHits),
		tools.ReadOnly, func(_ context.Context, _ tools.Call, in searchIn) (tools.Output, error) {
			idx, err := load()
			if err != nil {
				return tools.Output{}, fmt.Errorf("index the library: %w", err)
			}
			if len(terms(in.Query)) == 0 {
				return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "query", Expected: "words", Message: "the query holds no words"}
			}
			out := searchOut{Hits: idx.search(in.Query)}
			summary := fmt.Sprintf("%d hits", len(out.Hits))
			switch len(out.Hits) {
			case 0:
				summary = "no hits"
			case 1:
				summary = "1 hit"
			}
			return tools.Output{Data: out, Summary: summary}, nil
		})
}
