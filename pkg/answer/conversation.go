package answer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/answer/fence"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Conversations stores questions and answers.
type Conversations interface {
	// FindConversation returns the conversation with the given id, and whether it exists. It returns
	// domain.CodeNotFound if the conversation belongs to another workspace or agent.
	FindConversation(ctx context.Context, workspaceID, agentID, id string) (c domain.Conversation, exists bool, err error)
	// EnsureConversation creates the conversation with its first messages in one transaction. If the id exists, it adds
	// the messages instead, or returns domain.CodeNotFound if the conversation belongs to another workspace, agent or
	// visitor.
	EnsureConversation(ctx context.Context, c domain.Conversation, first ...domain.Message) (domain.Conversation, error)
	// Messages returns at most `limit` of a conversation's newest messages, oldest first.
	Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error)
	// AppendMessages stores the messages in one transaction.
	AppendMessages(ctx context.Context, conversationID string, messages ...domain.Message) error
	// Lock acquires or renews the holder's exclusive right to answer questions in the conversation, which lasts until
	// ttl has passed. It reports whether the holder has it now. The conversation doesn't have to exist.
	Lock(ctx context.Context, conversationID, holder string, ttl time.Duration) (bool, error)
	// Unlock releases the holder's lock.
	Unlock(ctx context.Context, conversationID, holder string) error
}

// Maximum length of a conversation's title, in characters. The title is the first question.
const titleCharacters = 80

// Maximum number of messages read from a conversation.
const maxHistoryMessages = 40

// session is the conversation in which a question is asked.
type session struct {
	conversation domain.Conversation
	stored       bool // whether the conversation is in the catalog
	history      []chat.Turn
	end          func() // releases the conversation's lock; must be called once
}

// openSession finds or creates a request's conversation and waits for its lock.
//
// A request without a conversation id creates a conversation, and so does one with an unused id, because clients may
// choose ids. A new conversation is stored with its first answer, so that a failed question leaves nothing behind. A
// conversation in another workspace, or with another agent or visitor, counts as not found. A request with a
// conversation id but no visitor id acts for the conversation's visitor, because conversation ids can't be guessed.
func (a *Answerer) openSession(ctx context.Context, req Request) (session, error) {
	if req.ConversationID == "" {
		id := req.NewConversationID
		if id == "" {
			id = a.deps.NewID()
		}
		return session{conversation: a.newConversation(req, id), history: recentTurns(req.History, cmp.Or(req.HistoryTokens, a.opts.HistoryTokens)), end: func() {}}, nil
	}
	if _, _, err := a.findConversation(ctx, req); err != nil { // before waiting, so that outsiders cannot block others
		return session{}, err
	}
	end, err := a.lockConversation(ctx, req.ConversationID)
	if err != nil {
		return session{}, err
	}
	s, err := a.resumeSession(ctx, req)
	if err != nil {
		end()
		return session{}, err
	}
	s.end = end
	return s, nil
}

func (a *Answerer) newConversation(req Request, id string) domain.Conversation {
	now := a.deps.Now()
	visitor := req.VisitorID
	if visitor == "" {
		visitor = a.deps.NewID()
	}
	return domain.Conversation{
		ID: id, CallerID: req.CallerID, WorkspaceID: req.Agent.WorkspaceID, AgentID: req.Agent.ID, VisitorID: visitor,
		Title: fence.OneLine(req.Query, titleCharacters), CreatedAt: now, UpdatedAt: now,
	}
}

// findConversation returns the conversation named in the request, and whether it exists.
func (a *Answerer) findConversation(ctx context.Context, req Request) (domain.Conversation, bool, error) {
	has, exists, err := a.deps.Conversations.FindConversation(ctx, req.Agent.WorkspaceID, req.Agent.ID, req.ConversationID)
	switch {
	case err != nil:
		return domain.Conversation{}, false, fmt.Errorf("opening conversation %s: %w", req.ConversationID, err)
	case exists && req.VisitorID != "" && has.VisitorID != req.VisitorID:
		return domain.Conversation{}, false, domain.NotFound("conversation", req.ConversationID)
	}
	return has, exists, nil
}

