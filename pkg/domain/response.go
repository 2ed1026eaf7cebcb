package domain

import "time"

// ResponseStatus is a response's status, as named by OpenAI.
type ResponseStatus string

// Response statuses. Responses that are queued or in progress are being answered in the background.
const (
	ResponseQueued     ResponseStatus = "queued"
	ResponseInProgress ResponseStatus = "in_progress"
	ResponseCompleted  ResponseStatus = "completed"
	ResponseIncomplete ResponseStatus = "incomplete"
	ResponseFailed     ResponseStatus = "failed"
	ResponseCancelled  ResponseStatus = "cancelled"
)

// Ended reports whether the response will no longer change.
func (s ResponseStatus) Ended() bool { return s != ResponseQueued && s != ResponseInProgress }

// ResponseRetention is how long responses are kept.
const ResponseRetention = 30 * 24 * time.Hour

// StoredResponse is a stored response from the OpenAI-compatible Responses API.
type StoredResponse struct {
	ID          string
	WorkspaceID string
	KeyID       string // the key that created the response
	Status      ResponseStatus
	Background  bool

	// Holder is the id of the process that is answering in the background. If it does not extend HeldUntil in time, the
	// process is presumed dead.
	Holder    string
	HeldUntil time.Time

	Input     string // the input items, as JSON
	Body      string // the response as the API returns it, without its status, as JSON
	Trace     string // how the output was split up for streaming, as JSON
	CreatedAt time.Time
}

// ItemConversation is a conversation in the OpenAI-compatible Conversations API. Unlike a Conversation, it has no
// agent, and its items include tool calls and their results.
type ItemConversation struct {
	ID          string
	WorkspaceID string
	KeyID       string // the key that created the conversation
	Metadata    map[string]string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ConversationItem is an item of an ItemConversation.
type ConversationItem struct {
	ID   string
	Item string // the item as the API returns it, as JSON
}
