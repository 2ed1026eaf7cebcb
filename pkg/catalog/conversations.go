package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

const conversationColumns = `id, workspace_id, agent_id, visitor_id, title, created_at, updated_at`

func scanConversation(s scanner) (domain.Conversation, error) {
	var v domain.Conversation
	var createdAt, updatedAt int64
	err := s.Scan(&v.ID, &v.WorkspaceID, &v.AgentID, &v.VisitorID, &v.Title, &createdAt, &updatedAt)
	v.CreatedAt, v.UpdatedAt = fromMicros(createdAt), fromMicros(updatedAt)
	return v, err
}

// EnsureConversation returns the conversation with the id, and stores v as a new one, both times set here, when there is
// none. A conversation of another workspace or agent, and an agent that does not exist, are not found.
func (c *Catalog) EnsureConversation(ctx context.Context, v domain.Conversation) (domain.Conversation, error) {
	have, err := c.Conversation(ctx, v.WorkspaceID, v.AgentID, v.ID)
	if err == nil || domain.CodeOf(err) != domain.CodeNotFound {
		return have, err
	}
	at := c.stamp()
	v.CreatedAt, v.UpdatedAt, v.Title = fromMicros(at), fromMicros(at), title(v.Title)
	err = c.update(ctx, "storing a conversation", func(t *tx) error {
		if _, err := readAgent(ctx, t, v.AgentID, ownAgent, v.WorkspaceID, v.AgentID); err != nil {
			return err
		}
		n, err := t.exec(ctx, `INSERT INTO conversations (`+conversationColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			v.ID, v.WorkspaceID, v.AgentID, v.VisitorID, v.Title, at, at)
		if err != nil || n == 1 {
			have = v
			return err
		}
		have, err = readConversation(ctx, t, v.WorkspaceID, v.AgentID, v.ID) // another request has just made it
		return err
	})
	return have, err
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

// Conversations returns a page of the workspace's conversations, of one agent when agentID is not empty, newest first,
// and the cursor of the next page, "" after the last.
func (c *Catalog) Conversations(ctx context.Context, ws, agentID string, p Page) ([]domain.Conversation, string, error) {
	l := list{columns: conversationColumns, table: `conversations`}
	l.and(`workspace_id = ?`, ws)
	if agentID != "" {
		l.and(`agent_id = ?`, agentID)
	}
	text, args, limit, err := l.page(p)
	if err != nil {
		return nil, "", err
	}
	items, err := collect(ctx, c.db.read, scanConversation, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing conversations: %w", err)
	}
	items, next := cut(items, limit, func(v domain.Conversation) position { return position{micros(v.CreatedAt), v.ID} })
	return items, next, nil
}

// AppendMessages adds messages to the end of the conversation, all or none, ConversationID and CreatedAt being set here.
// The first question becomes the title of a conversation that has none.
func (c *Catalog) AppendMessages(ctx context.Context, conversationID string, ms ...domain.Message) error {
	return c.update(ctx, "storing messages", func(t *tx) error {
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
			n, err := t.exec(ctx, `INSERT INTO messages (id, conversation_id, role, text, sources, created_at, seq)
				VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, m.ID, conversationID, m.Role, m.Text, sources, at, at)
			if err := created(n, err, "message", m.ID); err != nil {
				return err
			}
			if have == "" && m.Role == domain.RoleUser {
				have = title(m.Text)
			}
		}
		_, err = t.exec(ctx, `UPDATE conversations SET title = ?, updated_at = ? WHERE id = ?`, have, c.stamp(), conversationID)
		return err
	})
}

// Messages returns the newest messages of the conversation, at most limit, oldest of them first.
func (c *Catalog) Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error) {
	scan := func(s scanner) (m domain.Message, err error) {
		var sources sql.NullString
		var createdAt int64
		err = s.Scan(&m.ID, &m.ConversationID, &m.Role, &m.Text, &sources, &createdAt)
		m.CreatedAt = fromMicros(createdAt)
		return m, errors.Join(err, fromJSON(sources.String, &m.Sources))
	}
	ms, err := collect(ctx, c.db.read, scan, `SELECT id, conversation_id, role, text, sources, created_at FROM messages
		WHERE conversation_id = ? ORDER BY seq DESC LIMIT ?`, conversationID, limit)
	if err != nil {
		return nil, fmt.Errorf("reading messages: %w", err)
	}
	slices.Reverse(ms)
	return ms, nil
}

// titleRunes is how long a title may be.
const titleRunes = 80

func title(text string) string {
	if utf8.RuneCountInString(text) <= titleRunes {
		return text
	}
	return string([]rune(text)[:titleRunes-1]) + "…"
}
