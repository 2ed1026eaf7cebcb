package loadtest

import (
	"context"
	"errors"
	"time"

	"github.com/sluice/sluice/pkg/eval/service"
)

// Queries asks a datastore the questions in turn, over and over. There must be one at least. What is measured is the service as a program
// meets it by package client, made to ask once: without repeats, and so without the keys that repeats need, that client adds a
// timer, a look at the answer's type and a copy of its body, as it does for everybody.
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

// Streams asks an agent the questions in turn, each in a conversation of its own, and reads the answers as they come. It calls
// made, at any time and from several goroutines, with the id of every conversation that there is then.
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

// Try makes one request that is not measured, and returns what it fails with.
func Try(ctx context.Context, request Request) error {
	now := time.Now()
	return request(ctx, 0, &Times{due: now, of: newRecorder(now.Add(time.Hour), now.Add(2*time.Hour))})
}
