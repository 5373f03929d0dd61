package protocol

// field is what a key of a frame means.
type field int

const (
	otherField field = iota
	thoughtOf
	actionOf
	nameOf
	argsOf
	answerOf
	ownName // the name of a call in the form that most models were trained on
	ownArgs
	ownMore // what may stand beside these
)

// frameKeys are the keys of a frame, and what models write in their place.
var frameKeys = map[string]field{
	"thought": thoughtOf, "thoughts": thoughtOf, "action": actionOf, "tool_name": nameOf, "tool": nameOf, "tool_args": argsOf,
	"tool_input": argsOf, "action_input": argsOf, "final_answer": answerOf,
	"name": ownName, "arguments": ownArgs, "parameters": ownArgs, "type": ownMore, "id": ownMore,
}

// What the action of a frame may say beside the name of a tool.
var (
	callWords  = []string{"tool", "tool_call", "call_tool", "use_tool", "call", "function", "function_call", "call tool", "use tool", "tool call"}
	finalWords = []string{"final", "final_answer", "final answer", "answer", "finish", "done", "respond", "response", "reply", "none", "null"}
)

// means gives what a key stands for. In a frame of the form that models were trained on no other keys count.
func (f *frame) means(key string) field {
	of := frameKeys[key]
	if f.keys == 1 {
		f.own = of == ownName || of == ownArgs || of == ownMore
	}
	switch {
	case of == ownArgs:
		return argsOf
	case of == ownName && f.own:
		return nameOf
	case of == ownMore && f.own:
		return of
	case of == ownName, of == ownMore, f.own:
		return otherField
	}
	return of
}

func isKey(s string, is func(key, s string) bool) bool {
	for k := range frameKeys {
		if is(k, s) {
			return true
		}
	}
	return false
}
