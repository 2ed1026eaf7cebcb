// Package quorum is a client for replicated NATS clusters. It retries requests while a stream has no leader, and reads
// data that a majority of the servers has agreed on. With a single server, it costs nothing extra.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/sluice/sluice/pkg/sleep"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrUnavailable means that the servers did not respond, or that too few are up to form a majority. It is
	// temporary.
	ErrUnavailable = errors.New("NATS is not available")
	// ErrStreamLost means that a stream no longer exists. Its owner has to recreate it.
	ErrStreamLost = errors.New("stream does not exist")
	// ErrReplicas means that the cluster has fewer servers than the requested number of replicas.
	ErrReplicas = errors.New("more replicas than servers")
)

// DefaultTimeout is how long to retry a request by default. A leader election takes four to nine seconds, or twice that
// after a split vote.
const DefaultTimeout = 20 * time.Second

// Retry parameters.
const (
	minAttempt = 2 * time.Second // timeout for the first attempt; doubles up to maxAttempt
	maxAttempt = 8 * time.Second
	minPause   = 50 * time.Millisecond
	maxPause   = time.Second
)

// Retry calls f, each time with a new deadline, until f succeeds or fails with a permanent error. If ctx is done or the
// timeout passes first, Retry fails with ErrUnavailable. f must be idempotent: if a response is lost, the request may
// already have been performed.
func Retry(ctx context.Context, timeout time.Duration, f func(ctx context.Context) error) error {
	whole, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	limit, pause := minAttempt, minPause
	for {
		err := attempt(whole, limit, f)
		if err == nil || !IsTransient(err) {
			return err
		}
		if sleep.For(whole, pause/2+rand.N(pause/2)) != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("%w: %w (%w)", ErrUnavailable, err, ctx.Err())
			}
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		limit, pause = min(2*limit, maxAttempt), min(2*pause, maxPause)
	}
}

func attempt(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// Server error codes that have no name in the client library.
const (
	codeNotAvailable      = 10008 // no leader
	codeNotLeader         = 10009
	codeNoPeers           = 10005 // too few servers for the replicas
	codeNoReplicas        = 10074 // replicas were requested without a cluster
	codeOffline           = 10118
	codeDuplicateInFlight = 10158 // the same message id is being stored at this moment
	codeInsufficient      = 10023
	codeStoreFailed       = 10077
	codeStoreNotCreated   = 10049 // for example if a stream with the same name was deleted a moment ago
)

// IsTransient reports whether retrying the failed request may succeed.
func IsTransient(err error) bool {
	for _, passing := range []error{
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, jetstream.ErrNoHeartbeat, context.DeadlineExceeded, ErrUnavailable,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case codeNotAvailable, codeNotLeader, codeOffline, codeDuplicateInFlight:
		return true
	case codeStoreFailed:
		return strings.Contains(api.Description, "closed") // the server is stopping; otherwise the store is full or broken
	}
	return false
}
