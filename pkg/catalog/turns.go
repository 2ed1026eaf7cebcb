package catalog

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// TakeTurn lets the holder answer a question of the conversation for the time from now on, or longer when it has the turn
// already, and reports whether it may: while another holder has the turn it may not. A turn that was not ended, because
// its process died, ends with its time. So questions that several processes are asked at once are answered one after the
// other, each knowing the answers before it. It goes by the clock of the process, like Lease.
//
// The turn orders answers, it does not guard them: one that comes after its turn has passed to another is stored all the
// same, as a whole, behind what was stored before.
func (c *Catalog) TakeTurn(ctx context.Context, conversationID, holder string, ttl time.Duration) (taken bool, err error) {
	err = c.update(ctx, "taking a turn in a conversation", func(t *tx) error {
		now := c.now()
		n, err := t.exec(ctx, `UPDATE conversations SET turn_holder = ?, turn_until = ? WHERE id = ? AND (turn_holder = ? OR turn_until <= ?)`,
			holder, micros(now.Add(ttl)), conversationID, holder, micros(now))
		if taken = n == 1; err != nil || taken {
			return err
		}
		var one int
		return found(t.queryRow(ctx, `SELECT 1 FROM conversations WHERE id = ?`, conversationID).Scan(&one), "conversation", conversationID)
	})
	return taken && err == nil, err
}

// EndTurn ends the holder's turn, if it still has it.
func (c *Catalog) EndTurn(ctx context.Context, conversationID, holder string) error {
	return c.update(ctx, "ending a turn in a conversation", func(t *tx) error {
		_, err := t.exec(ctx, `UPDATE conversations SET turn_holder = '', turn_until = 0 WHERE id = ? AND turn_holder = ?`, conversationID, holder)
		return err
	})
}

// forgetBatch is how many conversations one transaction deletes.
const forgetBatch = 100

// ForgetConversations deletes the next batch of conversations in which nothing was said since the time, and of which no
// question is being answered, and reports whether there are more.
func (c *Catalog) ForgetConversations(ctx context.Context, since time.Time) (more bool, err error) {
	old, now := micros(since), micros(c.now())
	var one int
	first := c.db.read.queryRow(ctx, `SELECT 1 FROM conversations WHERE updated_at < ? AND turn_until < ? LIMIT 1`, old, now).Scan(&one)
	if err := found(first, "conversation", ""); err != nil {
		if domain.CodeOf(err) == domain.CodeNotFound {
			return false, nil // mostly so, and asked all the time: without a transaction
		}
		return false, err
	}
	err = c.update(ctx, "forgetting conversations", func(t *tx) error {
		// Said twice: one that goes on meanwhile is looked at again before it is deleted.
		n, err := t.exec(ctx, `DELETE FROM conversations WHERE id IN (
				SELECT id FROM conversations WHERE updated_at < ? AND turn_until < ? ORDER BY updated_at, id LIMIT ?)
			AND updated_at < ? AND turn_until < ?`, old, now, forgetBatch, old, now)
		more = n == forgetBatch
		return err
	})
	return more && err == nil, err
}
