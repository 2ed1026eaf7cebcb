package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/jobs"
)

// Repairs is the queue of repair requests. Any process with access to the catalog can add one, and an api process
// executes it.
type Repairs interface {
	// ClaimRepair claims the oldest unclaimed request, or returns nil if there is none.
	ClaimRepair(ctx context.Context, holder string) (*catalog.RepairRequest, error)
	// AddRepairLines adds lines to the repair's output and renews the claim.
	AddRepairLines(ctx context.Context, id string, lines ...string) error
	// FinishRepair ends the repair. `failure` is the error message, or "" if it succeeded.
	FinishRepair(ctx context.Context, id, failure string) error
}

// Repairer performs repairs: it recreates lost streams, updates the catalog from the job log, replaces lost jobs, and
// runs an audit. It reports everything it did.
type Repairer struct {
	Requests  Repairs
	Streams   *StreamKeeper
	Auditor   *Auditor
	Scheduler *Scheduler // nil if nothing is refreshed on a schedule
	Log       *slog.Logger
}

const (
	repairPoll = time.Second
	// How often a running repair renews its claim.
	repairBeat = 10 * time.Second
	// A job missing from the stream counts as lost after this long without events. Until then, its last event may still
	// be in transit.
	repairQuietTime = 15 * time.Second
)

// Run performs requested repairs until ctx is done.
func (r *Repairer) Run(ctx context.Context) {
	runLoop(ctx, r.Log, nil, repairPoll, auditBound, r.round)
}

func (r *Repairer) round(ctx context.Context) (more bool, err error) {
	request, err := r.Requests.ClaimRepair(ctx, r.Auditor.Holder)
	if err != nil {
		return false, fmt.Errorf("claiming a repair: %w", err)
	}
	if request == nil {
		return false, nil
	}
	beating, stop := context.WithCancel(ctx)
	beat := make(chan struct{})
	go func() {
		defer close(beat)
		for wait(beating, nil, repairBeat) {
			if err := r.Requests.AddRepairLines(beating, request.ID); err != nil && beating.Err() == nil {
				r.Log.Warn("could not renew the claim to a repair", "error", err)
			}
		}
	}()
	failure := ""
	err = r.repair(ctx, request.Prune, func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		r.Log.Info("repair", "done", line)
		if err := r.Requests.AddRepairLines(ctx, request.ID, line); err != nil {
			r.Log.Warn("could not store the output of a repair", "error", err)
		}
	})
	stop()
	<-beat
	if ctx.Err() != nil {
		return false, ctx.Err() // another process resumes the repair, or this one does after a restart
	}
	if err != nil {
		failure = err.Error()
	}
	if err := r.Requests.FinishRepair(ctx, request.ID, failure); err != nil {
		return false, fmt.Errorf("finishing repair %s: %w", request.ID, err)
	}
	return true, nil
}

// repair runs all steps of a repair, even if some fail, and returns all errors.
func (r *Repairer) repair(ctx context.Context, prune bool, note Note) error {
	var faults []error
	said := 0
	say := func(format string, args ...any) { said++; note(format, args...) }
	rescued, err := r.Streams.repair(ctx, say)
	faults = append(faults, err)
	var adopted Report
	faults = append(faults, r.Auditor.Adopt(ctx, 0, &adopted, say))
	again, err := r.Streams.Rescuer.Rescue(ctx, repairQuietTime)
	faults = append(faults, err)
	if rescued += again; rescued > 0 {
		say("%s recreated", formatCount(rescued, "lost job"))
	}
	faults = append(faults, r.reschedule(ctx, say))
	report, err := r.Auditor.Audit(ctx, Scope{Thorough: true, Prune: prune}, say)
	fault := errors.Join(append(faults, err)...)
	report.Adopted = adopted.Adopted
	note("%s", report.summary(said == 0 && fault == nil))
	return fault
}

// reschedule restores schedules that were lost with their stream.
func (r *Repairer) reschedule(ctx context.Context, note Note) error {
	if r.Scheduler == nil {
		return nil
	}
	done, err := r.Scheduler.Reconcile(ctx)
	if done.Set > 0 {
		note("%s restored", formatCount(done.Set, "refresh schedule"))
	}
	if done.Removed > 0 {
		note("removed %s that no datasource uses", formatCount(done.Removed, "refresh schedule"))
	}
	if errors.Is(err, jobs.ErrNoSchedules) {
		note("scheduled refreshes are off: %v", err)
		return nil
	}
	return err
}

// summary returns the last line of a repair's output. `consistent` means that the repair completed without finding any
// differences.
func (r Report) summary(consistent bool) string {
	var parts []string
	part := func(n int64, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	part(int64(r.Adopted), "%d imported from the job log")
	part(int64(r.Missing), "%d to be indexed again")
	part(int64(r.Refetched), "%d to be fetched again")
	part(int64(r.MissingOriginals), "%d without their original")
	part(int64(r.DamagedOriginals), "%d with a damaged original")
	part(int64(r.Lost), "%d without rows and without an original")
	part(int64(r.Pruned), "%d deleted")
	part(r.StrayRows, "stray rows: %d")
	part(int64(r.StrayOriginals), "stray originals: %d")
	line := formatCount(r.Datasources, "datasource") + " checked"
	switch {
	case consistent:
		line += ": index, originals, job log and catalog agree"
	case len(parts) > 0:
		line += ": " + strings.Join(parts, ", ")
	}
	if r.Unfinished > 0 {
		line += fmt.Sprintf("; still being processed and possibly incomplete: %d", r.Unfinished)
	}
	return line
}
