package domain

import (
	"strings"
	"time"
)

// Conversation is a sequence of questions and answers between one visitor and one agent.
type Conversation struct {
	ID          string // a UUID, or the result of CallerConversationID
	CallerID    string // the id that the caller chose, if it is not a UUID; not unique
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
// it, so callers can refer to such a conversation only by the id that they chose.
const callerConversation = "caller:"

// CallerConversationID returns the stored id of a conversation whose id the caller chose. The same callerID denotes
// different conversations in different workspaces, with different agents, and for different visitors. visitorID is ""
// for callers with an API key for the workspace.
func CallerConversationID(workspaceID, agentID, visitorID, callerID string) string {
	return callerConversation + DerivedID("conversation", workspaceID, agentID, visitorID, callerID)
}

// ValidConversationID reports whether s can be the id of a conversation.
func ValidConversationID(s string) bool { return ValidID(strings.TrimPrefix(s, callerConversation)) }

// MaxCallerIDCharacters is the maximum length of a conversation id that a caller chooses.
const MaxCallerIDCharacters = 100

// Role is the author of a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is a question or answer in a conversation. Only an assistant's answer has sources and sentences. Answers of
// older versions have no sentences.
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

// Scopes. ScopeQuery only allows querying one agent (APIKey.AgentID).
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeQuery Scope = "query"
)

// DefaultWorkspace is the workspace of the first key. The command that creates keys can create further workspaces.
const DefaultWorkspace = "default"

// APIKey grants access to a workspace. The secret is shown once and never stored.
type APIKey struct {
	ID          string
	WorkspaceID string
	Name        string
	Hash        string // HashKey of the secret
	Hint        string // the secret's last four characters
	Scopes      []Scope
	AgentID     string // with ScopeQuery: the agent that the key may query
	CreatedAt   time.Time
	LastUsedAt  *time.Time
	ExpiresAt   *time.Time
	Limits      Limits // limits set for this key; nil: none
}

// Can reports whether the key grants the scope. A key with the scope write also grants read.
func (k APIKey) Can(s Scope) bool {
	for _, have := range k.Scopes {
		if have == s || (s == ScopeRead && have == ScopeWrite) {
			return true
		}
	}
	return false
}
