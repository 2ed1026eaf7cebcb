package catalog

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
	"github.com/sluice/sluice/pkg/domain"
)

const conversationColumns = `id, caller_id, workspace_id, agent_id, visitor_id, title, created_at, updated_at`

func scanConversation(s scanner) (domain.Conversation, error) {
	var v domain.Conversation
	var createdAt, updatedAt int64
	err := s.Scan(&v.ID, &v.CallerID, &v.WorkspaceID, &v.AgentID, &v.VisitorID, &v.Title, &createdAt, &updatedAt)
	v.CreatedAt, v.UpdatedAt = fromMicros(createdAt), fromMicros(updatedAt)
	return v, err
}

// EnsureConversation stores v as a new conversation with its first messages, all of it or nothing, the times being set
// here, and returns it. One that is there is returned as it is; messages are then added to it, if it is the same
// visitor's. A conversation of another workspace or agent, with messages of another visitor, and an agent that does not
// exist, are not found.
func (c *Catalog) EnsureConversation(ctx context.Context, v domain.Conversation, first ...domain.Message) (have domain.Conversation, err error) {
	at := c.stamp()
	v.CreatedAt, v.UpdatedAt, v.Title = fromMicros(at), fromMicros(at), title(v.Title)
	err = c.update(ctx, "storing a conversation", func(t *tx) error {
		if _, err := readAgent(ctx, t, v.AgentID, ownAgent, v.WorkspaceID, v.AgentID); err != nil {
			return err
		}
		n, err := t.exec(ctx, `INSERT INTO conversations (`+conversationColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			v.ID, v.CallerID, v.WorkspaceID, v.AgentID, v.VisitorID, v.Title, at, at)
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
		return c.appendMessages(ctx, t, v.ID, first)
	})
	return have, err
}

