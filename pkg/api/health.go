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

// GetReadiness implements StrictServerInterface. It checks all dependencies concurrently. The endpoint is public, so
// the response only names dependencies that are down; their errors go to the log.
func (s *server) GetReadiness(ctx context.Context, _ GetReadinessRequestObject) (GetReadinessResponseObject, error) {
	ctx, _ = access.CallerOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, s.options.ReadyTimeout)
	defer cancel()
	out := Readiness{Status: ReadinessStatusOk, Checks: RunChecks(ctx, s.Checks, s.log)}
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

// RunChecks runs all checks concurrently, so that a hanging check does not delay the others. It logs why a check
// failed.
func RunChecks(ctx context.Context, checks []Check, log *slog.Logger) []DependencyCheck {
	out := make([]DependencyCheck, len(checks))
	var asking sync.WaitGroup
	for i, c := range checks {
		asking.Go(func() { out[i] = c.run(ctx, log) })
	}
	asking.Wait()
	return out
}

// run performs the check. It returns once ctx is done even if the check ignores ctx, so the check's goroutine may
// outlive the call. If getting the note takes too long, the note is omitted, but the dependency doesn't count as down.
func (c Check) run(ctx context.Context, log *slog.Logger) DependencyCheck {
	answer, noted := make(chan error, 1), make(chan string, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				answer <- fmt.Errorf("panic: %v", cause)
			}
		}()
		err := c.Ready(ctx)
		answer <- err
		if err == nil && c.Note != nil {
			defer func() { _ = recover() }()
			noted <- c.Note(ctx)
		}
	}()
	var err error
	note := ""
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil && c.Note != nil {
		select {
		case note = <-noted:
		case <-ctx.Done():
		}
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
