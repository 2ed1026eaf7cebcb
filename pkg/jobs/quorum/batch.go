package quorum

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Maximum total size, in bytes, of the messages the server sends in response to one request.
const batchBytes = 4 << 20

// Each calls f with the messages on a subject, page by page in stream order, until f fails. The subject may contain
// wildcards. Each starts at sequence `from` and ends at the newest message the leader has at the time of the call.
// `size` is the maximum number of messages per page, at most 1,000. Pages are read from any server; messages still
// missing on a lagging server are read from the leader. Messages removed during the call may be missing. The stream
// must allow direct gets.
func (r Reader) Each(ctx context.Context, subject string, from uint64, size int, f func(page []*jetstream.RawStreamMsg) error) error {
	last, err := r.Last(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for next := max(from, 1); next <= last.Sequence; {
		page, err := r.page(ctx, subject, next, size)
		if err != nil {
			return err
		}
		for i, msg := range page {
			if msg.Sequence > last.Sequence {
				page = page[:i]
				break
			}
		}
		if len(page) == 0 {
			return nil
		}
		next = page[len(page)-1].Sequence + 1
		if err := f(page); err != nil {
			return err
		}
	}
	return nil
}

// page reads the messages on a subject, beginning with the given sequence. It returns an empty page only if there are
// no more messages.
func (r Reader) page(ctx context.Context, subject string, from uint64, size int) ([]*jetstream.RawStreamMsg, error) {
	page, err := r.batch(ctx, batchRequest{Sequence: from, NextFor: subject, Batch: size, MaxBytes: batchBytes})
	if err != nil || len(page) > 0 {
		return page, err
	}
	msg, err := r.Next(ctx, from, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return []*jetstream.RawStreamMsg{msg}, err
}

// LastOfEach returns the last message on each matching subject. The subjects may contain wildcards, but must match at
// most 1,000 of the stream's subjects in total. The messages may come from a lagging server. The stream must allow
// direct gets.
func (r Reader) LastOfEach(ctx context.Context, subjects []string) ([]*jetstream.RawStreamMsg, error) {
	return r.batch(ctx, batchRequest{LastForEach: subjects})
}

// batchRequest is the server's format for requesting several messages.
type batchRequest struct {
	Sequence    uint64   `json:"seq,omitempty"`
	NextFor     string   `json:"next_by_subj,omitempty"`
	Batch       int      `json:"batch,omitempty"`
	MaxBytes    int      `json:"max_bytes,omitempty"`
	LastForEach []string `json:"multi_last,omitempty"`
}

func (r Reader) batch(ctx context.Context, ask batchRequest) ([]*jetstream.RawStreamMsg, error) {
	return perform(ctx, r, ask, r.collect)
}

// collect sends a request and collects the messages in the server's response, up to the end marker.
func (r Reader) collect(ctx context.Context, body []byte) ([]*jetstream.RawStreamMsg, error) {
	conn := r.JS.Conn()
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only once the connection is closed
	if err := conn.PublishRequest("$JS.API.DIRECT.GET."+r.Stream, inbox, body); err != nil {
		return nil, err
	}
	var msgs []*jetstream.RawStreamMsg
	last := uint64(0)
	for {
		answer, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		before, _ := strconv.ParseUint(answer.Header.Get("Nats-Last-Sequence"), 10, 64)
		status := answer.Header.Get("Status")
		if (status == "" || status == "204") && before != last {
			return nil, fmt.Errorf("%w: a response from stream %s was lost", ErrUnavailable, r.Stream)
		}
		switch status {
		case "":
			msg, err := rawMessage(answer)
			if err != nil {
				return nil, fmt.Errorf("reading a response from stream %s: %w", r.Stream, err)
			}
			last = msg.Sequence
			msgs = append(msgs, msg)
		case "204":
			return msgs, nil
		case "404":
			return nil, nil
		case "503":
			return nil, nats.ErrNoResponders
		default:
			return nil, fmt.Errorf("reading from stream %s: %s %s", r.Stream, status, answer.Header.Get("Description"))
		}
	}
}

// rawMessage decodes a response that contains a message.
func rawMessage(answer *nats.Msg) (*jetstream.RawStreamMsg, error) {
	sequence, err := strconv.ParseUint(answer.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("its sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, answer.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return nil, fmt.Errorf("its time: %w", err)
	}
	return &jetstream.RawStreamMsg{
		Subject: answer.Header.Get("Nats-Subject"), Sequence: sequence, Time: at, Header: answer.Header, Data: answer.Data,
	}, nil
}
