package conversations

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
)

// Lock acquires or renews the lock for answering a question in the conversation. It returns false if another holder has
// the lock. The lock makes all processes answer a conversation's questions one at a time, so each answer can refer to
// earlier answers. A lock that is neither renewed nor released expires after ttl. Like Lease, Lock uses the process's
// clock.
//
// A conversation can be locked before it is stored, because several first questions may arrive at once. The lock only
// orders answers: if a holder loses the lock, its answer is still stored, after the messages already there.
func (c *Store) Lock(ctx context.Context, conversationID, holder string, ttl time.Duration) (taken bool, err error) {
	err = c.db.Update(ctx, "locking a conversation", func(t *db.Tx) error {
		now := c.db.Now()
		n, err := t.Exec(ctx, `INSERT INTO conversation_turns (conversation_id, holder, held_until) VALUES (?, ?, ?)
			ON CONFLICT (conversation_id) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
			WHERE conversation_turns.holder = excluded.holder OR conversation_turns.held_until <= ? OR conversation_turns.held_until > ?`,
			conversationID, holder, db.Micros(now.Add(ttl)), db.Micros(now), db.Micros(now.Add(ttl+db.ClockSkew)))
		taken = n == 1
		return err
	})
	return taken && err == nil, err
}

// How long expired locks are kept.
const lockExpiry = time.Hour

// Unlock releases the lock if the holder still has it.
func (c *Store) Unlock(ctx context.Context, conversationID, holder string) error {
	return c.db.Update(ctx, "unlocking a conversation", func(t *db.Tx) error {
		if _, err := t.Exec(ctx, `DELETE FROM conversation_turns WHERE conversation_id = ? AND holder = ?`, conversationID, holder); err != nil {
			return err
		}
		_, err := t.Exec(ctx, `DELETE FROM conversation_turns WHERE held_until <= ?`, db.Micros(c.db.Now().Add(-lockExpiry)))
		return err
	})
}

// Number of conversations deleted per transaction.
const forgetBatch = 100

// ForgetConversations deletes a batch of conversations that have had no messages since the given time and in which no
// question is being answered. It reports whether there are more.
func (c *Store) ForgetConversations(ctx context.Context, since time.Time) (more bool, err error) {
	const forgotten = `updated_at < ? AND NOT EXISTS (
		SELECT 1 FROM conversation_turns t WHERE t.conversation_id = conversations.id AND t.held_until >= ?)`
	old, now := db.Micros(since), db.Micros(c.db.Now())
	// Usually there is nothing to delete, so check without a transaction first.
	if some, err := db.Exists(ctx, c.db.Read, `SELECT 1 FROM conversations WHERE `+forgotten+` LIMIT 1`, old, now); err != nil || !some {
		return false, err
	}
	err = c.db.Update(ctx, "forgetting conversations", func(t *db.Tx) error {
		// Check the condition again, because a conversation may have continued since the subquery selected it.
		n, err := t.Exec(ctx, `DELETE FROM conversations WHERE id IN (
				SELECT id FROM conversations WHERE `+forgotten+` ORDER BY updated_at, id LIMIT ?) AND `+forgotten, old, now, forgetBatch, old, now)
		more = n == forgetBatch
		return err
	})
	return more && err == nil, err
}
