package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// FoldMode says who starts a fold.
type FoldMode string

// The modes.
const (
	FoldAuto FoldMode = "auto" // the runtime, when it is due
	FoldAsk  FoldMode = "ask"  // the runtime, after the user saw what it would do
	FoldOff  FoldMode = "off"  // only the user
)

// ErrStale: the window is not what the fold was planned for; nothing was written.
var ErrStale = errors.New("the window changed meanwhile")

// PinRow is a sentence that no fold may lose.
type PinRow struct {
	ID, SessionID, Text string
	// Source is "rule" for sentences found in folded messages, "user" for those pinned by hand.
	Source string
	// N is the message that it stands in, 0 for none.
	N         int64
	CreatedAt time.Time
}

// Shortened is a result whose place in the prompt is taken by less. Content nil restores the whole.
type Shortened struct {
	N       int64
	Content *string
	Tokens  int
}

// Fold is one compaction as a transaction tells it: a compare-and-set on the newest fold that was not undone and on the
// window's first message. ErrStale when either differs.
type Fold struct {
	ID, RunID, Reason string
	// FirstN to LastN leave the window (0: none do); From is its new first message, Keep a user message before it that stays.
	FirstN, LastN, From, Keep int64
	// WasFrom, WasKeep and LastFold are what is expected to stand there.
	WasFrom, WasKeep          int64
	LastFold                  string
	TokensBefore, TokensAfter int
	SummaryBefore             json.RawMessage
	SummaryAfter              json.RawMessage
	Shorten                   []Shortened
	// Undo marks the opposite: the fold of this ID is taken back, and From, Keep, SummaryAfter and Shorten are what stands again.
	Undo bool
}

// FoldRow is a fold as stored.
type FoldRow struct {
	Fold
	CreatedAt time.Time
	UndoneAt  *time.Time
}

// Memory is what folding needs of the disk, beside Store. All methods are safe for concurrent use.
type Memory interface {
	// Pins gives a session's pins in the order of their making.
	Pins(ctx context.Context, sessionID string) ([]PinRow, error)
	// Folds gives the newest folds, newest first, undone ones included.
	Folds(ctx context.Context, sessionID string, limit int) ([]FoldRow, error)
	// Folded gives the messages n from first to last, in order.
	Folded(ctx context.Context, sessionID string, first, last int64) ([]MessageRow, error)
	// LastSent gives LLMCallData.PrefixID and the time of the newest stored model call; ErrNotFound when there is none.
	LastSent(ctx context.Context, sessionID string) (id string, at time.Time, err error)
	// Approvals gives the answers that were given in a run, in order.
	Approvals(ctx context.Context, runID string) ([]ApprovalRow, error)
	// Started gives the runs that a run started, and those that they started in turn.
	Started(ctx context.Context, runID string) ([]RunRow, error)
	// Artifact gives a large output by its handle; ErrNotFound.
	Artifact(ctx context.Context, sessionID, handle string) (ArtifactRow, error)
}
