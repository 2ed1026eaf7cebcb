// Package responses stores the responses and conversations created through the OpenAI-compatible API. It imports db.
package responses

import (
	"context"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Responses keeps responses and conversations in the catalog's database. All methods are safe for concurrent use.
type Responses struct {
	db   *db.DB
	kept int // MaxKept, except in tests

	mu  sync.Mutex
	due map[string]int // number of new responses, per workspace, until the next deletion
}

// MaxKept is the maximum number of responses per workspace. After every pruneInterval new responses in a workspace,
// each process deletes the workspace's oldest responses beyond that number.
const MaxKept = 100_000

const pruneInterval = 1000

// New returns a store that uses the given database.
func New(d *db.DB) *Responses {
	return &Responses{db: d, kept: MaxKept, due: map[string]int{}}
}

// prunes reports whether it is time to delete the workspace's oldest responses; see MaxKept.
func (s *Responses) prunes(ws string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due[ws]--
	if s.due[ws] > 0 {
		return false
	}
	s.due[ws] = pruneInterval
	return true
}

func row(r *domain.StoredResponse) db.Row {
	return db.Row{
		db.Fixed("id", &r.ID),
		db.Fixed("workspace_id", &r.WorkspaceID),
		db.Fixed("key_id", &r.KeyID),
		db.Fixed("status", &r.Status),
		db.Fixed("background", &r.Background),
		db.Fixed("holder", &r.Holder),
		db.Fixed("held_until", &r.HeldUntil),
		db.Fixed("input", &r.Input),
		db.Fixed("body", &r.Body),
		db.Fixed("trace", &r.Trace),
		db.Fixed("created_at", &r.CreatedAt),
	}
}

var (
	columns    = row(new(domain.StoredResponse)).Columns("")
	insertText = row(new(domain.StoredResponse)).InsertText("responses")
	scan       = db.ScanRow(row)
)

// unfinished selects responses that are still being answered in the background. Keep it identical to the partial
// index's condition, because otherwise the index isn't used.
const unfinished = `status IN ('queued', 'in_progress')`

// CreateResponse stores a response. If it is complete, its items are appended to the conversation in the same
// transaction. CreateResponse fails with domain.CodeNotFound if the conversation was deleted, and with
// domain.CodeConflict if the id already exists.
func (s *Responses) CreateResponse(ctx context.Context, r domain.StoredResponse, conversationID string, items ...domain.ConversationItem) error {
	if r.HeldUntil.IsZero() {
		r.HeldUntil = db.FromMicros(0)
	}
	prunes := s.prunes(r.WorkspaceID)
	return s.db.Update(ctx, "storing a response", func(t *db.Tx) error {
		n, err := t.Insert(ctx, insertText, row(&r))
		if err := db.MapConflict(n, err, "response", r.ID); err != nil {
			return err
		}
		if prunes {
			if _, err := t.Exec(ctx, `DELETE FROM responses WHERE id IN (
				SELECT id FROM responses WHERE workspace_id = ? ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?)`, r.WorkspaceID, 2*pruneInterval, s.kept); err != nil {
				return err
			}
		}
		return s.appendItems(ctx, t, r.WorkspaceID, conversationID, items)
	})
}

// Response returns one of the workspace's responses.
func (s *Responses) Response(ctx context.Context, ws, id string) (domain.StoredResponse, error) {
	r, err := scan(s.db.Read.QueryRow(ctx, `SELECT `+columns+` FROM responses WHERE workspace_id = ? AND id = ?`, ws, id))
	return r, db.MapNotFound(err, "response", id)
}

// HoldResponse sets a response's status and renews the holder's claim to it. It returns false if the response has
// ended, was deleted, or has another holder; the caller must then stop answering it.
func (s *Responses) HoldResponse(ctx context.Context, id, holder string, status domain.ResponseStatus, until time.Time) (held bool, err error) {
	err = s.db.Update(ctx, "holding a response", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `UPDATE responses SET status = ?, held_until = ? WHERE id = ? AND holder = ? AND `+unfinished,
			string(status), db.Micros(until), id, holder)
		held = n == 1
		return err
	})
	return held && err == nil, err
}

