package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stuckTimeout is how long Store retries while the server says that a message with the same id is being stored. After
// that, the message counts as lost: a server that loses a stream's leadership may forget the message but not its id,
// and reject that id for the whole duplicate window.
const stuckTimeout = 10 * time.Second

// Store writes a message to a stream. The id makes retries idempotent; it must be unique within the stream's duplicate
// window. If a server has forgotten a message but not its id, Store writes the message under another id after
// stuckTimeout. If the forgotten message turns up after all, the stream contains the message twice. Store fails with
// ErrStreamLost if the stream does not exist, with ErrUnavailable once `timeout` (0 means DefaultTimeout) has passed,
// and with the server's error if the server rejects the message.
func Store(ctx context.Context, js jetstream.JetStream, timeout time.Duration, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return store(ctx, js, timeout, stuckTimeout, stream, id, msg, opts...)
}

func store(ctx context.Context, js jetstream.JetStream, timeout, stuck time.Duration, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	opts = append(opts, jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
	var stuckSince time.Time
	err = Retry(ctx, timeout, func(ctx context.Context) error {
		ack, err = js.PublishMsg(ctx, msg, append(opts, jetstream.WithMsgID(id))...)
		switch {
		case !isDuplicateInFlight(err):
			stuckSince = time.Time{}
		case stuckSince.IsZero():
			stuckSince = time.Now()
		case time.Since(stuckSince) >= stuck:
			id, stuckSince = id+".again", time.Time{}
		}
		if !errors.Is(err, jetstream.ErrNoStreamResponse) {
			return err
		}
		// No responders: the stream has no leader or does not exist.
		if _, look := js.Stream(ctx, stream); errors.Is(look, jetstream.ErrStreamNotFound) {
			return StreamError(stream, look)
		}
		return err
	})
	return ack, err
}

// StreamError converts the client's error for a missing stream to ErrStreamLost. It returns other errors unchanged.
func StreamError(stream string, err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %s", ErrStreamLost, stream)
	}
	return err
}

// WrongSequence reports whether a write failed because the subject's last message was not the expected one.
func WrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// isDuplicateInFlight reports whether a write was refused because another message with the same id is being stored.
func isDuplicateInFlight(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeDuplicateInFlight
}
