package domain

import "time"

// Conversation is a sequence of questions and answers between one visitor and one agent.
type Conversation struct {
	ID          string
	WorkspaceID string
	AgentID     string
	VisitorID   string
	Title       string // the first question, shortened
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Role says who wrote a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of a conversation. Sources are those of an assistant's answer.
type Message struct {
	ID             string
	ConversationID string
	Role           Role
	Text           string
	Sources        []Fragment
	CreatedAt      time.Time
}

// Scope is what a key may do.
type Scope string

// The scopes. ScopeQuery allows querying one agent (APIKey.AgentID) and nothing else.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeQuery Scope = "query"
)

// APIKey lets its bearer into a workspace. The secret itself is shown once and never stored.
type APIKey struct {
	ID          string
	WorkspaceID string
	Name        string
	Hash        string // HashKey of the secret
	Hint        string // the secret's last four characters
	Scopes      []Scope
	AgentID     string // for ScopeQuery
	CreatedAt   time.Time
	LastUsedAt  *time.Time
	ExpiresAt   *time.Time
	Limits      Limits // set for this key; nil: none
}

// Can reports whether the key carries the scope; write includes read.
func (k APIKey) Can(s Scope) bool {
	for _, have := range k.Scopes {
		if have == s || (s == ScopeRead && have == ScopeWrite) {
			return true
		}
	}
	return false
}
