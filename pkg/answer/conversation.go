package answer

import (
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

// Conversations keeps what was asked and answered.
type Conversations interface {
	// FindConversation returns the conversation with the id, and whether there is one. For one of another workspace or
	// agent it fails with domain.CodeNotFound.
	FindConversation(ctx context.Context, workspaceID, agentID, id string) (c domain.Conversation, exists bool, err error)
	// EnsureConversation creates the conversation with its first messages, together or not at all. They are added to one
	// with its id that exists by then; one of another workspace, agent or visitor is domain.CodeNotFound.
	EnsureConversation(ctx context.Context, c domain.Conversation, first ...domain.Message) (domain.Conversation, error)
	// Messages returns the newest messages of a conversation, at most limit, oldest first.
	Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error)
	// AppendMessages stores messages together or not at all.
	AppendMessages(ctx context.Context, conversationID string, messages ...domain.Message) error
	// TakeTurn lets the holder answer a question of the conversation for the time from now on, or longer when it has the
	// turn already, and reports whether it may. The conversation need not exist.
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
	history      []chat.Turn
	end          func() // its turn; to be called once
}

// open finds or begins the conversation of a request, and waits for its turn.
//
// A conversation begins when none is named, and also when the id named is not in use: clients may choose their ids. It is
// stored with its first answer, so that a question that fails leaves nothing behind. One that belongs to another
// workspace, agent or visitor is not found. A request that names a conversation and no visitor goes on as the
// conversation's visitor: its id cannot be guessed.
func (a *Answerer) open(ctx context.Context, req Request) (session, error) {
	if req.ConversationID == "" {
		id := req.NewConversationID
		if id == "" {
			id = a.deps.NewID()
		}
		return session{conversation: a.begin(req, id), history: recent(req.Said, a.opts.HistoryTokens), end: func() {}}, nil
	}
	if _, _, err := a.find(ctx, req); err != nil { // before its turn: strangers must not keep others waiting
		return session{}, err
	}
	end, err := a.takeTurn(ctx, req.ConversationID)
	if err != nil {
		return session{}, err
	}
	s, err := a.resume(ctx, req)
	if err != nil {
		end()
		return session{}, err
	}
	s.end = end
	return s, nil
}

// begin is a new conversation of a request.
func (a *Answerer) begin(req Request, id string) domain.Conversation {
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

// find returns the conversation that a request names, and whether there is one yet.
func (a *Answerer) find(ctx context.Context, req Request) (domain.Conversation, bool, error) {
	has, exists, err := a.deps.Conversations.FindConversation(ctx, req.Agent.WorkspaceID, req.Agent.ID, req.ConversationID)
	switch {
	case err != nil:
		return domain.Conversation{}, false, fmt.Errorf("opening conversation %s: %w", req.ConversationID, err)
	case exists && req.VisitorID != "" && has.VisitorID != req.VisitorID:
		return domain.Conversation{}, false, domain.NotFound("conversation", req.ConversationID)
	}
	return has, exists, nil
}

// resume reads the conversation that a request names, as it is when its turn has come.
func (a *Answerer) resume(ctx context.Context, req Request) (session, error) {
	has, exists, err := a.find(ctx, req)
	if err != nil {
		return session{}, err
	}
	if !exists {
		return session{conversation: a.begin(req, req.ConversationID)}, nil
	}
	messages, err := a.deps.Conversations.Messages(ctx, has.ID, maxHistoryMessages)
	if err != nil {
		return session{}, fmt.Errorf("reading conversation %s: %w", has.ID, err)
	}
	return session{conversation: has, stored: true, history: recent(messages, a.opts.HistoryTokens)}, nil
}

// store stores the question and its answer together, of a new conversation with it.
func (a *Answerer) store(ctx context.Context, s session, question, answer string, sources []domain.Fragment) error {
	now := a.deps.Now()
	message := func(role domain.Role, text string, sources []domain.Fragment) domain.Message {
		return domain.Message{ID: a.deps.NewID(), ConversationID: s.conversation.ID, Role: role, Text: text, Sources: sources, CreatedAt: now}
	}
	exchange := []domain.Message{message(domain.RoleUser, question, nil), message(domain.RoleAssistant, answer, sources)}
	var err error
	if s.stored { // one that was deleted meanwhile stays so
		err = a.deps.Conversations.AppendMessages(ctx, s.conversation.ID, exchange...)
	} else {
		_, err = a.deps.Conversations.EnsureConversation(ctx, s.conversation, exchange...)
	}
	if err != nil {
		return fmt.Errorf("storing the question and its answer: %w", err)
	}
	return nil
}

// recent returns the newest turns within the budget of tokens, beginning with a question. Citations are taken out:
// their numbers mean nothing beside other documents. Of a last exchange that is longer than the budget the beginnings
// are kept, for it is what the next question leans on.
func recent(messages []domain.Message, budget int) []chat.Turn {
	if budget <= 0 {
		return nil
	}
	last := max(0, len(messages)-2)
	most := budget
	if saidTokens(messages[last:]) > budget {
		most = budget / 2
	}
	var turns []chat.Turn
	for i, m := range slices.Backward(messages) {
		text := said(m)
		if text == "" { // an answer of citations alone
			continue
		}
		if i >= last {
			text = beginning(text, most)
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

// said is a message as it is said again.
func said(m domain.Message) string {
	if m.Role == domain.RoleAssistant {
		return citation.Without(m.Text)
	}
	return m.Text
}

func saidTokens(messages []domain.Message) int {
	n := 0
	for _, m := range messages {
		n += chunk.Tokens(said(m))
	}
	return n
}

// beginning cuts a text to so many tokens, the mark of the cut included.
func beginning(text string, tokens int) string {
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
