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

// Repairs are requests for a repair, which any process with the catalog can make and one api process carries out.
type Repairs interface {
	// ClaimRepair takes the oldest request that nobody works on; nil when there is none.
	ClaimRepair(ctx context.Context, holder string) (*catalog.RepairRequest, error)
	// RepairNote adds lines to what the repair says, and tells that it is still worked on.
	RepairNote(ctx context.Context, id string, lines ...string) error
	// FinishRepair ends it; failure is "" or says what could not be done.
	FinishRepair(ctx context.Context, id, failure string) error
}

// Repairer carries out repairs: it brings back what the streams have lost, takes over what the job log knows better than
// the catalog, issues lost jobs anew, audits everything, and says what it did.
type Repairer struct {
	Requests  Repairs
	Keeper    *Keeper
	Auditor   *Auditor
	Scheduler *Scheduler // nil: nothing is fetched again by itself
	Log       *slog.Logger
}

const (
	repairPoll = time.Second
	// repairBeat is how often a repair under way is shown to be alive.
	repairBeat = 10 * time.Second
	// repairQuiet is how long nothing must have been heard of a job that is not in the stream to be taken for lost: its
	// last event may be on its way.
	repairQuiet = 15 * time.Second
)

// Run repairs on request until ctx ends.
func (r *Repairer) Run(ctx context.Context) {
	every(ctx, r.Log, nil, repairPoll, auditBound, r.round)
}

func (r *Repairer) round(ctx context.Context) (more bool, err error) {
	request, err := r.Requests.ClaimRepair(ctx, r.Auditor.Holder)
	if err != nil {
		return false, fmt.Errorf("looking for a repair to do: %w", err)
	}
	if request == nil {
		return false, nil
	}
	beating, stop := context.WithCancel(ctx)
	beat := make(chan struct{})
	go func() {
		defer close(beat)
		for wait(beating, nil, repairBeat) {
			if err := r.Requests.RepairNote(beating, request.ID); err != nil && beating.Err() == nil {
				r.Log.Warn("telling that a repair goes on", "error", err)
			}
		}
	}()
	failure := ""
	err = r.repair(ctx, request.Prune, func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		r.Log.Info("repair", "done", line)
		if err := r.Requests.RepairNote(ctx, request.ID, line); err != nil {
			r.Log.Warn("keeping what a repair says", "error", err)
		}
	})
	stop()
	<-beat
	if ctx.Err() != nil {
		return false, ctx.Err() // another process, or this one's next start, takes it up again
	}
	if err != nil {
		failure = err.Error()
	}
	if err := r.Requests.FinishRepair(ctx, request.ID, failure); err != nil {
		return false, fmt.Errorf("ending repair %s: %w", request.ID, err)
	}
	return true, nil
}

// repair does what it can: what fails does not keep it from the rest.
func (r *Repairer) repair(ctx context.Context, prune bool, note Note) error {
	var faults []error
	said := 0
	say := func(format string, args ...any) { said++; note(format, args...) }
	rescued, err := r.Keeper.keep(ctx, say)
	faults = append(faults, err)
	var adopted Report
	faults = append(faults, r.Auditor.Adopt(ctx, 0, &adopted, say))
	again, err := r.Keeper.Rescuer.Rescue(ctx, repairQuiet)
	faults = append(faults, err)
	if rescued += again; rescued > 0 {
		say("%s issued anew", counted(rescued, "lost job"))
	}
	faults = append(faults, r.reschedule(ctx, say))
	report, err := r.Auditor.Audit(ctx, Scope{Thorough: true, Prune: prune}, say)
	fault := errors.Join(append(faults, err)...)
	report.Adopted = adopted.Adopted
	note("%s", report.summary(said == 0 && fault == nil))
	return fault
}

// reschedule brings back the schedules that were lost with their stream.
func (r *Repairer) reschedule(ctx context.Context, say Note) error {
	if r.Scheduler == nil {
		return nil
	}
	done, err := r.Scheduler.Reconcile(ctx)
	if done.Set > 0 {
		say("%s set again", counted(done.Set, "refresh schedule"))
	}
	if done.Removed > 0 {
		say("%s of what is not fetched again any more removed", counted(done.Removed, "refresh schedule"))
	}
	if errors.Is(err, jobs.ErrNoSchedules) {
		say("refreshes by schedule are off: %v", err)
		return nil
	}
	return err
}

// summary is the last line of a repair. agree says that nothing was found and that everything could be looked at.
func (r Report) summary(agree bool) string {
	var parts []string
	part := func(n int64, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	part(int64(r.Adopted), "%d taken over from the job log")
	part(int64(r.Missing), "%d to be read again")
	part(int64(r.Refetched), "%d to be fetched again")
	part(int64(r.MissingOriginals), "%d without their original")
	part(int64(r.Lost), "%d without rows and original")
	part(int64(r.Pruned), "%d deleted")
	part(r.StrayRows, "stray rows: %d")
	part(int64(r.StrayOriginals), "stray originals: %d")
	line := counted(r.Datasources, "datasource") + " looked at"
	switch {
	case agree:
		line += ": index, originals, job log and catalog agree"
	case len(parts) > 0:
		line += ": " + strings.Join(parts, ", ")
	}
	if r.Unfinished > 0 {
		line += fmt.Sprintf("; %d being worked on, which may still be incomplete", r.Unfinished)
	}
	return line
}
