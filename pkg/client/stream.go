package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"
)

// ErrUnfinished means that a stream was cut off, so the data received is incomplete.
var ErrUnfinished = errors.New("the stream ended without its end marker")

// StreamAgent asks an agent, passes each part of the answer to `text` as it arrives, and returns the complete answer
// with its sources. If `text` fails, StreamAgent cancels the request and returns that error.
func (c *Client) StreamAgent(ctx context.Context, id string, q AgentQuery, text func(piece string) error) (*AgentAnswer, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	streaming := true
	q.Streaming = &streaming
	resp, err := checkStream(c.endpoints.QueryAgent(withOptions(ctx, requestOptions{noRetry: true, stream: true}), id, nil, q))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var response strings.Builder
	for event, err := range c.events(resp.Body) {
		switch {
		case err != nil:
			return nil, err
		case event.Data == "[DONE]":
			var answer AgentAnswer
			if err := json.Unmarshal([]byte(response.String()), &answer); err != nil {
				return nil, fmt.Errorf("reading the end of the stream: %w", err)
			}
			return &answer, nil
		case event.Type == "answer":
			if err := text(event.Data); err != nil {
				return nil, err
			}
		case event.Type == "endpoint_response":
			if response.WriteString(event.Data); int64(response.Len()) > c.sender.maxBody {
				return nil, &tooLargeError{c.sender.maxBody}
			}
		}
	}
	return nil, ErrUnfinished
}

// checkStream returns an error if the response is not an event stream. A non-nil err is returned unchanged.
func checkStream(resp *http.Response, err error) (*http.Response, error) {
	if err == nil {
		if err = isOf(resp, "text/event-stream"); err != nil {
			_ = resp.Body.Close() // the body was not read
		}
	}
	return resp, err
}

// events iterates over server-sent events until the stream ends. If the stream fails, the last pair contains the error.
// Errors that the service reports in the stream are of type *Error.
func (c *Client) events(body io.Reader) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		for event, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: int(c.sender.maxBody)}) {
			switch {
			case errors.Is(err, sse.ErrUnexpectedEOF): // cut off in the middle of an event or comment
				yield(event, ErrUnfinished)
				return
			case err != nil:
				yield(event, fmt.Errorf("reading the stream: %w", err))
				return
			}
			if said, failed := strings.CutPrefix(event.Data, "[ERROR]"); failed {
				yield(event, &Error{Status: http.StatusOK, Message: strings.TrimSpace(said)})
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// Change reports that a datasource has a new state or was deleted.
type Change struct {
	Datasource *DatasourceEvent // nil if it was deleted
	DeletedID  string           // the deleted datasource's id
}

// WatchDatastore streams changes to a datastore's datasources. It returns once the service is watching, so a caller
// that lists the datasources afterwards misses no change. The iterator can be used only once. When ctx is done or the
// stream breaks, the iterator's last pair contains the error. This is [ErrUnfinished] if the service stopped. To
// continue, watch again and list the datasources again.
func (c *Client) WatchDatastore(ctx context.Context, id string) (iter.Seq2[Change, error], error) {
	if err := check(id); err != nil {
		return nil, err
	}
	resp, err := checkStream(c.endpoints.WatchDatastore(withOptions(ctx, requestOptions{stream: true}), id))
	if err != nil {
		return nil, err
	}
	return func(yield func(Change, error) bool) {
		defer resp.Body.Close()
		for event, err := range c.events(resp.Body) {
			var change Change
			switch {
			case err != nil:
			case event.Type == "datasource":
				err = json.Unmarshal([]byte(event.Data), &change.Datasource)
			case event.Type == "deleted":
				var gone struct{ ID string }
				err = json.Unmarshal([]byte(event.Data), &gone)
				change.DeletedID = gone.ID
			default: // an event from a newer service
				continue
			}
			if !yield(change, err) || err != nil {
				return
			}
		}
		yield(Change{}, ErrUnfinished)
	}, nil
}

// Settled waits until none of the datastore's datasources is queued or being processed. Some of them may have failed.
// If `each` is not nil, Settled calls it with the current counts to report progress.
func (c *Client) Settled(ctx context.Context, datastoreID string, each func(DatasourceCounts)) error {
	for {
		settled, err := c.settled(ctx, datastoreID, each)
		if settled || err != nil {
			return err
		}
		if err := c.sender.wait(ctx, time.Second); err != nil { // the stream broke
			return err
		}
	}
}

// countInterval is the minimum time between two counts of a datastore that keeps changing.
const countInterval = 200 * time.Millisecond

// settled returns true once all datasources in the datastore are finished, or false if the stream of changes ends
// first. If `each` is not nil, settled calls it with the counts at the start and after changes.
func (c *Client) settled(ctx context.Context, datastoreID string, each func(DatasourceCounts)) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	changes, err := c.WatchDatastore(ctx, datastoreID)
	if err != nil {
		cancel()
		return false, err
	}
	changed, ended := make(chan struct{}, 1), make(chan struct{})
	defer func() {
		cancel()
		<-ended
	}()
	go func() {
		defer close(ended)
		for change, err := range changes {
			if err != nil {
				return
			}
			if d := change.Datasource; each == nil && d != nil && isPending(d.Status) {
				continue
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	for {
		counts, err := c.CountDatasources(ctx, datastoreID)
		if err != nil {
			return false, err
		}
		if each != nil {
			each(*counts)
		}
		if counts.Unsynched+counts.Pending+counts.Running == 0 {
			return true, nil
		}
		select {
		case <-ended:
			return false, context.Cause(ctx)
		case <-changed:
		}
		if err := c.sender.wait(ctx, countInterval); err != nil {
			return false, err
		}
	}
}

func isPending(s DatasourceStatus) bool {
	return s == DatasourceStatusUnsynched || s == DatasourceStatusPending || s == DatasourceStatusRunning
}
