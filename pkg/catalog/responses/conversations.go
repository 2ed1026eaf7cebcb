package responses

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// MaxItems is the maximum number of items in a conversation.
const MaxItems = 10_000

func conversationRow(c *domain.ItemConversation) db.Row {
	return db.Row{
		db.Fixed("id", &c.ID),
		db.Fixed("workspace_id", &c.WorkspaceID),
		db.Fixed("key_id", &c.KeyID),
		db.Col("metadata", &c.Metadata),
		db.Fixed("created_at", &c.CreatedAt),
		db.Col("updated_at", &c.UpdatedAt),
	}
}

var (
	conversationColumns    = conversationRow(new(domain.ItemConversation)).Columns("")
	insertConversationText = conversationRow(new(domain.ItemConversation)).InsertText("item_conversations")
	updateConversationText = conversationRow(new(domain.ItemConversation)).UpdateText("item_conversations")
	scanConversation       = db.ScanRow(conversationRow)
)

func scanItem(s db.Scanner) (i domain.ConversationItem, err error) {
	err = s.Scan(&i.ID, &i.Item)
	return i, err
}

// CreateItemConversation stores a conversation with its first items and returns it with its timestamps set.
func (s *Responses) CreateItemConversation(ctx context.Context, c domain.ItemConversation, items ...domain.ConversationItem) (domain.ItemConversation, error) {
	at := db.FromMicros(s.db.Stamp())
	c.CreatedAt, c.UpdatedAt = at, at
	err := s.db.Update(ctx, "storing a conversation", func(t *db.Tx) error {
		n, err := t.Insert(ctx, insertConversationText, conversationRow(&c))
		if err := db.MapConflict(n, err, "conversation", c.ID); err != nil {
			return err
		}
		return s.appendItems(ctx, t, c.WorkspaceID, c.ID, items)
	})
	return c, err
}

// ItemConversation returns one of the workspace's conversations.
func (s *Responses) ItemConversation(ctx context.Context, ws, id string) (domain.ItemConversation, error) {
	return readConversation(ctx, s.db.Read, ws, id, "")
}

func readConversation(ctx context.Context, q db.Querier, ws, id, lock string) (domain.ItemConversation, error) {
	c, err := scanConversation(q.QueryRow(ctx, `SELECT `+conversationColumns+` FROM item_conversations WHERE workspace_id = ? AND id = ?`+lock, ws, id))
	return c, db.MapNotFound(err, "conversation", id)
}

// UpdateItemConversation replaces a conversation's metadata and returns the conversation.
func (s *Responses) UpdateItemConversation(ctx context.Context, ws, id string, metadata map[string]string) (c domain.ItemConversation, err error) {
	err = s.db.Update(ctx, "updating a conversation", func(t *db.Tx) error {
		if c, err = readConversation(ctx, t, ws, id, t.Lock); err != nil {
			return err
		}
		c.Metadata, c.UpdatedAt = metadata, db.FromMicros(t.Stamp())
		return t.UpdateRow(ctx, updateConversationText, conversationRow(&c), id)
	})
	return c, err
}

// DeleteItemConversation deletes a conversation with its items.
func (s *Responses) DeleteItemConversation(ctx context.Context, ws, id string) error {
	return s.db.Update(ctx, "deleting a conversation", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `DELETE FROM item_conversations WHERE workspace_id = ? AND id = ?`, ws, id)
		if err == nil && n == 0 {
			err = domain.NotFound("conversation", id)
		}
		return err
	})
}

// AppendItems appends the items to a conversation, all or nothing. It fails with domain.CodeInvalid if the conversation
// would exceed MaxItems, and with domain.CodeConflict if it already contains one of the ids.
func (s *Responses) AppendItems(ctx context.Context, ws, conversationID string, items ...domain.ConversationItem) error {
	return s.db.Update(ctx, "storing items", func(t *db.Tx) error { return s.appendItems(ctx, t, ws, conversationID, items) })
}

