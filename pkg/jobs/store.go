package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// store writes a message. The id makes retries idempotent.
func (b *Broker) store(ctx context.Context, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := quorum.Store(ctx, b.js, b.opts.RetryTimeout, stream, id, msg, opts...)
	return ack, publishError(err)
}

// Server error codes that have no name in the client library.
const (
	codeInsufficientResources = 10023
	codeStorageExceeded       = 10047
	codeStoreFailed           = 10077 // wraps "maximum bytes exceeded", "maximum messages exceeded" and disk errors
)

// publishError converts the server's error code for a rejected message to one of this package's errors. It returns
// other errors unchanged.
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
