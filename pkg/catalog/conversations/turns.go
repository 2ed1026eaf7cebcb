package conversations

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
)

// TakeTurn lets the holder answer a question of the conversation for the time from now on, or longer when it has the turn
// already, and reports whether it may: while another holder has the turn it may not. A turn that was not ended, because
// its process died, ends with its time. So questions that several processes are asked at once are answered one after the
// other, each knowing the answers before it. It goes by the clock of the process, like Lease.
//
// There is a turn in a conversation that is not stored, too: the first of several first questions begins it. The turn
// orders answers, it does not guard them: one that comes after its turn has passed to another is stored all the same, as a
// whole, behind what was stored before.
func (c *Store) TakeTurn(ctx context.Context, conversationID, holder string, ttl time.Duration) (taken bool, err error) {
	err = c.db.Update(ctx, "taking a turn in a conversation", func(t *db.Tx) error {
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

// lostTurn is after how long a turn that was not ended is cleared away.
const lostTurn = time.Hour

// EndTurn ends the holder's turn, if it still has it.
func (c *Store) EndTurn(ctx context.Context, conversationID, holder string) error {
	return c.db.Update(ctx, "ending a turn in a conversation", func(t *db.Tx) error {
		if _, err := t.Exec(ctx, `DELETE FROM conversation_turns WHERE conversation_id = ? AND holder = ?`, conversationID, holder); err != nil {
			return err
		}
		_, err := t.Exec(ctx, `DELETE FROM conversation_turns WHERE held_until <= ?`, db.Micros(c.db.Now().Add(-lostTurn)))
		return err
	})
}

// forgetBatch is how many conversations one transaction deletes.
const forgetBatch = 100

// ForgetConversations deletes the next batch of conversations in which nothing was said since the time, and of which no
// question is being answered, and reports whether there are more.
func (c *Store) ForgetConversations(ctx context.Context, since time.Time) (more bool, err error) {
	const forgotten = `updated_at < ? AND NOT EXISTS (
		SELECT 1 FROM conversation_turns t WHERE t.conversation_id = conversations.id AND t.held_until >= ?)`
	old, now := db.Micros(since), db.Micros(c.db.Now())
	// Mostly there are none, and this is asked all the time: without a transaction.
	if some, err := db.Exists(ctx, c.db.Read, `SELECT 1 FROM conversations WHERE `+forgotten+` LIMIT 1`, old, now); err != nil || !some {
		return false, err
	}
	err = c.db.Update(ctx, "forgetting conversations", func(t *db.Tx) error {
		// Said twice: one that goes on meanwhile is looked at again before it is deleted.
		n, err := t.Exec(ctx, `DELETE FROM conversations WHERE id IN (
				SELECT id FROM conversations WHERE `+forgotten+` ORDER BY updated_at, id LIMIT ?) AND `+forgotten, old, now, forgetBatch, old, now)
		more = n == forgetBatch
		return err
	})
	return more && err == nil, err
}
