package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// joinTimeout is how long Ensure keeps trying to create a stream after errors that may be temporary. For example, a
// server may not have joined the cluster yet, or a deleted stream's files may still exist.
const joinTimeout = 5 * time.Second

// Ensure creates the stream, or updates its configuration if it exists. `created` reports whether the stream is new,
// but may be false for a new stream if a server's response was lost. Ensure never lowers the number of replicas and
// never changes the first sequence. It fails with ErrReplicas if the cluster has too few servers.
func Ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (stream jetstream.Stream, created bool, err error) {
	began := time.Now()
	err = Retry(ctx, DefaultTimeout, func(ctx context.Context) error {
		stream, created, err = ensure(ctx, js, cfg)
		var api *jetstream.APIError
		if errors.As(err, &api) && isTransientCode(api.ErrorCode) && time.Since(began) < joinTimeout {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("creating stream %s: %w", cfg.Name, replicasError(err, cfg.Replicas))
	}
	return stream, created, nil
}

// isTransientCode reports whether a request rejected with this code may succeed a moment later.
func isTransientCode(code jetstream.ErrorCode) bool {
	return code == codeNoPeers || code == codeStoreNotCreated || code == jetstream.JSErrCodeStreamNotFound
}

func ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, bool, error) {
	old, err := js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, createErr := js.CreateStream(ctx, cfg)
		if createErr == nil {
			return stream, true, nil
		}
		// Another process has just created it, so update it instead.
		if !errors.Is(createErr, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, false, createErr
		}
		old, err = js.Stream(ctx, cfg.Name)
	}
	if err != nil {
		return nil, false, err
	}
	have := old.CachedInfo().Config
	cfg.FirstSeq = have.FirstSeq
	// Never lower the number of replicas, because one process with a different setting must not reduce everyone's
	// redundancy.
	cfg.Replicas = max(cfg.Replicas, have.Replicas)
	stream, err := js.UpdateStream(ctx, cfg)
	return stream, false, err
}

// replicasError adds a hint about the number of servers to the server's replica error.
func replicasError(err error, replicas int) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case codeNoReplicas:
		return fmt.Errorf("%w: %d replicas are requested, but the server is not part of a cluster: request 1, or connect to a cluster of at least %d servers: %w",
			ErrReplicas, replicas, replicas, err)
	case codeNoPeers, codeInsufficient:
		if replicas > 1 {
			return fmt.Errorf("%w: %d replicas are requested, but the NATS cluster has too few running servers with JetStream and free space: start more servers or request fewer replicas: %w",
				ErrReplicas, replicas, err)
		}
	}
	return err
}
