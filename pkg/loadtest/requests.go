package loadtest

import (
	"context"
	"errors"
	"time"

	"github.com/sluice/sluice/pkg/eval/service"
)

// Queries returns a Request that cycles through the questions and sends them to a datastore, without retries and thus
// without idempotency keys. There must be at least one question. The measured times include the client's overhead: a
// timer, a check of the response's type and a copy of its body.
func Queries(s *service.Service, datastoreID string, questions []string, like service.Query) Request {
	return func(ctx context.Context, n int, take *Times) error {
		q := like
		q.Text = questions[n%len(questions)]
		if _, err := s.Query(ctx, datastoreID, q); err != nil {
			return err
		}
		take.Since("answered")
		return nil
	}
}

// Streams returns a Request that cycles through the questions, asks an agent each one in a new conversation and reads
// the streamed answer. It calls `made` with each new conversation's id, possibly from several goroutines at once.
func Streams(s *service.Service, agentID string, questions []string, made func(conversationID string)) Request {
	return func(ctx context.Context, n int, take *Times) error {
		var last time.Time
		id, err := s.Stream(ctx, agentID, questions[n%len(questions)], func(string) {
			now := time.Now()
			if last.IsZero() {
				take.Since("first token")
			} else {
				take.Add("between tokens", now.Sub(last))
			}
			last = now
		})
		if id != "" {
			made(id)
		}
		switch {
		case err != nil:
			return err
		case last.IsZero():
			return errors.New("the stream ended without any text")
		}
		take.Since("end of the stream")
		return nil
	}
}

// Try sends one request without measuring it and returns its error.
func Try(ctx context.Context, request Request) error {
	now := time.Now()
	return request(ctx, 0, &Times{due: now, of: newRecorder(now.Add(time.Hour), now.Add(2*time.Hour))})
}
