package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// UnmarshalJSON decodes an event. The data of a name that this version does not know, or that it cannot read, is kept as
// *Unknown; unknown keys beside the known ones are ignored.
func (e *Event) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	if w.Event == "" {
		return errors.New("decode event: it has no name")
	}
	ts, err := time.Parse(time.RFC3339Nano, w.TS)
	if err != nil {
		return fmt.Errorf("decode event: ts: %w", err)
	}
	*e = Event{TS: ts.UTC(), SessionID: w.SessionID, Turn: w.Turn, Name: w.Event, Step: w.Step, Data: DecodeData(w.Event, w.Data)}
	if w.Seq != nil {
		e.Seq = *w.Seq
	}
	if w.RunID != nil {
		e.RunID = *w.RunID
	}
	return nil
}

// DecodeData decodes the data of an event by its name, as UnmarshalJSON does.
func DecodeData(name Name, b json.RawMessage) Data {
	if decode := decoder(name); decode != nil {
		if d, err := decode(b); err == nil {
			return d
		}
	}
	return &Unknown{Name: name, Raw: append(json.RawMessage(nil), b...)}
}

// decoder gives what decodes the data of a name; nil for names of other versions.
func decoder(name Name) func(json.RawMessage) (Data, error) {
	switch name {
	case RunStart:
		return as[RunStartData]
	case LLMCall:
		return as[LLMCallData]
	case ToolCall:
		return as[ToolCallData]
	case ToolResult:
		return as[ToolResultData]
	case Compact:
		return as[CompactData]
	case Answer:
		return as[AnswerData]
	case Error:
		return as[ErrorData]
	case Notice:
		return as[NoticeData]
	case RunEnd:
		return as[RunEndData]
	case Approval:
		return as[ApprovalData]
	case HistoryRepaired:
		return as[HistoryRepairedData]
	case Pin:
		return as[PinData]
	case Todo:
		return as[TodoData]
	case Session:
		return as[SessionData]
	case InputQueued:
		return as[InputQueuedData]
	case Artifact:
		return as[ArtifactData]
	case State:
		return as[StateData]
	case Delta:
		return as[DeltaData]
	case Retry:
		return as[RetryData]
	case Progress:
		return as[ProgressData]
	case Gap:
		return as[GapData]
	}
	return nil
}

func as[T Data](b json.RawMessage) (Data, error) {
	var d T
	err := json.Unmarshal(b, &d)
	return d, err
}
