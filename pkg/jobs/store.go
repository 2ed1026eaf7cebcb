package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// store writes a message. The id makes one of several writes when an answer is lost.
func (b *Broker) store(ctx context.Context, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return store(ctx, b.js, b.opts.Patience, stream, id, msg, opts...)
}

func store(ctx context.Context, js jetstream.JetStream, patience time.Duration, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	opts = append(opts, jetstream.WithMsgID(id), jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
	err = quorum.Do(ctx, patience, func(ctx context.Context) error {
		ack, err = js.PublishMsg(ctx, msg, opts...)
		if !errors.Is(err, jetstream.ErrNoStreamResponse) {
			return err
		}
		// Nobody takes the message: there is no leader, or no stream.
		if _, look := js.Stream(ctx, stream); errors.Is(look, jetstream.ErrStreamNotFound) {
			return lost(stream, look)
		}
		return err
	})
	return ack, publishError(err)
}

// lost gives the client's error for a missing stream the name that callers test for.
func lost(stream string, err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %s", ErrStreamLost, stream)
	}
	return err
}

// Codes of the server's refusals that the client has no names for.
const (
	codeInsufficientResources = 10023
	codeStorageExceeded       = 10047
	codeStoreFailed           = 10077 // wraps "maximum bytes exceeded", "maximum messages exceeded" and disk errors
)

// publishError gives the server's refusals the names that callers test for.
func publishError(err error) error {
	var api *jetstream.APIError
	if err == nil || errors.Is(err, ErrUnavailable) || !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case codeInsufficientResources, codeStorageExceeded, codeStoreFailed:
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
