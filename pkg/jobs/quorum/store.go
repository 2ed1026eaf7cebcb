package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stuckAfter is how long a server may say that a message id is being stored before the write is taken for lost. A server
// that loses the lead of a stream can forget a message and not its id, and then refuses the id for the whole of the
// duplicate window.
const stuckAfter = 10 * time.Second

// Store writes a message to a stream. The id makes one of several writes when an answer is lost: it must be the message's
// own within the stream's duplicate window. Where a server forgets a message on the way but not its id, the message is
// written under another id after stuckAfter; should the first still turn up, the stream has it twice, the later write
// last. It fails with ErrStreamLost at once if there is no such stream, with ErrUnavailable when patience (0: Patience)
// is over, and with what the server refuses.
func Store(ctx context.Context, js jetstream.JetStream, patience time.Duration, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return store(ctx, js, patience, stuckAfter, stream, id, msg, opts...)
}

func store(ctx context.Context, js jetstream.JetStream, patience, stuck time.Duration, stream, id string, msg *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	if patience <= 0 {
		patience = Patience
	}
	opts = append(opts, jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
	var stuckSince time.Time
	err = Do(ctx, patience, func(ctx context.Context) error {
		ack, err = js.PublishMsg(ctx, msg, append(opts, jetstream.WithMsgID(id))...)
		switch {
		case !beingStored(err):
			stuckSince = time.Time{}
		case stuckSince.IsZero():
			stuckSince = time.Now()
		case time.Since(stuckSince) >= stuck:
			id, stuckSince = id+".again", time.Time{}
		}
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

// beingStored reports whether a write was refused because one with the same id is on its way into the stream.
func beingStored(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeDuplicateInWay
}
