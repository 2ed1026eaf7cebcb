package idempotency

import (
	"context"
	"strconv"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/domain"
)

// claimKey is the context key for a request's claim. Only requests with an Idempotency-Key have one. Such a request may
// be retried when the outcome of an earlier run is unknown, for example because the process was killed or lost the
// database during a commit. The ids of the resources that a run creates are derived from the request, so a later run
// finds and returns the resources that already exist.

type claimKey struct{}

// claimOf returns the request's claim, or nil if it has no Idempotency-Key.
func claimOf(ctx context.Context) *accounts.Claim {
	claim, _ := ctx.Value(claimKey{}).(*accounts.Claim)
	return claim
}

// IsRepeated reports whether an earlier run of the request may have done some or all of its work.
func IsRepeated(ctx context.Context) bool {
	claim := claimOf(ctx)
	return claim != nil && claim.Repeated
}

// ID returns the id for a resource that the request creates. It is the same in every run of the request. If the request
// creates several resources, `parts` must differ between them. If the request has no Idempotency-Key, ID returns a new
// id.
func ID(ctx context.Context, newID func() string, parts ...string) string {
	if id := KeyedID(ctx, parts...); id != "" {
		return id
	}
	return newID()
}

// KeyedID is like ID, but returns "" if the request has no Idempotency-Key.
func KeyedID(ctx context.Context, parts ...string) string {
	if claim := claimOf(ctx); claim != nil {
		return claim.ID(parts...)
	}
	return ""
}

// Begun returns the start time of a repeated request's first run.
func Begun(ctx context.Context) time.Time { return claimOf(ctx).Begun }

// CreateOnce creates a resource whose id comes from ID, unless an earlier run of the request has already created it.
// `find` reads the resource and must return domain.CodeNotFound if it does not exist.
func CreateOnce[T any](ctx context.Context, find, create func() (T, error)) (T, error) {
	if IsRepeated(ctx) {
		if have, err := find(); domain.CodeOf(err) != domain.CodeNotFound {
			return have, err
		}
	}
	made, err := create()
	if domain.CodeOf(err) == domain.CodeConflict && claimOf(ctx) != nil {
		// An earlier run that was believed dead may have created the resource in the meantime.
		if have, notFound := find(); notFound == nil {
			return have, nil
		}
	}
	return made, err
}

// WithJobID gives the job an id derived from the request and n, but only in the request's first run. Later runs can
// then tell from a stored job's id that the first run was accepted; see HasJobID. In a later run, the job keeps its own
// id, because otherwise late events for the first run's job would count as events for the later one.
func WithJobID(ctx context.Context, job domain.Job, n int) domain.Job {
	if claim := claimOf(ctx); claim != nil && !claim.Repeated {
		job.ID = acceptedJobID(claim, n)
	}
	return job
}

// HasJobID reports whether jobID belongs to the n-th job in the request's first run.
func HasJobID(ctx context.Context, jobID string, n int) bool {
	claim := claimOf(ctx)
	return claim != nil && jobID == acceptedJobID(claim, n)
}

func acceptedJobID(claim *accounts.Claim, n int) string { return claim.ID("job", strconv.Itoa(n)) }
