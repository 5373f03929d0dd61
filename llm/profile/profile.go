// Package profile says how servers that speak the chat completions protocol differ, as data.
//
// A Profile is what holds for one model at one endpoint: the role of instructions, the field that bounds a reply, the form
// of call ids, whether reasoning goes back, how the key is sent. The known ones stand in profiles.toml; a configuration
// may change them or add others (Parse). Set.Choose picks one by endpoint and model. The package does no I/O and knows no
// wire format; llm/openai acts on what it says.
package profile

import "encoding/json"

// Role is the role that instructions have on the wire.
type Role string

// The roles. With RoleUser instructions stand in front of the first message of the user, for models whose template has no place for them.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
)

// Limit is the field that bounds a reply.
type Limit string

// The fields; LimitNone sends none.
const (
	LimitMaxTokens           Limit = "max_tokens"
	LimitMaxCompletionTokens Limit = "max_completion_tokens"
	LimitNone                Limit = "none"
)

// CallIDs is the form that ids of calls must have.
type CallIDs string

// The forms: any text of at most 40 bytes, or nine letters and digits.
const (
	IDsAny    CallIDs = "any"
	IDsAlnum9 CallIDs = "alnum9"
)

// Reasoning says what of a model's reasoning goes back to the family that it came from. It never goes to another one.
type Reasoning string

// The rules: nothing; what there is, with its message; and in every message of the assistant, empty where there is none.
const (
	ReasoningDrop  Reasoning = "drop"
	ReasoningReply Reasoning = "reply"
	ReasoningFill  Reasoning = "fill"
)

// Content is what stands beside calls in the place of a text that there is not.
type Content string

// The ways.
const (
	ContentNull  Content = "null"
	ContentEmpty Content = "empty"
	ContentOmit  Content = "omit"
)

// Auth is how a key is sent.
type Auth string

// The ways: in the Authorization header, or in that of Azure.
const (
	AuthBearer Auth = "bearer"
	AuthAPIKey Auth = "api-key"
)

// Protocol is how a model calls tools.
type Protocol string

// The protocols: calls of the endpoint, or as text, in one JSON object or in lines.
const (
	ProtocolNative Protocol = "native"
	ProtocolJSON   Protocol = "json"
	ProtocolReAct  Protocol = "react"
)

// TextCalls is what happens to calls that a server left in the text.
type TextCalls string

// The ways: they stay text and the user is told, or they become calls when they name a tool that was offered.
const (
	TextCallsTell  TextCalls = "tell"
	TextCallsParse TextCalls = "parse"
)

// Profile is what holds for one model at one endpoint.
type Profile struct {
	Name string
	// Family is whose reasoning and signatures are whose: they go back only where the family is the same.
	Family string

	SystemRole Role
	// LateSystem says that instructions may stand anywhere; otherwise they are joined into the first message.
	LateSystem bool
	TokenLimit Limit
	// Temperature and StreamUsage say whether temperature and stream_options are sent.
	Temperature bool
	StreamUsage bool
	CallIDs     CallIDs

	Reasoning Reasoning
	// ReasoningField names the field on the way back; empty keeps the one in which it came.
	ReasoningField string

	// EmptyContent is the content of an assistant message that has only calls.
	EmptyContent Content
	// UserAfterTool says that a user message may follow the result of a tool.
	UserAfterTool bool

	Auth Auth
	// Headers are sent with each request, beside what the protocol needs; gateways ask for such. They may be secret.
	Headers map[string]string
	// Query is added to each URL, where the base URL does not have the same name. It may be secret.
	Query map[string]string
	// Body are fields added to each request, in the order of their names.
	Body map[string]json.RawMessage
	// CallExtra are fields of a call that has none of its own to send back.
	CallExtra map[string]json.RawMessage

	// CachedTokens are the places of the count of cached tokens within usage, the best first.
	CachedTokens []string
	// CachedApart says that the count of the prompt leaves the cached tokens out.
	CachedApart bool

	// ThinkTags says that a reply that begins with <think> has its reasoning there.
	ThinkTags bool
	// StartsThinking says that a reply begins with its reasoning even without <think>, and </think> ends it.
	StartsThinking bool
	// MayThink says that a reply may begin with its reasoning even without <think>: then </think> at the end of a line ends it. Else such
	// an end is text, since an answer may speak of it.
	MayThink  bool
	TextCalls TextCalls
	// Protocol is how the model calls tools; empty is native.
	Protocol Protocol
	// ContextTokens is the window of the model; 0 is unknown.
	ContextTokens int
	// Hints say what to change at this server, by the code of a note or the kind of an error.
	Hints map[string]string
}
