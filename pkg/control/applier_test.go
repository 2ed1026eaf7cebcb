package control

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// eventLog delivers each event once and records the handler's results.
type eventLog struct {
	events  []domain.Event
	answers []error
}

func (l *eventLog) ConsumeBatches(ctx context.Context, _ int, handler func(context.Context, []domain.Event) error) error {
	for _, ev := range l.events {
		l.answers = append(l.answers, handler(ctx, []domain.Event{ev}))
	}
	return nil
}

type states func(domain.Event) (catalog.Applied, error)

func (f states) ApplyAll(_ context.Context, evs []domain.Event) ([]catalog.Applied, error) {
	out := make([]catalog.Applied, len(evs))
	for i, ev := range evs {
		var err error
		if out[i], err = f(ev); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func TestApplierRetriesOnlyTransientFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault error
		again bool
	}{
		"an event that was applied is done with":                                {},
		"a malformed event is dropped, or it would hold up all others for ever": {fault: domain.Invalid("fetched", "is missing")},
		"an event comes again while the database is away":                       {fault: errDown, again: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &eventLog{events: []domain.Event{{Type: domain.EventFetched, JobID: "job"}}}
			a := Applier{Events: log, Log: quiet, States: states(func(domain.Event) (catalog.Applied, error) {
				return catalog.Applied{}, test.fault
			})}
			if err := a.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := log.answers[0]; (err != nil) != test.again || (test.again && !errors.Is(err, test.fault)) {
				t.Errorf("the handler answered %v, want it to ask for the event again: %v", err, test.again)
			}
		})
	}
}

func TestApplierNotifiesWatchersOfThePageAndItsSite(t *testing.T) {
	t.Parallel()
	hub := NewHub(nil)
	defer hub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed, err := hub.Watch(ctx, "store")
	if err != nil {
		t.Fatal(err)
	}
	log := &eventLog{events: []domain.Event{{Type: domain.EventSynched, DatastoreID: "store", DatasourceID: "page"}}}
	a := Applier{Events: log, Hub: hub, Log: quiet, States: states(func(domain.Event) (catalog.Applied, error) {
		return catalog.Applied{Found: true, Changed: true, Site: &domain.Datasource{ID: "site"}, Others: []string{"twin"}}, nil
	})}
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"page", "site", "twin"}, []string{<-changed, <-changed, <-changed}); diff != "" {
		t.Error(diff)
	}
	cancel()
	for range changed { // ends with the watch
	}
}
