package domain

import (
	"strings"
	"time"
)

// Conversation is a sequence of questions and answers between one visitor and one agent.
type Conversation struct {
	ID          string // a UUID, or the result of CallerConversationID
	CallerID    string // the id chosen by the caller, if it is not a UUID; not unique
	WorkspaceID string
	AgentID     string
	VisitorID   string
	Title       string // the first question, shortened
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

// callerConversation is the prefix of the stored id of a conversation whose id the caller chose. No UUID begins with
// it, so callers can refer to such a conversation only by their own id.
const callerConversation = "caller:"

// CallerConversationID returns the stored id of a conversation whose id the caller chose. The same callerID means
// different conversations in different workspaces, with different agents and for different visitors. visitorID is ""
// for callers with an API key for the workspace.
func CallerConversationID(workspaceID, agentID, visitorID, callerID string) string {
	return callerConversation + DerivedID("conversation", workspaceID, agentID, visitorID, callerID)
}

// ValidConversationID reports whether s can be the id of a conversation.
func ValidConversationID(s string) bool { return ValidID(strings.TrimPrefix(s, callerConversation)) }

// MaxCallerIDCharacters is the maximum length of a conversation id chosen by a caller.
const MaxCallerIDCharacters = 100

// Role is the author of a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is a question or answer in a conversation. Only answers of the assistant have sources and sentences. Answers
// stored by older versions have no sentences.
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

// Values of Scope. ScopeQuery only permits queries to one agent (APIKey.AgentID).
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeQuery Scope = "query"
)

// DefaultWorkspace is the workspace of the first key. The command that creates keys can create others.
const DefaultWorkspace = "default"

// APIKey grants access to a workspace. The secret is shown once and never stored.
type APIKey struct {
	ID          string
	WorkspaceID string
	Name        string
	Hash        string // HashKey of the secret
	Hint        string // the secret's last four characters
	Scopes      []Scope
	AgentID     string // the agent that a key with ScopeQuery may query
	CreatedAt   time.Time
	LastUsedAt  *time.Time
	ExpiresAt   *time.Time
	Limits      Limits // limits of this key; nil if there are none
}

// Can reports whether the key grants the scope. The scope write includes read.
func (k APIKey) Can(s Scope) bool {
	for _, have := range k.Scopes {
		if have == s || (s == ScopeRead && have == ScopeWrite) {
			return true
		}
	}
	return false
}
