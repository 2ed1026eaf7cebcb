package domain

import (
	"strings"
	"time"
)

// Conversation is a sequence of questions and answers between one visitor and one agent.
type Conversation struct {
	ID          string // a UUID, or what CallerConversationID returns
	CallerID    string // the id that the caller has chosen, if that is no UUID; not unique
	WorkspaceID string
	AgentID     string
	VisitorID   string
	Title       string // the first question, shortened
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// PublicID is the id by which the interface names the conversation.
func (c Conversation) PublicID() string {
	if c.CallerID != "" {
		return c.CallerID
	}
	return c.ID
}

// callerConversation begins the ids of conversations whose callers have chosen an id. No UUID begins so: a caller cannot name such a
// conversation by anything but the id that was chosen.
const callerConversation = "caller:"

// CallerConversationID is the id of the conversation for which a caller has chosen an id that is no UUID. The same choice names different
// conversations in different workspaces and with different agents. visitorID is that of a caller without a key of the workspace, for
// whom ids of other visitors must not be open, else "".
func CallerConversationID(workspaceID, agentID, visitorID, callerID string) string {
	return callerConversation + DerivedID("conversation", workspaceID, agentID, visitorID, callerID)
}

// ValidConversationID reports whether s has the form of a conversation's id.
func ValidConversationID(s string) bool { return ValidID(strings.TrimPrefix(s, callerConversation)) }

// MaxCallerIDCharacters bounds the id that a caller chooses for a conversation.
const MaxCallerIDCharacters = 100

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
