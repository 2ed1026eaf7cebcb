package idempotency

import (
	"context"
	"strconv"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/domain"
)

// A request with an Idempotency-Key may be carried out again after a run whose progress is unknown: its process was
// killed, or lost the database in a commit. Its resources have ids that follow from the request, so a repeat finds them
// and returns them.

type claimKey struct{}

// claimOf returns the claim of the request, nil when it has no Idempotency-Key.
func claimOf(ctx context.Context) *accounts.Claim {
	claim, _ := ctx.Value(claimKey{}).(*accounts.Claim)
	return claim
}

// IsRepeated reports whether an earlier run of the request may have done all or some of it.
func IsRepeated(ctx context.Context) bool {
	claim := claimOf(ctx)
	return claim != nil && claim.Repeated
}

// ID returns the id of what the request makes that the parts name: the same in every run of the request, or a new one
// when the request has no Idempotency-Key.
func ID(ctx context.Context, newID func() string, parts ...string) string {
	if id := KeyedID(ctx, parts...); id != "" {
		return id
	}
	return newID()
}

// KeyedID is ID, "" when the request has no Idempotency-Key.
func KeyedID(ctx context.Context, parts ...string) string {
	if claim := claimOf(ctx); claim != nil {
		return claim.ID(parts...)
	}
	return ""
}

// Begun returns the time at which the first run of a repeated request began.
func Begun(ctx context.Context) time.Time { return claimOf(ctx).Begun }

// CreateOnce makes something that has an id by ID, unless an earlier run of the request has made it. find answers
// domain.CodeNotFound when none has.
func CreateOnce[T any](ctx context.Context, find, create func() (T, error)) (T, error) {
	if IsRepeated(ctx) {
		if have, err := find(); domain.CodeOf(err) != domain.CodeNotFound {
			return have, err
		}
	}
	made, err := create()
	if domain.CodeOf(err) == domain.CodeConflict && claimOf(ctx) != nil {
		// Another run of it may go on at the same time: each takes the other for lost.
		if have, notFound := find(); notFound == nil {
			return have, nil
		}
	}
	return made, err
}

// WithJobID gives the job that is the n-th of the request's an id that tells a repeat that the request was accepted. A
// repeat's own jobs have other ids: one that was accepted before may have been overtaken since, and its events may
// still be on their way.
func WithJobID(ctx context.Context, job domain.Job, n int) domain.Job {
	if claim := claimOf(ctx); claim != nil && !claim.Repeated {
		job.ID = acceptedJobID(claim, n)
	}
	return job
}

// HasJobID reports whether the job is the n-th of an earlier run of the request.
func HasJobID(ctx context.Context, jobID string, n int) bool {
	claim := claimOf(ctx)
	return claim != nil && jobID == acceptedJobID(claim, n)
}

func acceptedJobID(claim *accounts.Claim, n int) string { return claim.ID("job", strconv.Itoa(n)) }