// FindConversation returns the conversation with the id, and whether there is one. One of another workspace or agent is not
// found.
func (c *Catalog) FindConversation(ctx context.Context, ws, agentID, id string) (v domain.Conversation, exists bool, err error) {
	v, err = scanConversation(c.db.read.queryRow(ctx, `SELECT `+conversationColumns+` FROM conversations WHERE id = ?`, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return domain.Conversation{}, false, nil
	case err != nil:
		return domain.Conversation{}, false, found(err, "conversation", id)
	case v.WorkspaceID != ws || v.AgentID != agentID:
		return domain.Conversation{}, false, domain.NotFound("conversation", id)
	}
	return v, true, nil
}

// Conversation returns one conversation of the workspace, with that agent unless agentID is empty.
func (c *Catalog) Conversation(ctx context.Context, ws, agentID, id string) (domain.Conversation, error) {
	return readConversation(ctx, c.db.read, ws, agentID, id)
}

func readConversation(ctx context.Context, q querier, ws, agentID, id string) (domain.Conversation, error) {
	text, args := `SELECT `+conversationColumns+` FROM conversations WHERE workspace_id = ? AND id = ?`, []any{ws, id}
	if agentID != "" {
		text, args = text+` AND agent_id = ?`, append(args, agentID)
	}
	v, err := scanConversation(q.queryRow(ctx, text, args...))
	if err != nil {
		return domain.Conversation{}, found(err, "conversation", id)
	}
	return v, nil
}

// ConversationsByCallerID returns at most limit conversations of the workspace with a caller's id, newest first. A non-empty agent or
// visitor restricts the result.
func (c *Catalog) ConversationsByCallerID(ctx context.Context, ws, agentID, visitorID, callerID string, limit int) ([]domain.Conversation, error) {
	vs, err := collect(ctx, c.db.read, scanConversation, `SELECT `+conversationColumns+` FROM conversations
		WHERE workspace_id = ? AND caller_id = ? AND caller_id <> '' AND (? = '' OR agent_id = ?) AND (? = '' OR visitor_id = ?)
		ORDER BY created_at DESC, id DESC LIMIT ?`, ws, callerID, agentID, agentID, visitorID, visitorID, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for a conversation by its caller's id: %w", err)
	}
	return vs, nil
}

// ConversationFilter selects conversations; what is empty does not select.
type ConversationFilter struct {
	AgentID   string
	VisitorID string
	From      time.Time // begun then or later
	To        time.Time // begun before
	Search    string    // a text within one of its messages, in upper or lower case
}

// Conversations returns a page of the workspace's conversations that pass the filter, newest first, and the cursor of the
// next page, "" after the last.
func (c *Catalog) Conversations(ctx context.Context, ws string, f ConversationFilter, p Page) ([]domain.Conversation, string, error) {
	l := list{name: cursor.Conversations, columns: conversationColumns, table: `conversations`}
	l.and(`workspace_id = ?`, ws)
	if f.AgentID != "" {
		l.and(`agent_id = ?`, f.AgentID)
	}
	if f.VisitorID != "" {
		l.and(`visitor_id = ?`, f.VisitorID)
	}
	if !f.From.IsZero() {
		l.and(`created_at >= ?`, micros(f.From))
	}
	if !f.To.IsZero() {
		l.and(`created_at < ?`, micros(f.To))
	}
	if f.Search != "" {
		l.and(`EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = conversations.id AND m.search_text LIKE ? ESCAPE '!')`,
			"%"+likeLiteral.Replace(strings.ToLower(f.Search))+"%")
	}
	text, args, limit, err := l.page(p)
	if err != nil {
		return nil, "", err
	}
	items, err := collect(ctx, c.db.read, scanConversation, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing conversations: %w", err)
	}
	items, next := cut(l, items, limit, func(v domain.Conversation) cursor.Position { return cursor.Position{At: micros(v.CreatedAt), ID: v.ID} })
	return items, next, nil
}

// DeleteConversation deletes the conversation with its messages and returns it. An answer that is being written to it
// finds no conversation when it is to be stored.
func (c *Catalog) DeleteConversation(ctx context.Context, ws, id string) (domain.Conversation, error) {
	var v domain.Conversation
	err := c.update(ctx, "deleting a conversation", func(t *tx) (err error) {
		v, err = scanConversation(t.queryRow(ctx, `DELETE FROM conversations WHERE workspace_id = ? AND id = ? RETURNING `+conversationColumns, ws, id))
		return found(err, "conversation", id)
	})
	return v, err
}

// AppendMessages adds messages to the end of the conversation, all or none, ConversationID and CreatedAt being set here.
// The first question becomes the title of a conversation that has none.
func (c *Catalog) AppendMessages(ctx context.Context, conversationID string, ms ...domain.Message) error {
	return c.update(ctx, "storing messages", func(t *tx) error { return c.appendMessages(ctx, t, conversationID, ms) })
}

func (c *Catalog) appendMessages(ctx context.Context, t *tx, conversationID string, ms []domain.Message) error {
	var have string
	err := t.queryRow(ctx, `SELECT title FROM conversations WHERE id = ?`+t.lock, conversationID).Scan(&have)
	if err != nil {
		return found(err, "conversation", conversationID)
	}
	var last int64 // another process may have stored it, by a clock that goes ahead of this one's
	err = t.queryRow(ctx, `SELECT COALESCE(MAX(seq), 0) FROM messages WHERE conversation_id = ?`, conversationID).Scan(&last)
	if err != nil {
		return fmt.Errorf("looking for the last message: %w", err)
	}
	for _, m := range ms {
		sources := ""
		if len(m.Sources) > 0 {
			if sources, err = toJSON(m.Sources); err != nil {
				return err
			}
		}
		at := max(c.stamp(), last+1)
		last = at
		n, err := t.exec(ctx, `INSERT INTO messages (id, conversation_id, role, text, search_text, sources, created_at, seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, m.ID, conversationID, m.Role, m.Text, strings.ToLower(m.Text), sources, at, at)
		if err := created(n, err, "message", m.ID); err != nil {
			return err
		}
		if have == "" && m.Role == domain.RoleUser {
			have = title(m.Text)
		}
	}
	_, err = t.exec(ctx, `UPDATE conversations SET title = ?, updated_at = ? WHERE id = ?`, have, c.stamp(), conversationID)
	return err
}

const messageColumns = `id, conversation_id, role, text, sources, created_at`

func scanMessage(s scanner) (m domain.Message, err error) {
	var sources sql.NullString
	var createdAt int64
	err = s.Scan(&m.ID, &m.ConversationID, &m.Role, &m.Text, &sources, &createdAt)
	m.CreatedAt = fromMicros(createdAt)
	return m, errors.Join(err, fromJSON(sources.String, &m.Sources))
}

// Messages returns the newest messages of the conversation, at most limit, oldest of them first.
func (c *Catalog) Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error) {
	ms, err := collect(ctx, c.db.read, scanMessage, `SELECT `+messageColumns+` FROM messages
		WHERE conversation_id = ? ORDER BY seq DESC LIMIT ?`, conversationID, limit)
	if err != nil {
		return nil, fmt.Errorf("reading messages: %w", err)
	}
	slices.Reverse(ms)
	return ms, nil
}

// messageBatch is how many messages are read at a time by EachMessage: each may be as long as an answer.
const messageBatch = 20

// EachMessage calls f with every message of the conversation, oldest first, until f fails, and returns f's error. It holds
// few of them at a time, however many there are.
func (c *Catalog) EachMessage(ctx context.Context, conversationID string, f func(domain.Message) error) error {
	w := walk[domain.Message]{
		text: `SELECT ` + messageColumns + ` FROM messages WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
		args: []any{conversationID}, after: []any{int64(math.MinInt64)}, scan: scanMessage, batch: messageBatch,
		key: func(m domain.Message) []any { return []any{micros(m.CreatedAt)} }, // which is its place in the conversation
	}
	return w.run(ctx, c.db.read, f)
}

// titleRunes is how long a title may be.
const titleRunes = 80

func title(text string) string {
	if utf8.RuneCountInString(text) <= titleRunes {
		return text
	}
	return string([]rune(text)[:titleRunes-1]) + "…"
}
