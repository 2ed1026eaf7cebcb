package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Store writes a message to a stream. The id makes one of several writes when an answer is lost: it must be the message's
// own within the stream's duplicate window. It fails with ErrStreamLost at once if there is no such stream, with
// ErrUnavailable when patience (0: Patience) is over, and with what the server refuses.
func Store(ctx context.Context, js jetstream.JetStream, patience time.Duration, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	if patience <= 0 {
		patience = Patience
	}
	opts = append(opts, jetstream.WithMsgID(id), jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
	err = Do(ctx, patience, func(ctx context.Context) error {
		ack, err = js.PublishMsg(ctx, msg, opts...)
		if !errors.Is(err, jetstream.ErrNoStreamResponse) {
			return err
		}
		// Nobody takes the message: there is no leader, or no stream.
		if _, look := js.Stream(ctx, stream); errors.Is(look, jetstream.ErrStreamNotFound) {
			return Lost(stream, look)
		}
		return err
	})
	return ack, err
}

// Lost gives the client's error for a missing stream its name, ErrStreamLost, and leaves others alone.
func Lost(stream string, err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %s", ErrStreamLost, stream)
	}
	return err
}

// WrongSequence reports whether a write was refused because the subject has another last message than was expected.
func WrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
