package files

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// UploadLifetime is how long an upload can stay pending.
const UploadLifetime = time.Hour

// How long uploads are kept after they end, so that a retried request gets the same response.
const finishedLifetime = 24 * time.Hour

// MaxParts is the maximum number of parts in an upload.
const MaxParts = 1000

func uploadRow(u *domain.Upload, keepFor *int64) db.Row {
	return db.Row{
		db.Fixed("id", &u.ID),
		db.Fixed("workspace_id", &u.WorkspaceID),
		db.Fixed("name", &u.Name),
		db.Fixed("purpose", &u.Purpose),
		db.Fixed("mime_type", &u.MIMEType),
		db.Fixed("bytes", &u.Bytes),
		db.Fixed("keep_for", keepFor),
		db.Col("status", &u.Status),
		db.Col("file_id", &u.FileID),
		db.Fixed("created_at", &u.CreatedAt),
		db.Fixed("expires_at", &u.ExpiresAt),
	}
}

func partRow(p *domain.UploadPart, ws *string) db.Row {
	return db.Row{
		db.Fixed("id", &p.ID),
		db.Fixed("upload_id", &p.UploadID),
		db.Derived("workspace_id", ws),
		db.Fixed("original", &p.Original),
		db.Derived("original_key", &p.Original.Key),
		db.Derived("original_bytes", &p.Original.Size),
		db.Fixed("created_at", &p.CreatedAt),
	}
}

var (
	uploadColumns    = uploadRow(new(domain.Upload), new(int64)).Columns("")
	insertUploadText = uploadRow(new(domain.Upload), new(int64)).InsertText("uploads")
	updateUploadText = uploadRow(new(domain.Upload), new(int64)).UpdateText("uploads")
	partColumns      = partRow(new(domain.UploadPart), new(string)).Columns("")
	insertPartText   = partRow(new(domain.UploadPart), new(string)).InsertText("upload_parts")
	scanPart         = db.ScanRow(func(p *domain.UploadPart) db.Row { return partRow(p, new(string)) })
)

func scanUpload(s db.Scanner) (u domain.Upload, err error) {
	var keepFor int64
	err = uploadRow(&u, &keepFor).Scan(s)
	u.KeepFor = time.Duration(keepFor) * time.Microsecond
	return u, err
}

// CreateUpload stores a pending upload and sets its Status, CreatedAt and ExpiresAt.
func (c *Files) CreateUpload(ctx context.Context, u domain.Upload) (domain.Upload, error) {
	err := c.db.Update(ctx, "storing an upload", func(t *db.Tx) error {
		if err := accounts.RequireWorkspace(ctx, t, u.WorkspaceID); err != nil {
			return err
		}
		u.Status, u.FileID, u.CreatedAt = domain.UploadPending, "", db.FromMicros(t.Stamp())
		u.ExpiresAt = u.CreatedAt.Add(UploadLifetime)
		keepFor := u.KeepFor.Microseconds()
		n, err := t.Insert(ctx, insertUploadText, uploadRow(&u, &keepFor))
		return db.MapConflict(n, err, "upload", u.ID)
	})
	return u, err
}

// Upload returns one of the workspace's uploads.
func (c *Files) Upload(ctx context.Context, ws, id string) (domain.Upload, error) {
	return readUpload(ctx, c.db.Read, ws, id, "")
}

func readUpload(ctx context.Context, q db.Querier, ws, id, lock string) (domain.Upload, error) {
	u, err := scanUpload(q.QueryRow(ctx, `SELECT `+uploadColumns+` FROM uploads WHERE workspace_id = ? AND id = ?`+lock, ws, id))
	return u, db.MapNotFound(err, "upload", id)
}

// requirePending fails unless the upload is pending and so can still be changed.
func requirePending(u domain.Upload) error {
	if u.Status != domain.UploadPending {
		return domain.Errorf(domain.CodeConflict, "the upload is %s and can no longer be changed; create another one", u.Status)
	}
	return nil
}

