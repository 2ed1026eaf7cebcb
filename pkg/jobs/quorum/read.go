package quorum

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Reader reads single messages from a stream's leader. The client library's direct gets may be served by a lagging
// replica that does not have recently acknowledged messages yet.
type Reader struct {
	JS      jetstream.JetStream
	Stream  string
	Timeout time.Duration // 0: DefaultTimeout
}

// Last returns the last message on a subject, or jetstream.ErrMsgNotFound. The subject may contain wildcards.
func (r Reader) Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return r.get(ctx, getRequest{LastFor: subject})
}

// Next returns the first message on a subject at or after a sequence, or jetstream.ErrMsgNotFound. The subject may
// contain wildcards.
func (r Reader) Next(ctx context.Context, sequence uint64, subject string) (*jetstream.RawStreamMsg, error) {
	return r.get(ctx, getRequest{Sequence: sequence, NextFor: subject})
}

// At returns the message with the given sequence, or jetstream.ErrMsgNotFound.
func (r Reader) At(ctx context.Context, sequence uint64) (*jetstream.RawStreamMsg, error) {
	return r.get(ctx, getRequest{Sequence: sequence})
}

// Sync ensures that earlier responses from the leader weren't outdated, by waiting for a majority of the servers to
// confirm the leader. A leader that was cut off may return old data for up to ten seconds. After Sync, a message that
// wasn't found really doesn't exist. `unused` must be one of the stream's subjects that never has messages.
func (r Reader) Sync(ctx context.Context, unused string) error {
	return Retry(ctx, r.timeout(), func(ctx context.Context) error {
		stream, err := r.JS.Stream(ctx, r.Stream)
		if err != nil {
			return StreamError(r.Stream, err)
		}
		// Purging an empty subject changes nothing, but since it is a write, a majority must agree to it.
		return stream.Purge(ctx, jetstream.WithPurgeSubject(unused))
	})
}

func (r Reader) timeout() time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return DefaultTimeout
}

// getRequest is the server's format for requesting one message.
type getRequest struct {
	Sequence uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
}

// getResponse is the server's response to a getRequest.
type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
}

func (r Reader) get(ctx context.Context, ask getRequest) (*jetstream.RawStreamMsg, error) {
	return perform(ctx, r, ask, r.ask)
}

// perform encodes the request and passes it to `call` until a call succeeds; see Retry.
func perform[T any](ctx context.Context, r Reader, request any, call func(context.Context, []byte) (T, error)) (result T, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("asking stream %s: %w", r.Stream, err)
	}
	err = Retry(ctx, r.timeout(), func(ctx context.Context) error {
		result, err = call(ctx, body)
		return err
	})
	return result, err
}

func (r Reader) ask(ctx context.Context, body []byte) (*jetstream.RawStreamMsg, error) {
	answer, err := r.JS.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+r.Stream, body)
	if err != nil {
		return nil, err
	}
	var response getResponse
	if err := json.Unmarshal(answer.Data, &response); err != nil {
		return nil, fmt.Errorf("reading the response from stream %s: %w", r.Stream, err)
	}
	if e := response.Error; e != nil {
		switch e.ErrorCode {
		case jetstream.JSErrCodeMessageNotFound:
			return nil, jetstream.ErrMsgNotFound
		case jetstream.JSErrCodeStreamNotFound:
			return nil, StreamError(r.Stream, jetstream.ErrStreamNotFound)
		}
		return nil, e
	}
	m := response.Message
	if m == nil {
		return nil, fmt.Errorf("reading the response from stream %s: it contains no message", r.Stream)
	}
	msg := &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Sequence, Data: m.Data, Time: m.Time}
	if len(m.Header) > 0 {
		if msg.Header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			return nil, fmt.Errorf("reading the header of message %d of stream %s: %w", m.Sequence, r.Stream, err)
		}
	}
	return msg, nil
}
