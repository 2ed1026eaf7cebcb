package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/sluice/sluice/pkg/api/access"
)

// GetHealth implements StrictServerInterface.
func (s *server) GetHealth(context.Context, GetHealthRequestObject) (GetHealthResponseObject, error) {
	return GetHealth200JSONResponse{Status: HealthStatusOk}, nil
}

// GetReadiness implements StrictServerInterface. It asks all dependencies at once. Their errors go to the log;
// callers, which need no key, only learn which one is down.
func (s *server) GetReadiness(ctx context.Context, _ GetReadinessRequestObject) (GetReadinessResponseObject, error) {
	ctx, _ = access.CallerOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, s.opts.ReadyTimeout)
	defer cancel()
	out := Readiness{Status: ReadinessStatusOk, Checks: AskAll(ctx, s.Checks, s.log)}
	for i, check := range out.Checks {
		switch {
		case check.Status == DependencyCheckStatusOk:
		case !s.Checks[i].Degrades:
			out.Status = ReadinessStatusDown
		case out.Status == ReadinessStatusOk:
			out.Status = ReadinessStatusDegraded
		}
	}
	if out.Status == ReadinessStatusDown {
		return GetReadiness503JSONResponse(out), nil
	}
	return GetReadiness200JSONResponse(out), nil
}

// AskAll runs all checks at once, so that one that does not answer takes none of the others' time. The log says what is down, and why.
func AskAll(ctx context.Context, checks []Check, log *slog.Logger) []DependencyCheck {
	out := make([]DependencyCheck, len(checks))
	var asking sync.WaitGroup
	for i, c := range checks {
		asking.Go(func() { out[i] = c.ask(ctx, log) })
	}
	asking.Wait()
	return out
}

// ask runs the check. A check that ignores ctx must not hold up the answer, so it is left running, and ends by itself.
func (c Check) ask(ctx context.Context, log *slog.Logger) DependencyCheck {
	answer := make(chan error, 1)
	note := "" // read only after an answer
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				answer <- fmt.Errorf("panic: %v", cause)
			}
		}()
		err := c.Ready(ctx)
		if err == nil && c.Note != nil {
			note = c.Note(ctx)
		}
		answer <- err
	}()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return DependencyCheck{Name: c.Name, Status: DependencyCheckStatusOk, Note: optional(note)}
	}
	log.Warn("dependency is down", "dependency", c.Name, "error", err)
	why := "unavailable"
	if errors.Is(err, context.DeadlineExceeded) {
		why = "timed out"
	}
	return DependencyCheck{Name: c.Name, Status: DependencyCheckStatusDown, Error: &why}
}
