package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Conversations keeps what was asked and answered.
type Conversations interface {
	// EnsureConversation creates the conversation unless one with its id exists, and returns the one that is stored. It
	// may fail with domain.CodeNotFound for an id of another workspace or agent.
	EnsureConversation(ctx context.Context, c domain.Conversation) (domain.Conversation, error)
	// Messages returns the newest messages of a conversation, at most limit, oldest first.
	Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error)
	// AppendMessages stores messages together or not at all.
	AppendMessages(ctx context.Context, conversationID string, messages ...domain.Message) error
	// TakeTurn lets the holder answer a question of the conversation for the time from now on, or longer when it has the
	// turn already, and reports whether it may.
	TakeTurn(ctx context.Context, conversationID, holder string, ttl time.Duration) (bool, error)
	// EndTurn ends the holder's turn.
	EndTurn(ctx context.Context, conversationID, holder string) error
}

// titleCharacters is where the first question is cut to make a conversation's title.
const titleCharacters = 80

// maxHistoryMessages is how many messages are read back at most.
const maxHistoryMessages = 40

// session is the conversation that a question belongs to.
type session struct {
	conversation domain.Conversation
	stored       bool // the conversation is in the catalog
	history      []Turn
	end          func() // its turn; to be called once
}

// open finds or begins the conversation of a request, and waits for its turn.
//
// A conversation is created when none is named, and also when the id named is not in use: clients may choose their
// ids. One that belongs to another workspace, agent or visitor is not found. A request that names a conversation and
// no visitor goes on as the conversation's visitor: its id cannot be guessed.
func (a *Answerer) open(ctx context.Context, req Request) (session, error) {
	now := a.deps.Now()
	conv := domain.Conversation{
		ID:          req.ConversationID,
		WorkspaceID: req.Agent.WorkspaceID,
		AgentID:     req.Agent.ID,
		VisitorID:   req.VisitorID,
		Title:       oneLine(req.Query, titleCharacters),
		CreatedAt:   now,
		UpdatedAt:   now,
	}
	if conv.VisitorID == "" {
		conv.VisitorID = a.deps.NewID()
	}
	if conv.ID == "" { // stored when there is an answer, for a failed question leaves nothing behind
		if conv.ID = req.NewConversationID; conv.ID == "" {
			conv.ID = a.deps.NewID()
		}
		return session{conversation: conv, history: recent(req.Said, a.opts.HistoryTokens), end: func() {}}, nil
	}
	has, err := a.deps.Conversations.EnsureConversation(ctx, conv)
	if err != nil {
		return session{}, fmt.Errorf("opening conversation %s: %w", conv.ID, err)
	}
	foreign := has.WorkspaceID != conv.WorkspaceID || has.AgentID != conv.AgentID || req.VisitorID != "" && has.VisitorID != req.VisitorID
	if foreign {
		return session{}, domain.NotFound("conversation", conv.ID)
	}
	end, err := a.takeTurn(ctx, has.ID)
	if err != nil {
		return session{}, err
	}
	messages, err := a.deps.Conversations.Messages(ctx, has.ID, maxHistoryMessages)
	if err != nil {
		end()
		return session{}, fmt.Errorf("reading conversation %s: %w", has.ID, err)
	}
	return session{conversation: has, stored: true, history: recent(messages, a.opts.HistoryTokens), end: end}, nil
}

// store appends the question and its answer together.
func (a *Answerer) store(ctx context.Context, s session, question, answer string, sources []domain.Fragment) error {
	if !s.stored {
		if _, err := a.deps.Conversations.EnsureConversation(ctx, s.conversation); err != nil {
			return fmt.Errorf("creating the conversation: %w", err)
		}
	}
	now := a.deps.Now()
	message := func(role domain.Role, text string, sources []domain.Fragment) domain.Message {
		return domain.Message{ID: a.deps.NewID(), ConversationID: s.conversation.ID, Role: role, Text: text, Sources: sources, CreatedAt: now}
	}
	err := a.deps.Conversations.AppendMessages(ctx, s.conversation.ID,
		message(domain.RoleUser, question, nil), message(domain.RoleAssistant, answer, sources))
	if err != nil {
		return fmt.Errorf("storing the question and its answer: %w", err)
	}
	return nil
}

// recent returns the newest turns within the budget of tokens, beginning with a question. Citations are taken out:
// their numbers mean nothing beside other documents.
func recent(messages []domain.Message, budget int) []Turn {
	var turns []Turn
	for _, m := range slices.Backward(messages) {
		text := m.Text
		if m.Role == domain.RoleAssistant {
			text = withoutCitations(text)
		}
		if budget -= chunk.Tokens(text); budget < 0 {
			break
		}
		turns = append(turns, Turn{Role: m.Role, Text: text})
	}
	slices.Reverse(turns)
	for len(turns) > 0 && turns[0].Role != domain.RoleUser {
		turns = turns[1:]
	}
	return turns
}

func withoutCitations(text string) string {
	c := newCiter(0)
	return strings.TrimSpace(c.write(text) + c.close())
}