// FinishResponse stores a response's final state and appends the items to the conversation, all in one transaction. It
// changes nothing and returns false if the response was deleted or has already ended, for example because it was
// cancelled. It fails with domain.CodeNotFound if the conversation was deleted.
func (s *Responses) FinishResponse(ctx context.Context, r domain.StoredResponse, conversationID string, items ...domain.ConversationItem) (stored bool, err error) {
	err = s.db.Update(ctx, "finishing a response", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `UPDATE responses SET status = ?, body = ?, trace = ?, held_until = 0 WHERE id = ? AND holder = ? AND `+unfinished,
			string(r.Status), r.Body, r.Trace, r.ID, r.Holder)
		if stored = n == 1; err != nil || !stored {
			return err
		}
		return s.appendItems(ctx, t, r.WorkspaceID, conversationID, items)
	})
	return stored && err == nil, err
}

// CancelResponse marks an unfinished response as cancelled and returns it. A response that has already ended is
// returned unchanged.
func (s *Responses) CancelResponse(ctx context.Context, ws, id string) (r domain.StoredResponse, err error) {
	err = s.db.Update(ctx, "cancelling a response", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE responses SET status = ? WHERE workspace_id = ? AND id = ? AND `+unfinished, string(domain.ResponseCancelled), ws, id)
		if err != nil {
			return err
		}
		r, err = scan(t.QueryRow(ctx, `SELECT `+columns+` FROM responses WHERE workspace_id = ? AND id = ?`, ws, id))
		return db.MapNotFound(err, "response", id)
	})
	return r, err
}

// DeleteResponse deletes one of the workspace's responses. If it is being answered, its holder stops.
func (s *Responses) DeleteResponse(ctx context.Context, ws, id string) error {
	return s.db.Update(ctx, "deleting a response", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `DELETE FROM responses WHERE workspace_id = ? AND id = ?`, ws, id)
		if err == nil && n == 0 {
			err = domain.NotFound("response", id)
		}
		return err
	})
}

// Number of responses or conversations deleted per transaction.
const deleteBatch = 100

// ForgetResponses deletes a batch of responses created before the given time. It reports whether there are more.
func (s *Responses) ForgetResponses(ctx context.Context, before time.Time) (more bool, err error) {
	old := db.Micros(before)
	if some, err := db.Exists(ctx, s.db.Read, `SELECT 1 FROM responses WHERE created_at < ? LIMIT 1`, old); err != nil || !some {
		return false, err
	}
	err = s.db.Update(ctx, "forgetting responses", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `DELETE FROM responses WHERE id IN (
			SELECT id FROM responses WHERE created_at < ? ORDER BY created_at, id LIMIT ?)`, old, deleteBatch)
		more = n == deleteBatch
		return err
	})
	return more && err == nil, err
}

// FailAbandoned marks a response as failed if its holder has stopped renewing its claim and so must have died.
func (s *Responses) FailAbandoned(ctx context.Context) error {
	now := db.Micros(s.db.Now().Add(-db.ClockSkew))
	const abandoned = unfinished + ` AND held_until < ?`
	if some, err := db.Exists(ctx, s.db.Read, `SELECT 1 FROM responses WHERE `+abandoned+` LIMIT 1`, now); err != nil || !some {
		return err
	}
	return s.db.Update(ctx, "failing abandoned responses", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE responses SET status = ? WHERE `+abandoned, string(domain.ResponseFailed), now)
		return err
	})
}

// FailUnfinished marks all unfinished responses as failed, unless other processes share the database. Call it at
// startup, when such responses must be from a process that has died.
func (s *Responses) FailUnfinished(ctx context.Context) error {
	if s.db.IsShared() {
		return nil
	}
	return s.db.Update(ctx, "failing unfinished responses", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE responses SET status = ? WHERE `+unfinished, string(domain.ResponseFailed))
		return err
	})
}