func (s *Responses) appendItems(ctx context.Context, t *db.Tx, ws, conversationID string, items []domain.ConversationItem) error {
	if conversationID == "" || len(items) == 0 {
		return nil
	}
	if _, err := readConversation(ctx, t, ws, conversationID, t.Lock); err != nil {
		return err
	}
	var have, last int64
	err := t.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM conversation_items WHERE conversation_id = ?`, conversationID).Scan(&have, &last)
	if err != nil {
		return fmt.Errorf("counting items: %w", err)
	}
	if have+int64(len(items)) > MaxItems {
		return domain.Invalid("items", "would make the conversation longer than the limit of %d items; create a new conversation", MaxItems)
	}
	for _, item := range items {
		last++
		err := t.Queue(ctx, db.Write{
			Action: "storing an item", Text: `INSERT INTO conversation_items (conversation_id, id, seq, item) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			Args: []any{conversationID, item.ID, last, item.Item}, Check: func(rows int64) error { return db.MapConflict(rows, nil, "item", item.ID) },
		})
		if err != nil {
			return err
		}
	}
	_, err = t.Exec(ctx, `UPDATE item_conversations SET updated_at = ? WHERE id = ?`, t.Stamp(), conversationID)
	return err
}

// Items returns up to limit of a conversation's items, oldest first unless newestFirst is set. If after is not empty,
// the items follow the one with this id, and Items fails with domain.CodeNotFound if there is no such item.
func (s *Responses) Items(ctx context.Context, conversationID, after string, newestFirst bool, limit int) ([]domain.ConversationItem, error) {
	text, args := `SELECT id, item FROM conversation_items WHERE conversation_id = ?`, []any{conversationID}
	order, compare := ` ORDER BY seq`, ` AND seq > ?`
	if newestFirst {
		order, compare = ` ORDER BY seq DESC`, ` AND seq < ?`
	}
	if after != "" {
		var seq int64
		err := s.db.Read.QueryRow(ctx, `SELECT seq FROM conversation_items WHERE conversation_id = ? AND id = ?`, conversationID, after).Scan(&seq)
		if err := db.MapNotFound(err, "item", after); err != nil {
			return nil, err
		}
		text, args = text+compare, append(args, seq)
	}
	items, err := db.Collect(ctx, s.db.Read, scanItem, text+order+` LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("reading items: %w", err)
	}
	return items, nil
}

// Item returns one of a conversation's items.
func (s *Responses) Item(ctx context.Context, conversationID, id string) (domain.ConversationItem, error) {
	i, err := scanItem(s.db.Read.QueryRow(ctx, `SELECT id, item FROM conversation_items WHERE conversation_id = ? AND id = ?`, conversationID, id))
	return i, db.MapNotFound(err, "item", id)
}

// DeleteItem deletes one of a conversation's items.
func (s *Responses) DeleteItem(ctx context.Context, conversationID, id string) error {
	return s.db.Update(ctx, "deleting an item", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `DELETE FROM conversation_items WHERE conversation_id = ? AND id = ?`, conversationID, id)
		if err == nil && n == 0 {
			err = domain.NotFound("item", id)
		}
		return err
	})
}

// ForgetItemConversations deletes a batch of conversations that have not changed since the given time. It reports
// whether there are more.
func (s *Responses) ForgetItemConversations(ctx context.Context, since time.Time) (more bool, err error) {
	old := db.Micros(since)
	if some, err := db.Exists(ctx, s.db.Read, `SELECT 1 FROM item_conversations WHERE updated_at < ? LIMIT 1`, old); err != nil || !some {
		return false, err
	}
	err = s.db.Update(ctx, "forgetting conversations", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `DELETE FROM item_conversations WHERE id IN (
			SELECT id FROM item_conversations WHERE updated_at < ? ORDER BY updated_at, id LIMIT ?) AND updated_at < ?`, old, deleteBatch, old)
		more = n == deleteBatch
		return err
	})
	return more && err == nil, err
}
