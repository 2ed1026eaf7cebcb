// Package quorum is how a client lives with a cluster of NATS servers: it carries requests through the seconds in which
// a stream has no leader, and reads what a majority of the servers stands behind.
//
// On a single server all of it is true at once and costs nothing.
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
)

// Errors to be tested with errors.Is.
var (
	// ErrUnavailable says that the servers did not answer, or that too few of them are up to agree on anything. It
	// passes by itself.
	ErrUnavailable = errors.New("NATS is not available")
	// ErrStreamLost says that a stream does not exist, although its owner has made it. It passes when the owner makes
	// it again.
	ErrStreamLost = errors.New("stream does not exist")
	// ErrReplicas says that more replicas are asked for than the cluster has servers.
	ErrReplicas = errors.New("more replicas than servers")
)

// Patience is how long a request is repeated by default. Electing a leader takes four to nine seconds, and twice that
// when the first vote is split.
const Patience = 20 * time.Second

// How a request is repeated.
const (
	firstTry = 2 * time.Second // until a try is taken for lost; doubled from try to try
	lastTry  = 8 * time.Second
	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// Do calls f, each time with a deadline of its own, until it succeeds, fails with an error that does not pass, ctx ends,
// or patience is over. Only the last two errors are ErrUnavailable. f must bear to be done twice: an answer that was lost
// says nothing about its request.
func Do(ctx context.Context, patience time.Duration, f func(ctx context.Context) error) error {
	whole, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	limit, pause := firstTry, minPause
	for {
		err := try(whole, limit, f)
		if err == nil || !Passes(err) {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-whole.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return fmt.Errorf("%w: %w (%w)", ErrUnavailable, err, ctx.Err())
			}
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		limit, pause = min(2*limit, lastTry), min(2*pause, maxPause)
	}
}

func try(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// Codes of the server's refusals that the client has no names for.
const (
	codeNotAvailable   = 10008 // no leader
	codeNotLeader      = 10009
	codeNoPeers        = 10005 // too few servers for the replicas
	codeNoReplicas     = 10074 // replicas without a cluster
	codeOffline        = 10118
	codeDuplicateInWay = 10158 // the same message id is being stored at this moment
	codeInsufficient   = 10023
	codeStoreFailed    = 10077
	codeStoreNotMade   = 10049 // the directory of a stream, of whose name one was deleted a moment ago, say
)

// Passes reports whether a request that failed may succeed when it is repeated.
func Passes(err error) bool {
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
	case codeNotAvailable, codeNotLeader, codeOffline, codeDuplicateInWay:
		return true
	case codeStoreFailed:
		return strings.Contains(api.Description, "closed") // the server is stopping; else the store is full or broken
	}
	return false
}
