package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// joining is how long servers may be missing that are about to join a cluster that starts, the files of a deleted stream in the way
// of a new one, and a server ignorant of a stream that another process has made through another server.
const joining = 5 * time.Second

// Ensure creates the stream, or brings the one that exists up to the configuration, its replicas if they are fewer, and reports
// whether it was created; a creation whose answer was lost shows as a stream that exists. The first sequence of a stream
// that exists is left alone. It fails with ErrReplicas if the cluster is too small.
func Ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (stream jetstream.Stream, created bool, err error) {
	began := time.Now()
	err = Do(ctx, Patience, func(ctx context.Context) error {
		stream, created, err = ensure(ctx, js, cfg)
		var api *jetstream.APIError
		if errors.As(err, &api) && soon(api.ErrorCode) && time.Since(began) < joining {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("making stream %s: %w", cfg.Name, replicasError(err, cfg.Replicas))
	}
	return stream, created, nil
}

// soon reports whether what a server refuses with that code may be there in a moment.
func soon(code jetstream.ErrorCode) bool {
	return code == codeNoPeers || code == codeStoreNotMade || code == jetstream.JSErrCodeStreamNotFound
}

func ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, bool, error) {
	old, err := js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, createErr := js.CreateStream(ctx, cfg)
		if createErr == nil {
			return stream, true, nil
		}
		// Another process has created it at the same moment: it exists now, and is brought up to date.
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
	// A process with a setting of its own must not take copies from everyone: fewer are for an operator to ask for.
	cfg.Replicas = max(cfg.Replicas, have.Replicas)
	stream, err := js.UpdateStream(ctx, cfg)
	return stream, false, err
}

// replicasError gives the server's words about replicas the way out.
func replicasError(err error, replicas int) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case codeNoReplicas:
		return fmt.Errorf("%w: %d replicas are asked for and the server is not part of a cluster: ask for 1, or connect to a cluster of at least %d servers: %w",
			ErrReplicas, replicas, replicas, err)
	case codeNoPeers, codeInsufficient:
		if replicas > 1 {
			return fmt.Errorf("%w: %d replicas are asked for and the cluster has fewer servers with JetStream and room that are up: start more of them, or ask for fewer replicas: %w",
				ErrReplicas, replicas, err)
		}
	}
	return err
}
