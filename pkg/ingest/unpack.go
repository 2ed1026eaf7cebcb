package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/archive"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

// Unpacking says how archives are unpacked.
type Unpacking struct {
	Store   PageStore // stores the files
	TempDir string    // directory of temporary files
	Limits  archive.Limits
}

const (
	// Maximum total size of the paths in one event, in bytes. Each path occurs once, and JSON may make it six times
	// longer.
	maxEventPaths = 96 << 10
	stageUnpack   = "unpacking"
)

// isArchive reports whether a job failed because its file is an archive that can be unpacked. Web pages and files from
// archives aren't unpacked.
func isArchive(job domain.Job, err error) bool {
	return job.Type == domain.TypeFile && job.GroupID == "" && job.Move == "" && extract.KindOf(err) == extract.Archive
}

// reportArchive reports that the job's file is an archive. `err` says why it can't be read as a document.
func reportArchive(ctx context.Context, report reporter, err error) error {
	var refused *extract.Error
	errors.As(err, &refused)
	ev := report.event(domain.EventArchive)
	ev.Error, ev.Force = refused.Message, report.job.Force
	ev.Progress = &domain.Progress{Stage: domain.StageUnreadable}
	return report.emit(ctx, ev)
}

// unpack stores each file in an archive as an original. It reports the files in groups, and each reported file gets its
// own job. The originals' keys depend only on the job and the content, so the job may run twice.
func (i *Ingestor) unpack(ctx context.Context, job domain.Job, report reporter) error {
	progress := startProgress(ctx, report, stageUnpack, i.logger())
	defer progress.stop()
	leave, err := i.Admission.slot(ctx, job.WorkspaceID)
	if err != nil {
		return err
	}
	defer leave()
	file, err := i.spool(ctx, job)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close() // it was only read
		if err := os.Remove(file.Name()); err != nil {
			i.logger().WarnContext(ctx, "removing the temporary file of an archive", "error", err)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("reading the archive: %w", err)
	}
	a, err := archive.Open(file, info.Size(), i.Unpacking.Limits)
	if err != nil {
		return unreadable(err)
	}
	u := unpacker{Ingestor: i, job: job, report: report, archive: a}
	for n, f := range a.Files {
		progress.update(ctx, stageUnpack, int64(n), int64(len(a.Files)))
		if err := u.add(ctx, f); err != nil {
			return err
		}
	}
	warnings := a.LeftOut.Warnings()
	if u.stored == 0 {
		return jobs.Permanent(domain.Errorf(domain.CodeUnsupported, "%s", strings.Join(append([]string{"the archive contains no readable files"}, warnings...), "; ")))
	}
	if err := u.flush(ctx); err != nil {
		return err
	}
	progress.stop()
	ev := report.event(domain.EventSynched)
	ev.Complete, ev.LeftOut, ev.Warnings = true, a.LeftOut.Counts(), warnings
	return report.emit(ctx, ev)
}

// spool copies the archive to a temporary file, because unpacking needs random access.
func (i *Ingestor) spool(ctx context.Context, job domain.Job) (_ *os.File, err error) {
	body, err := i.take(ctx, job)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	file, err := os.CreateTemp(i.Unpacking.TempDir, "sluice-archive-*")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file: %w", err)
	}
	if _, err = io.Copy(file, body); err != nil {
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		if errors.Is(err, originals.ErrCorrupt) { // damaged since Take verified it
			return nil, damagedOriginal(err)
		}
		return nil, fmt.Errorf("copying the archive to a temporary file: %w", err)
	}
	return file, nil
}

// unpacker is the state of unpacking one archive.
type unpacker struct {
	*Ingestor
	job     domain.Job
	report  reporter
	archive *archive.Archive

	batch  []domain.Original // stored, but not yet reported
	paths  int               // size of the paths in batch, in bytes
	stored int
}

// add stores a file if its format can be read.
func (u *unpacker) add(ctx context.Context, f archive.File) error {
	mimeType, sum, err := u.inspect(ctx, f)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var fault *fs.PathError
	switch {
	case errors.As(err, &fault):
		return fmt.Errorf("reading the temporary file of an archive: %w", err)
	case err != nil:
		u.archive.LeftOut.Add(archive.Damaged, f.Path)
		return nil
	}
	if why := refuseType(mimeType, f.Path); why != "" {
		u.archive.LeftOut.Add(why, f.Path)
		return nil
	}
	content, err := f.Open()
	if err != nil {
		return err // it could be opened before
	}
	defer content.Close()
	key := originals.MemberKey(domain.MemberID(u.job.DatasourceID, f.Path), u.job.Generation, sum)
	original, err := u.Unpacking.Store.Put(ctx, key, content, originals.PutOptions{MaxBytes: f.Size, MIMEType: mimeType, Name: f.Path})
	if err != nil {
		return fmt.Errorf("storing a file of the archive: %w", err)
	}
	u.batch = append(u.batch, original)
	u.paths += len(f.Path)
	u.stored++
	if len(u.batch) == domain.MaxMembersPerEvent || u.paths > maxEventPaths {
		return u.flush(ctx)
	}
	return nil
}

func (u *unpacker) flush(ctx context.Context) error {
	if len(u.batch) == 0 {
		return nil
	}
	ev := u.report.event(domain.EventDiscovered)
	ev.Members, ev.Force = u.batch, u.job.Force
	u.batch, u.paths = nil, 0
	return u.report.emit(ctx, ev)
}

// inspect unpacks the file and returns its type and the SHA-256 of its content in hexadecimal.
func (u *unpacker) inspect(ctx context.Context, f archive.File) (mimeType, sum string, err error) {
	content, err := f.Open()
	if err != nil {
		return "", "", err
	}
	defer content.Close()
	head := make([]byte, min(f.Size, format.HeadBytes))
	if _, err := io.ReadFull(content, head); err != nil {
		return "", "", err
	}
	digest := sha256.New()
	digest.Write(head)
	if _, err := io.Copy(digest, contextReader{ctx, content}); err != nil {
		return "", "", err
	}
	return extract.DetectType(head, f.Path, ""), hex.EncodeToString(digest.Sum(nil)), nil
}

// refuseType returns the reason why files of this type are skipped, or "" if they can be read.
func refuseType(mimeType, name string) string {
	for _, f := range extract.Formats() {
		if f.Type == mimeType {
			return ""
		}
	}
	if mimeType == format.TypeZip {
		return archive.Nested
	}
	if ext := strings.ToLower(path.Ext(name)); ext != "" && len(ext) <= 8 {
		return "format " + mimeType + " (" + ext + ") cannot be read"
	}
	return "format " + mimeType + " cannot be read"
}

// contextReader is a reader that fails once its context is done.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
