package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/backup"
	backupsource "github.com/sluice/sluice/pkg/backup/source"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/domain"
)

// Time limit for each write to the client receiving a backup. A stalled client must not prolong a backup, because
// originals can't be deleted until it ends.
const backupWriteTimeout = 2 * time.Minute

// backups creates backups of the running service, one at a time.
type backups struct {
	refused string // why backups are unavailable; "" if they are available
	content backupsource.Source
	audit   *slog.Logger
	log     *slog.Logger
	stopped context.Context // done when the service stops
	stop    context.CancelFunc

	busy sync.Mutex
	hold atomic.Bool
}

// isHolding reports whether a backup is running, in which case originals must not be deleted.
func (b *backups) isHolding() bool { return b.hold.Load() }

// prepareBackups sets up backups and finds out whether they can cover the whole service.
func (s *Service) prepareBackups(ctx context.Context) error {
	s.backups.stopped, s.backups.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.deferClose(func() error { s.backups.stop(); return nil })
	s.backups.log = s.log
	s.backups.refused = backupsource.Refusal(s.config)
	s.backups.content = backupsource.Source{
		Catalog: s.dir.Join(datadir.Catalog), Originals: s.originals, TempDir: s.dir.Join(datadir.Temp), Program: Version(), Now: s.now,
	}
	return nil
}

// handler serves backups to the operator and passes all other requests to `next`.
func (b *backups) handler(caller operator, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != backupsource.Path {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !caller.isAuthorized(r):
			b.recordAudit(r, "refused", backup.Report{})
			problem.Refuse(w, domain.CodeUnauthorized, "a backup requires the header Authorization: Bearer <key>; the key is the value of SLUICE_ADMIN_KEY, or is in the file "+datadir.Operator+" in the data directory")
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			problem.Refuse(w, problem.CodeMethod, "use POST to request a backup")
		case b.refused != "":
			problem.Refuse(w, domain.CodeConflict, b.refused)
		default:
			b.serve(w, r)
		}
	})
}

func (b *backups) serve(w http.ResponseWriter, r *http.Request) {
	bound, err := backupsource.ParseRate(r.URL.Query().Get(backupsource.RateParameter))
	if err != nil {
		problem.Refuse(w, domain.CodeInvalid, "rate: "+err.Error())
		return
	}
	if !b.busy.TryLock() {
		w.Header().Set("Retry-After", "60")
		problem.Refuse(w, domain.CodeConflict, "another backup is in progress: try again when it has finished")
		return
	}
	defer b.busy.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.stopped, cancel)()
	b.hold.Store(true)
	defer b.hold.Store(false)
	b.recordAudit(r, "begun", backup.Report{})
	out := &archiveResponse{w: w, control: http.NewResponseController(w)}
	began := time.Now()
	report, err := b.content.Write(ctx, out, bound)
	if err != nil {
		b.fail(w, r, out, report, err)
		return
	}
	if err := out.end(); err != nil {
		b.fail(w, r, out, report, err)
		return
	}
	b.recordAudit(r, "made", report)
	b.log.Info("backup complete", "originals", report.Originals, "bytes", report.ArchiveBytes, "lost", report.Lost, "after", time.Since(began).Round(time.Millisecond))
}

// fail reports an error to the caller if nothing has been sent yet. Otherwise the archive itself records that the
// backup was aborted.
func (b *backups) fail(w http.ResponseWriter, r *http.Request, out *archiveResponse, report backup.Report, err error) {
	b.recordAudit(r, "failed", report)
	gone := r.Context().Err() != nil || b.stopped.Err() != nil
	if !gone {
		b.log.Error("backup failed", "error", err)
	}
	if out.begun {
		_ = out.end() // the archive itself says that it was aborted
		return
	}
	if !gone && domain.CodeOf(err) != domain.CodeUnavailable {
		problem.Refuse(w, domain.CodeInternal, "the backup could not be started; see the service's log")
		return
	}
	w.Header().Set("Retry-After", "5")
	problem.Refuse(w, domain.CodeUnavailable, "the backup could not be started: the service is stopping, or a dependency is down")
}

func (b *backups) recordAudit(r *http.Request, result string, report backup.Report) {
	address := r.RemoteAddr
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	b.audit.LogAttrs(r.Context(), slog.LevelInfo, "audit", slog.Group("audit",
		slog.String("action", "backup"), slog.String("address", address), slog.String("result", result),
		slog.Int64("originals", report.Originals), slog.Int64("bytes", report.ArchiveBytes)))
}

// archiveResponse delays the response header until the archive's first bytes are written, so that an error response can
// still be sent before that.
type archiveResponse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// Write implements io.Writer.
func (a *archiveResponse) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", "application/zstd")
		a.w.Header().Set("Content-Disposition", `attachment; filename="sluice-backup.tar.zst"`)
		a.w.WriteHeader(http.StatusOK)
	}
	if err := a.control.SetWriteDeadline(time.Now().Add(backupWriteTimeout)); err != nil {
		return 0, err
	}
	return a.w.Write(p)
}

// end flushes the response and resets the write deadline, so that the connection can be reused.
func (a *archiveResponse) end() error {
	return errors.Join(a.control.Flush(), a.control.SetWriteDeadline(time.Time{}))
}
