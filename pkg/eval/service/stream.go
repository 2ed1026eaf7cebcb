package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// ErrUnfinished is a stream that ended before it said so.
var ErrUnfinished = errors.New("the stream ended before its end was told")

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 4 << 20

// Stream puts a question to an agent, in a conversation of its own whose id it returns, and calls each for every piece of the
// answer as it comes. What the service reports within the stream is a *Refused with status 200.
func (s *Service) Stream(ctx context.Context, agentID, question string, each func(piece string)) (conversationID string, err error) {
	asked, err := json.Marshal(map[string]any{"query": question, "streaming": true})
	if err != nil {
		return "", fmt.Errorf("writing the question: %w", err)
	}
	body, err := s.open(ctx, http.MethodPost, "/agents/"+url.PathEscape(agentID)+"/query", asked)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var response strings.Builder
	err = follow(ctx, body, func(e sse.Event) (end bool, err error) {
		switch {
		case e.Data == "[DONE]":
			return true, nil
		case e.Type == "answer":
			each(e.Data)
		case e.Type == "endpoint_response":
			response.WriteString(e.Data)
		}
		return false, nil
	})
	var answered struct{ ConversationID string }
	if err == nil && json.Unmarshal([]byte(response.String()), &answered) != nil {
		err = errors.New("the end of the stream does not say which conversation it was")
	}
	return answered.ConversationID, err
}

// Watch follows a datastore. It returns once the service watches; changes then come to the function that it returns, which
// calls each for every datasource as it has become, until the context ends or each fails. That function must be called.
func (s *Service) Watch(ctx context.Context, datastoreID string) (changes func(each func(Datasource) error) error, err error) {
	body, err := s.open(ctx, http.MethodGet, "/datastores/"+url.PathEscape(datastoreID)+"/events", nil)
	if err != nil {
		return nil, err
	}
	return func(each func(Datasource) error) error {
		defer body.Close()
		return follow(ctx, body, func(e sse.Event) (end bool, err error) {
			var d Datasource
			if err := json.Unmarshal([]byte(e.Data), &d); err != nil {
				return true, fmt.Errorf("reading what has changed: %w", err)
			}
			return false, each(d)
		})
	}, nil
}

// open opens a stream, which lasts as long as its context.
func (s *Service) open(ctx context.Context, method, path string, content []byte) (io.ReadCloser, error) {
	unlimited := *s.client
	unlimited.Timeout = 0
	resp, _, err := s.send(ctx, &unlimited, method, path, "application/json", content)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// follow calls each for every event until it says that this is the end, or fails.
func follow(ctx context.Context, stream io.Reader, each func(sse.Event) (end bool, err error)) error {
	for event, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("reading the stream: %w", err)
		}
		if said, failed := strings.CutPrefix(event.Data, "[ERROR]"); failed {
			return &Refused{Status: http.StatusOK, Detail: strings.TrimSpace(said)}
		}
		if end, err := each(event); end || err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ErrUnfinished
}
