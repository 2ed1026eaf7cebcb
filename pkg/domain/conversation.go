package domain

import (
	"strings"
	"time"
)

// Conversation is a sequence of questions and answers between one visitor and one agent.
type Conversation struct {
	ID          string // a UUID, or the result of CallerConversationID
	CallerID    string // the id chosen by the caller unless it is a UUID; not unique
	WorkspaceID string
	AgentID     string
	VisitorID   string
	Title       string // the first question, truncated
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// PublicID returns the conversation's id in the API.
func (c Conversation) PublicID() string {
	if c.CallerID != "" {
		return c.CallerID
	}
	return c.ID
}

// callerConversation is the prefix of stored ids for conversations whose ids were chosen by callers. No UUID starts
// with it, so callers can refer to these conversations only by the ids they chose.
const callerConversation = "caller:"

// CallerConversationID returns the stored id of a conversation with an id chosen by the caller. For different
// workspaces, agents or visitors, the same callerID means different conversations. visitorID is "" for callers with an
// API key for the workspace.
func CallerConversationID(workspaceID, agentID, visitorID, callerID string) string {
	return callerConversation + DerivedID("conversation", workspaceID, agentID, visitorID, callerID)
}

// ValidConversationID reports whether s is a syntactically valid conversation id.
func ValidConversationID(s string) bool { return ValidID(strings.TrimPrefix(s, callerConversation)) }

// MaxCallerIDCharacters is the maximum length of a conversation id chosen by a caller.
const MaxCallerIDCharacters = 100

// Role says who wrote a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is a question or answer in a conversation. Only answers have sources and sentences. Answers stored by older
// versions have no sentences.
type Message struct {
	ID             string
	ConversationID string
	Role           Role
	Text           string
	Sources        []Fragment
	Sentences      []AnswerSentence
	CreatedAt      time.Time
}

// Scope is a permission that a key can grant.
type Scope string

// Values of Scope. ScopeQuery permits only queries to one agent (APIKey.AgentID).
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeQuery Scope = "query"
)

// DefaultWorkspace is the workspace of the first key. Other workspaces can be created with the command that creates
// keys.
const DefaultWorkspace = "default"

// APIKey grants access to a workspace. Its secret is shown once and never stored.
type APIKey struct {
	ID          string
	WorkspaceID string
	Name        string
	Hash        string // HashKey of the secret
	Hint        string // the secret's last four characters
	Scopes      []Scope
	AgentID     string // the agent a key with ScopeQuery may query
	CreatedAt   time.Time
	LastUsedAt  *time.Time
	ExpiresAt   *time.Time
	Limits      Limits // this key's limits; nil if there are none
}

// Can reports whether the key grants the scope. ScopeWrite includes ScopeRead.
func (k APIKey) Can(s Scope) bool {
	for _, have := range k.Scopes {
		if have == s || (s == ScopeRead && have == ScopeWrite) {
			return true
		}
	}
	return false
}
