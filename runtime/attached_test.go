package runtime

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime/clock"
)

// What stands in a file that went with a message is no rule of the user's, no title, and no more of a fold than its share.
func TestFilesOfMessagesInFolds(t *testing.T) {
	n := 0
	s := &session{eng: &Engine{cfg: EngineConfig{NewID: func() string { n++; return fmt.Sprint(n) }, Clock: clock.NewSim(time.Unix(0, 0))}}}
	file := attach.File{Name: "rules.txt", Text: "Never deploy after 15:00. " + strings.Repeat("长 text ", 5000)}
	file.Bytes = int64(len(file.Text))
	m := MessageRow{Kind: llm.KindUser, Role: llm.RoleUser, N: 1, Content: attach.Compose("Always answer in English. 看文件", []attach.File{file})}
	pins := s.rulesOf([]MessageRow{m})
	if len(pins) != 1 || pins[0].Text != "Always answer in English." {
		t.Errorf("pinned: %+v", pins)
	}
	if got := titleOf(m.Content); got != "Always answer in English. 看文件" {
		t.Errorf("title %q", got)
	}
	if got := titleOf(attach.Compose("", []attach.File{file})); strings.Contains(got, "attached") {
		t.Errorf("title %q", got)
	}
	short := withFiles(m.Content, 600)
	text, files := attach.Split(short)
	if text != "Always answer in English. 看文件" || len(files) != 1 || len(files[0].Text) > 600 || !files[0].Cut() || files[0].Bytes != file.Bytes {
		t.Errorf("the summariser gets %q and %+v", text, files)
	}
}
