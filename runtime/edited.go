package runtime

import (
	"encoding/json"
	"strings"
)

// EditedArguments finds in a tool message the arguments that the user wrote in the place of the model's and that ran; nil when they
// were not changed. The message that asked for the call keeps what the model wrote.
func EditedArguments(result string) json.RawMessage {
	var r struct {
		Notice string `json:"notice"`
	}
	if json.Unmarshal([]byte(result), &r) != nil {
		return nil
	}
	rest, ok := strings.CutPrefix(r.Notice, noticeEdited)
	if !ok {
		return nil
	}
	var args json.RawMessage
	if json.NewDecoder(strings.NewReader(rest)).Decode(&args) != nil { // other notices may come behind
		return nil
	}
	return args
}
