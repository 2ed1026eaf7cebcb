package conversations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

func conversationRow(v *domain.Conversation) db.Row {
	return db.Row{
		db.Fixed("id", &v.ID),
		db.Fixed("caller_id", &v.CallerID),
		db.Fixed("workspace_id", &v.WorkspaceID),
		db.Fixed("agent_id", &v.AgentID),
		db.Fixed("visitor_id", &v.VisitorID),
		db.Fixed("title", &v.Title),
		db.Fixed("created_at", &v.CreatedAt),
		db.Fixed("updated_at", &v.UpdatedAt),
	}
}

// messageRow returns a message's columns, including the two that domain.Message lacks: search and seq.
func messageRow(m *domain.Message, search *string, seq *int64) db.Row {
	return db.Row{
		db.Fixed("id", &m.ID),
		db.Fixed("conversation_id", &m.ConversationID),
		db.Fixed("role", &m.Role),
		db.Fixed("text", &m.Text),
		db.Fixed("sources", &m.Sources),
		db.Fixed("sentences", &m.Sentences),
		db.Fixed("created_at", &m.CreatedAt),
		db.Derived("search_text", search),
		db.Derived("seq", seq),
	}
}

var (
	conversationColumns    = conversationRow(new(domain.Conversation)).Columns("")
	insertConversationText = conversationRow(new(domain.Conversation)).InsertText("conversations")
	messageColumns         = messageRow(new(domain.Message), nil, nil).Columns("")
	insertMessageText      = messageRow(new(domain.Message), nil, nil).InsertText("messages")
)

var scanConversation = db.ScanRow(conversationRow)

func scanMessage(s db.Scanner) (m domain.Message, err error) {
	err = messageRow(&m, nil, nil).Scan(s)
	domain.RestoreSpans(m.Sentences, m.Sources)
	return m, err
}

// EnsureConversation stores v with its first messages and returns it with CreatedAt and UpdatedAt set. If the
// conversation already exists, it only appends the messages and returns the stored conversation. If it fails, it stores
// nothing. It fails with domain.NotFound if the agent does not exist or if the conversation belongs to another
// workspace or agent. If there are messages, it also fails if the conversation belongs to another visitor.
func (c *Store) EnsureConversation(ctx context.Context, v domain.Conversation, first ...domain.Message) (have domain.Conversation, err error) {
	at := c.db.Stamp()
	v.CreatedAt, v.UpdatedAt, v.Title = db.FromMicros(at), db.FromMicros(at), title(v.Title)
	err = c.db.Update(ctx, "storing a conversation", func(t *db.Tx) error {
		var one int
		err := t.QueryRow(ctx, `SELECT 1 FROM agents WHERE workspace_id = ? AND id = ?`, v.WorkspaceID, v.AgentID).Scan(&one)
		if err := db.MapNotFound(err, "agent", v.AgentID); err != nil {
			return err
		}
		n, err := t.Insert(ctx, insertConversationText, conversationRow(&v))
		if err != nil {
			return err
		}
		if have = v; n == 0 {
			if have, err = readConversation(ctx, t, v.WorkspaceID, v.AgentID, v.ID); err != nil {
				return err
			}
		}
		if len(first) == 0 {
			return nil
		}
		if have.VisitorID != v.VisitorID {
			return domain.NotFound("conversation", v.ID)
		}
		return appendMessages(ctx, t, v.ID, first)
	})
	return have, err
}