// resumeSession reads the request's conversation, whose lock the caller must hold.
func (a *Answerer) resumeSession(ctx context.Context, req Request) (session, error) {
	has, exists, err := a.findConversation(ctx, req)
	if err != nil {
		return session{}, err
	}
	if !exists {
		return session{conversation: a.newConversation(req, req.ConversationID)}, nil
	}
	messages, err := a.deps.Conversations.Messages(ctx, has.ID, maxHistoryMessages)
	if err != nil {
		return session{}, fmt.Errorf("reading conversation %s: %w", has.ID, err)
	}
	return session{conversation: has, stored: true, history: recentTurns(messages, a.opts.HistoryTokens)}, nil
}

// store stores the question and its answer together and, if the conversation is new, the conversation itself.
func (a *Answerer) store(ctx context.Context, s session, question string, ans Answer) error {
	now := a.deps.Now()
	message := func(role domain.Role, text string) domain.Message {
		return domain.Message{ID: a.deps.NewID(), ConversationID: s.conversation.ID, Role: role, Text: text, CreatedAt: now}
	}
	exchange := []domain.Message{message(domain.RoleUser, question), message(domain.RoleAssistant, ans.Text)}
	exchange[1].Sources, exchange[1].Sentences = ans.Sources, ans.Sentences
	var err error
	if s.stored { // do not recreate a conversation that was deleted meanwhile
		err = a.deps.Conversations.AppendMessages(ctx, s.conversation.ID, exchange...)
	} else {
		_, err = a.deps.Conversations.EnsureConversation(ctx, s.conversation, exchange...)
	}
	if err != nil {
		return fmt.Errorf("storing the question and its answer: %w", err)
	}
	return nil
}

// recentTurns returns as many of the newest turns as fit the token budget, starting with a question. It removes
// citations, because their numbers refer to other documents. If even the last exchange is too long, recentTurns keeps
// the start of each of its messages, because the next question probably refers to that exchange.
func recentTurns(messages []domain.Message, budget int) []chat.Turn {
	if budget <= 0 {
		return nil
	}
	last := max(0, len(messages)-2)
	limit := budget
	if historyTokens(messages[last:]) > budget {
		limit = budget / 2
	}
	var turns []chat.Turn
	for i, m := range slices.Backward(messages) {
		text := historyText(m)
		if text == "" { // an answer consisting only of citations
			continue
		}
		if i >= last {
			text = truncateTokens(text, limit)
		}
		if budget -= chunk.Tokens(text); budget < 0 || text == "" {
			break
		}
		turns = append(turns, chat.Turn{Role: m.Role, Text: text})
	}
	slices.Reverse(turns)
	for len(turns) > 0 && turns[0].Role != domain.RoleUser {
		turns = turns[1:]
	}
	return turns
}

// historyText returns a message's text without citations.
func historyText(m domain.Message) string {
	if m.Role == domain.RoleAssistant {
		if m.ID == "" { // from a conversation stored by the client, with unknown sources
			return citation.Without(m.Text, -1)
		}
		return citation.Without(m.Text, len(m.Sources))
	}
	return m.Text
}

func historyTokens(messages []domain.Message) int {
	n := 0
	for _, m := range messages {
		n += chunk.Tokens(historyText(m))
	}
	return n
}

// truncateTokens truncates text to the given number of tokens, including the ellipsis.
func truncateTokens(text string, tokens int) string {
	n := chunk.Tokens(text)
	if n <= tokens {
		return text
	}
	runes := []rune(text)
	for keep := len(runes) * tokens / n; keep > 0; keep = keep * 9 / 10 {
		if cut := string(runes[:keep]) + "…"; chunk.Tokens(cut) <= tokens {
			return cut
		}
	}
	return ""
}
