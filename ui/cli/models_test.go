package cli

import (
	"errors"
	"strings"
	"testing"

	"vitrine/llm"
)

func TestModels(t *testing.T) {
	b := newBench(t)
	ollama := llm.LocalServers()[0]
	check := func(want string, args ...string) {
		t.Helper()
		got := b.run(append([]string{"models"}, args...)...)
		if got.out != want || got.code != 0 {
			t.Errorf("%v gives %d %s\n%s\nwant\n%s", args, got.code, got.err, got.out, want)
		}
	}
	check(`   MODEL    CONTEXT  AT
*  offline  -        built in
`)
	b.f.offer = Offer{Local: []LocalOffer{{Server: ollama, Models: []llm.ModelInfo{{ID: "llama3.2:1b", Context: 4096}, {ID: "evil\x1b]0;x\x07\u202e"}}}}}
	check(`   MODEL                     CONTEXT  AT
   local:ollama/llama3.2:1b  4.1k     Ollama on this machine
   local:ollama/evil         -        Ollama on this machine
*  offline                   -        built in
`)
	b.proc.Environ = append(b.proc.Environ, "OPENAI_BASE_URL=http://h.example:8080/v1?k=secret", "MODEL=b")
	b.f.offer.Models = []llm.ModelInfo{{ID: "a", Context: 128000}, {ID: "b"}}
	b.f.offer.Local = nil
	check(`   MODEL    CONTEXT  AT
   a        128k     h.example:8080
*  b        -        h.example:8080
   offline  -        built in
`)
	check(`{"model":"a","context":128000,"at":"h.example:8080"}
{"model":"b","context":null,"at":"h.example:8080","current":true}
{"model":"offline","context":null,"at":"built in"}
`, "--json")
	// The current one is shown where no list names it: the endpoint's own names are not all there is.
	b.proc.Environ = append(b.proc.Environ, "MODEL=local:ollama/gone")
	b.f.offer.Models = nil
	check(`   MODEL              CONTEXT  AT
*  local:ollama/gone  -        Ollama on this machine, not listed there
   offline            -        built in
`)
	// An endpoint that is one of this machine's servers is listed once.
	b.proc.Environ = append(b.proc.Environ, "OPENAI_BASE_URL=http://localhost:11434/v1", "MODEL=m")
	b.f.offer = Offer{Models: []llm.ModelInfo{{ID: "m"}}, Local: []LocalOffer{{Server: ollama, Models: []llm.ModelInfo{{ID: "m"}}}, {Server: llm.LocalServers()[1], Models: []llm.ModelInfo{{ID: "g"}}}}}
	check(`   MODEL              CONTEXT  AT
*  m                  -        localhost:11434
   local:llama.cpp/g  -        llama.cpp on this machine
   offline            -        built in
`)
	b.f.offer.Err = errors.New("h.example refused the key")
	got := b.run("models")
	if got.code != ExitFailed || !strings.Contains(got.err, "h.example refused the key") || !strings.Contains(got.out, "offline") {
		t.Errorf("%+v", got)
	}
	if all := got.out + got.err; strings.Contains(all, "secret") {
		t.Errorf("the address's secret stands in %s", all)
	}
}
