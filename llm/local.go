package llm

import "strings"

// ModelInfo is a model that a server offers.
type ModelInfo struct {
	// ID is how requests name it.
	ID string
	// Context is how many tokens prompt and reply may have together, 0 when the server does not say.
	Context int
}

// LocalServer is a program for running models oneself, at the address on the loopback where it is by default.
type LocalServer struct {
	// Prefix stands before the names of its models, behind LocalMark and with a slash.
	Prefix string
	// Name is for people.
	Name string
	// Root is its address without a path; OpenAI's protocol is below /v1.
	Root string
}

// BaseURL is where it speaks OpenAI's protocol.
func (s LocalServer) BaseURL() string { return s.Root + "/v1" }

// LocalMark begins the names of models on this machine. Gateways name models ollama/llama3 too; none has names like this.
const LocalMark = "local:"

// Model is the name of one of its models, whatever endpoint there is beside it.
func (s LocalServer) Model(id string) string { return LocalMark + s.Prefix + "/" + id }

// LocalServers are the ones that are looked for.
func LocalServers() []LocalServer {
	return []LocalServer{
		{Prefix: "ollama", Name: "Ollama", Root: "http://127.0.0.1:11434"},
		{Prefix: "llama.cpp", Name: "llama.cpp", Root: "http://127.0.0.1:8080"},
		{Prefix: "lmstudio", Name: "LM Studio", Root: "http://127.0.0.1:1234"},
	}
}

// LocalModel takes a name like local:ollama/llama3.2:1b apart.
func LocalModel(name string) (s LocalServer, id string, ok bool) {
	name, ok = strings.CutPrefix(name, LocalMark)
	if !ok {
		return LocalServer{}, "", false
	}
	prefix, id, _ := strings.Cut(name, "/")
	for _, s := range LocalServers() {
		if s.Prefix == prefix && id != "" {
			return s, id, true
		}
	}
	return LocalServer{}, "", false
}
