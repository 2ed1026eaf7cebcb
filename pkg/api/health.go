package api

import (
	"context"
	"errors"
	"fmt"
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
	out := Readiness{Status: ReadinessStatusOk, Checks: make([]DependencyCheck, len(s.Checks))}
	var wg sync.WaitGroup
	for i, check := range s.Checks {
		wg.Go(func() { out.Checks[i] = s.ask(ctx, check) })
	}
	wg.Wait()
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

// ask runs one check. A check that ignores ctx must not hold up the answer: it is left running, and ends by itself.
func (s *server) ask(ctx context.Context, check Check) DependencyCheck {
	answer := make(chan error, 1)
	note := "" // read only after an answer
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				answer <- fmt.Errorf("panic: %v", cause)
			}
		}()
		err := check.Ready(ctx)
		if err == nil && check.Note != nil {
			note = check.Note(ctx)
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
		return DependencyCheck{Name: check.Name, Status: DependencyCheckStatusOk, Note: optional(note)}
	}
	s.log.Warn("dependency is down", "dependency", check.Name, "error", err)
	why := "unavailable"
	if errors.Is(err, context.DeadlineExceeded) {
		why = "timed out"
	}
	return DependencyCheck{Name: check.Name, Status: DependencyCheckStatusDown, Error: &why}
}
