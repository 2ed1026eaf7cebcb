package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// streamAnswer sends the answer as an event stream.
func (s *server) streamAnswer(ctx context.Context, w http.ResponseWriter, t *agentRequest) error {
	events := sse.New(w, s.options.WriteTimeout)
	stop := events.KeepAlive(s.options.Heartbeat)
	defer stop()
	t.onIgnored(agentNames, func(names string) { events.SetHeader(openai.IgnoredHeader, names) })
	tokens := sse.TokenWriter{Buffer: t.holds, Send: func(text string) error { return events.Send("answer", text) }}
	answer, err := t.ask(ctx, tokens.Write)
	if err == nil {
		err = tokens.Close()
	}
	if err == nil {
		err = sendResponse(events, answer)
	}
	if err == nil {
		return events.Send("", "[DONE]")
	}
	stop() // only this function writes from here on, so IsOpen can no longer change
	if !events.IsOpen() || ctx.Err() != nil {
		return err
	}
	s.metrics.streamed.Inc()
	_ = tokens.Close() // send any text that arrived before the failure
	// The status has already been sent, so the error must be reported in the stream.
	return events.Send("", "[ERROR] "+oneLine(problem.Explain(ctx, s.log, s.Secrets, err).Message))
}

// mayDropLineBreaks reports whether the client may be the library that drops line breaks (see sse.TokenWriter). That
// library accepts text/event-stream, which most clients don't.
func mayDropLineBreaks(ctx context.Context) bool {
	c, ok := ctx.(*gin.Context)
	return ok && strings.Contains(strings.ToLower(c.GetHeader("Accept")), "text/event-stream")
}

// Maximum number of data bytes in an endpoint_response event.
const responsePiece = 16 << 10

// sendResponse writes the endpoint's whole response as JSON, split over several events.
func sendResponse(events *sse.Stream, answer AgentAnswer) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	rest := string(encoded)
	for rest != "" {
		cut := min(len(rest), responsePiece)
		for cut < len(rest) && !utf8.RuneStart(rest[cut]) {
			cut--
		}
		for _, piece := range sse.SplitPiece(rest[:cut]) {
			if err := events.Send("endpoint_response", piece); err != nil {
				return err
			}
		}
		rest = rest[cut:]
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// WatchDatastore implements StrictServerInterface.
func (s *server) WatchDatastore(ctx context.Context, r WatchDatastoreRequestObject) (WatchDatastoreResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	store, err := s.datastore(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	if err := admit.OpenStream(ctx, store.WorkspaceID); err != nil {
		return nil, err
	}
	return responseFunc(func(w http.ResponseWriter) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // the watch ends when the stream does
		changed, err := s.Watcher.Watch(ctx, store.ID)
		if err != nil {
			return err
		}
		return s.sendChanges(ctx, w, caller.Key, store, changed)
	}), nil
}

// sendChanges sends each changed datasource's state until the client disconnects, the watch ends or the key becomes
// invalid.
func (s *server) sendChanges(ctx context.Context, w http.ResponseWriter, key domain.APIKey, store domain.Datastore, changed <-chan string) error {
	events := sse.New(w, s.options.WriteTimeout)
	if err := events.Comment("watching"); err != nil || transfer.IsHead(ctx) {
		return err // a HEAD request is done after the header
	}
	stop := events.KeepAlive(s.options.Heartbeat)
	defer stop()
	for {
		ids, open := collectChanges(ctx, changed)
		for _, id := range ids {
			err := s.keyring.CheckValid(ctx, key)
			if err == nil {
				err = s.sendChange(ctx, events, store, id)
			}
			if err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return events.Send("", "[ERROR] "+oneLine(problem.Explain(ctx, s.log, s.Secrets, err).Message))
			}
		}
		if !open {
			return nil
		}
	}
}

// Maximum number of ids that collectChanges returns at once.
const maxGathered = 1000

// collectChanges waits for a change and returns the ids of all datasources with pending changes, without duplicates.
// `open` is false if the watch has ended.
func collectChanges(ctx context.Context, changed <-chan string) (ids []string, open bool) {
	seen := map[string]bool{}
	for len(ids) < maxGathered {
		var id string
		if len(ids) == 0 {
			select {
			case <-ctx.Done():
				return nil, false
			case id, open = <-changed:
			}
		} else {
			select {
			case id, open = <-changed:
			default:
				return ids, true
			}
		}
		if !open {
			return ids, false
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, true
}

func (s *server) sendChange(ctx context.Context, events *sse.Stream, store domain.Datastore, id string) error {
	d, err := s.Datasources.Datasource(ctx, store.WorkspaceID, id)
	var name string
	var data any
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		name, data = "deleted", map[string]string{"id": id}
	case err != nil:
		return err
	case d.DatastoreID != store.ID:
		return nil
	default:
		name, data = "datasource", renderEvent(d)
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return events.Send(name, string(encoded))
}
