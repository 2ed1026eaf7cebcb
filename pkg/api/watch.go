package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sluice/sluice/pkg/domain"
)

// watchResponse writes itself.
type watchResponse func(w http.ResponseWriter) error

// VisitWatchDatastoreResponse implements WatchDatastoreResponseObject.
func (f watchResponse) VisitWatchDatastoreResponse(w http.ResponseWriter) error { return f(w) }

// WatchDatastore implements StrictServerInterface.
func (s *server) WatchDatastore(ctx context.Context, r WatchDatastoreRequestObject) (WatchDatastoreResponseObject, error) {
	ctx, who := callerOf(ctx)
	store, err := s.datastore(ctx, who, r.Id)
	if err != nil {
		return nil, err
	}
	return watchResponse(func(w http.ResponseWriter) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the watch, whichever way the stream ends
		changed, err := s.Watcher.Watch(ctx, store.ID)
		if err != nil {
			return err
		}
		return s.sendChanges(ctx, w, who.key, store, changed)
	}), nil
}

// sendChanges sends the state of every datasource that has changed, until the client leaves, the watch ends, or the key is
// good no more.
func (s *server) sendChanges(ctx context.Context, w http.ResponseWriter, key domain.APIKey, store domain.Datastore, changed <-chan string) error {
	events := newEventStream(w, s.opts.WriteTimeout)
	if err := events.comment("watching"); err != nil || isHead(ctx) {
		return err // a client that asked for the header has it, and may send its next request
	}
	stop := events.keepAlive(s.opts.Heartbeat)
	defer stop()
	for {
		ids, open := gather(ctx, changed)
		for _, id := range ids {
			err := s.keys.holds(ctx, key)
			if err == nil {
				err = s.sendChange(ctx, events, store, id)
			}
			if err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return events.send("", "[ERROR] "+oneLine(s.explain(ctx, err).Message))
			}
		}
		if !open {
			return nil
		}
	}
}

// maxGathered bounds the ids that are joined into one round.
const maxGathered = 1000

// gather waits for a change and takes those that have come meanwhile along, each id once. open is false at the end.
func gather(ctx context.Context, changed <-chan string) (ids []string, open bool) {
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

func (s *server) sendChange(ctx context.Context, events *eventStream, store domain.Datastore, id string) error {
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
	return events.send(name, string(encoded))
}