// AddPart stores a part for a pending upload and sets its CreatedAt. It fails with domain.CodeTooLarge if the parts
// exceed the announced size.
func (c *Files) AddPart(ctx context.Context, ws string, p domain.UploadPart) (domain.UploadPart, error) {
	err := c.db.Update(ctx, "storing a part of an upload", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, ws, func() error {
			u, err := readUpload(ctx, t, ws, p.UploadID, t.Lock)
			if err != nil {
				return err
			}
			if err := requirePending(u); err != nil {
				return err
			}
			var parts, bytes int64
			err = t.QueryRow(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(original_bytes), 0) AS BIGINT) FROM upload_parts WHERE upload_id = ?`, u.ID).Scan(&parts, &bytes)
			if err != nil {
				return fmt.Errorf("counting parts: %w", err)
			}
			if bytes+p.Original.Size > u.Bytes {
				return domain.Errorf(domain.CodeTooLarge, "the parts have %d bytes, but the upload was created for %d; create another upload with the correct size", bytes+p.Original.Size, u.Bytes)
			}
			if parts >= MaxParts {
				return domain.Errorf(domain.CodeTooLarge, "the upload already has the maximum of %d parts; create another one and send larger parts", parts)
			}
			p.CreatedAt = db.FromMicros(t.Stamp())
			n, err := t.Insert(ctx, insertPartText, partRow(&p, &ws))
			return db.MapConflict(n, err, "part", p.ID)
		})
	})
	return p, err
}

// UploadParts returns an upload's parts, oldest first.
func (c *Files) UploadParts(ctx context.Context, uploadID string) ([]domain.UploadPart, error) {
	parts, err := db.Collect(ctx, c.db.Read, scanPart, `SELECT `+partColumns+` FROM upload_parts WHERE upload_id = ? ORDER BY id`, uploadID)
	if err != nil {
		return nil, fmt.Errorf("listing parts: %w", err)
	}
	return parts, nil
}

// CompleteUpload stores a pending upload's file and removes its parts. If the upload is already complete, it changes
// nothing and returns the file that was stored when the upload was completed.
func (c *Files) CompleteUpload(ctx context.Context, ws, id string, f domain.File) (u domain.Upload, stored domain.File, err error) {
	err = c.db.Update(ctx, "completing an upload", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, ws, func() (err error) {
			if u, err = readUpload(ctx, t, ws, id, t.Lock); err != nil {
				return err
			}
			if u.Status == domain.UploadCompleted {
				stored, err = scanFile(t.QueryRow(ctx, `SELECT `+fileColumns+` FROM files WHERE id = ? AND deleted_at = 0`, u.FileID))
				return db.MapNotFound(err, "file", u.FileID)
			}
			if err := requirePending(u); err != nil {
				return err
			}
			if stored, err = insertFile(ctx, t, f, u.KeepFor); err != nil {
				return err
			}
			return finishUpload(ctx, t, &u, domain.UploadCompleted, stored.ID)
		})
	})
	return u, stored, err
}

// CancelUpload ends a pending upload and removes its parts. If the upload was already cancelled, nothing changes.
func (c *Files) CancelUpload(ctx context.Context, ws, id string) (u domain.Upload, err error) {
	err = c.db.Update(ctx, "cancelling an upload", func(t *db.Tx) (err error) {
		if u, err = readUpload(ctx, t, ws, id, t.Lock); err != nil || u.Status == domain.UploadCancelled {
			return err
		}
		if err := requirePending(u); err != nil {
			return err
		}
		return finishUpload(ctx, t, &u, domain.UploadCancelled, "")
	})
	return u, err
}

// finishUpload stores an upload's final status and removes its parts.
func finishUpload(ctx context.Context, t *db.Tx, u *domain.Upload, status domain.UploadStatus, fileID string) error {
	u.Status, u.FileID = status, fileID
	keepFor := u.KeepFor.Microseconds()
	if err := t.UpdateRow(ctx, updateUploadText, uploadRow(u, &keepFor), u.ID); err != nil {
		return err
	}
	keys, err := db.Collect(ctx, t, db.ScanString, `SELECT original_key FROM upload_parts WHERE upload_id = ?`, u.ID)
	if err != nil {
		return fmt.Errorf("listing parts: %w", err)
	}
	if _, err := t.Exec(ctx, `DELETE FROM upload_parts WHERE upload_id = ?`, u.ID); err != nil {
		return err
	}
	return queueOriginals(ctx, t, u.WorkspaceID, keys...)
}