// FindConversation returns the conversation with this id and reports whether it exists. It fails with domain.NotFound
// if the conversation belongs to another workspace or agent.
func (c *Store) FindConversation(ctx context.Context, ws, agentID, id string) (v domain.Conversation, exists bool, err error) {
	v, err = scanConversation(c.db.Read.QueryRow(ctx, `SELECT `+conversationColumns+` FROM conversations WHERE id = ?`, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return domain.Conversation{}, false, nil
	case err != nil:
		return domain.Conversation{}, false, db.MapNotFound(err, "conversation", id)
	case v.WorkspaceID != ws || v.AgentID != agentID:
		return domain.Conversation{}, false, domain.NotFound("conversation", id)
	}
	return v, true, nil
}

// Conversation returns one of the workspace's conversations. If agentID is not empty, the conversation must be with
// that agent.
func (c *Store) Conversation(ctx context.Context, ws, agentID, id string) (domain.Conversation, error) {
	return readConversation(ctx, c.db.Read, ws, agentID, id)
}

func readConversation(ctx context.Context, q db.Querier, ws, agentID, id string) (domain.Conversation, error) {
	text, args := `SELECT `+conversationColumns+` FROM conversations WHERE workspace_id = ? AND id = ?`, []any{ws, id}
	if agentID != "" {
		text, args = text+` AND agent_id = ?`, append(args, agentID)
	}
	v, err := scanConversation(q.QueryRow(ctx, text, args...))
	return v, db.MapNotFound(err, "conversation", id)
}

// ConversationsByCallerID returns up to `limit` of the workspace's conversations with this CallerID, newest first. A
// non-empty agentID or visitorID restricts the result.
func (c *Store) ConversationsByCallerID(ctx context.Context, ws, agentID, visitorID, callerID string, limit int) ([]domain.Conversation, error) {
	vs, err := db.Collect(ctx, c.db.Read, scanConversation, `SELECT `+conversationColumns+` FROM conversations
		WHERE workspace_id = ? AND caller_id = ? AND caller_id <> '' AND (? = '' OR agent_id = ?) AND (? = '' OR visitor_id = ?)
		ORDER BY created_at DESC, id DESC LIMIT ?`, ws, callerID, agentID, agentID, visitorID, visitorID, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for a conversation by its caller's id: %w", err)
	}
	return vs, nil
}

// ConversationFilter selects conversations. Empty fields match everything.
type ConversationFilter struct {
	AgentID   string
	VisitorID string
	From      time.Time // started at or after this time
	To        time.Time // started before this time
	Search    string    // text in a message, ignoring case
}

// Conversations returns a page of the workspace's conversations, filtered by f, newest first. It also returns the next
// page's cursor, or "" after the last page.
func (c *Store) Conversations(ctx context.Context, ws string, f ConversationFilter, p db.Page) ([]domain.Conversation, string, error) {
	l := db.List{Name: cursor.Conversations, Columns: conversationColumns, Table: `conversations`}
	l.And(`workspace_id = ?`, ws)
	if f.AgentID != "" {
		l.And(`agent_id = ?`, f.AgentID)
	}
	if f.VisitorID != "" {
		l.And(`visitor_id = ?`, f.VisitorID)
	}
	if !f.From.IsZero() {
		l.And(`created_at >= ?`, db.Micros(f.From))
	}
	if !f.To.IsZero() {
		l.And(`created_at < ?`, db.Micros(f.To))
	}
	if f.Search != "" {
		l.And(`EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = conversations.id AND m.search_text LIKE ? ESCAPE '!')`,
			"%"+db.LikeLiteral.Replace(strings.ToLower(f.Search))+"%")
	}
	text, args, limit, err := l.Page(p)
	if err != nil {
		return nil, "", err
	}
	items, err := db.Collect(ctx, c.db.Read, scanConversation, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing conversations: %w", err)
	}
	items, next := db.CutPage(l, items, limit, func(v domain.Conversation) cursor.Position {
		return cursor.Position{At: db.Micros(v.CreatedAt), ID: v.ID}
	})
	return items, next, nil
}

// DeleteConversation deletes a conversation with its messages and returns it. An answer in progress is lost.
func (c *Store) DeleteConversation(ctx context.Context, ws, id string) (domain.Conversation, error) {
	var v domain.Conversation
	err := c.db.Update(ctx, "deleting a conversation", func(t *db.Tx) (err error) {
		v, err = scanConversation(t.QueryRow(ctx, `DELETE FROM conversations WHERE workspace_id = ? AND id = ? RETURNING `+conversationColumns, ws, id))
		return db.MapNotFound(err, "conversation", id)
	})
	return v, err
}

// AppendMessages appends the messages to the conversation, all or nothing, and sets their ConversationID and CreatedAt.
// If the conversation has no title, its first question becomes the title.
func (c *Store) AppendMessages(ctx context.Context, conversationID string, ms ...domain.Message) error {
	return c.db.Update(ctx, "storing messages", func(t *db.Tx) error { return appendMessages(ctx, t, conversationID, ms) })
}

func appendMessages(ctx context.Context, t *db.Tx, conversationID string, ms []domain.Message) error {
	var have string
	err := t.QueryRow(ctx, `SELECT title FROM conversations WHERE id = ?`+t.Lock, conversationID).Scan(&have)
	if err != nil {
		return db.MapNotFound(err, "conversation", conversationID)
	}
	var last int64 // may be in the future if it was stored by another process with a fast clock
	err = t.QueryRow(ctx, `SELECT COALESCE(MAX(seq), 0) FROM messages WHERE conversation_id = ?`, conversationID).Scan(&last)
	if err != nil {
		return fmt.Errorf("looking for the last message: %w", err)
	}
	for _, m := range ms {
		last = max(t.Stamp(), last+1)
		m.ConversationID, m.CreatedAt = conversationID, db.FromMicros(last)
		search := strings.ToLower(m.Text)
		n, err := t.Insert(ctx, insertMessageText, messageRow(&m, &search, &last))
		if err := db.MapConflict(n, err, "message", m.ID); err != nil {
			return err
		}
		if have == "" && m.Role == domain.RoleUser {
			have = title(m.Text)
		}
	}
	_, err = t.Exec(ctx, `UPDATE conversations SET title = ?, updated_at = ? WHERE id = ?`, have, t.Stamp(), conversationID)
	return err
}

// Messages returns up to `limit` of the conversation's newest messages, in chronological order.
func (c *Store) Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error) {
	ms, err := db.Collect(ctx, c.db.Read, scanMessage, `SELECT `+messageColumns+` FROM messages
		WHERE conversation_id = ? ORDER BY seq DESC LIMIT ?`, conversationID, limit)
	if err != nil {
		return nil, fmt.Errorf("reading messages: %w", err)
	}
	slices.Reverse(ms)
	return ms, nil
}

// Messages per batch in EachMessage. Small, because messages can be long answers.
const messageBatch = 20

// EachMessage calls f with each of the conversation's messages, oldest first. It stops at the first error from f and
// returns it. Only one batch is in memory at a time.
func (c *Store) EachMessage(ctx context.Context, conversationID string, f func(domain.Message) error) error {
	w := db.Walk[domain.Message]{
		Text: `SELECT ` + messageColumns + ` FROM messages WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
		Args: []any{conversationID}, After: []any{int64(math.MinInt64)}, Scan: scanMessage, Batch: messageBatch,
		Key: func(m domain.Message) []any { return []any{db.Micros(m.CreatedAt)} }, // the message's seq
	}
	return w.Run(ctx, c.db.Read, f)
}

// Maximum length of a title in characters.
const titleRunes = 80

func title(text string) string {
	if utf8.RuneCountInString(text) <= titleRunes {
		return text
	}
	return string([]rune(text)[:titleRunes-1]) + "…"
}
