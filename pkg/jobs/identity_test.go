package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestAJobLogOfANewerVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	stream, err := b.js.Stream(testContext(t), StreamJobs)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	if cfg.Metadata[metaFormat] != "1" {
		t.Errorf("the stream says of its format: %v", cfg.Metadata)
	}
	cfg.Metadata[metaFormat] = "2"
	if _, err := b.js.UpdateStream(testContext(t), cfg); err != nil {
		t.Fatal(err)
	}
	_, err = Open(testContext(t), b.conn, Options{Log: quiet})
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("opening it: %v", err)
	}
	if _, err = Attach(testContext(t), b.conn, Options{Log: quiet}); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("a worker opening it: %v", err)
	}
	delete(cfg.Metadata, metaFormat) // older versions, which did not record the format, left the metadata like this
	if _, err := b.js.UpdateStream(testContext(t), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testContext(t), b.conn, Options{Log: quiet}); err != nil {
		t.Errorf("opening one of an older version: %v", err)
	}
	if _, err := Attach(testContext(t), b.conn, Options{Log: quiet}); err != nil {
		t.Errorf("a worker opening one of an older version: %v", err)
	}
}

func TestServersThatHoldTheJobsOfAnotherCatalogAreLeftAlone(t *testing.T) {
	t.Parallel()
	owner, other := domain.NewID(), domain.NewID()
	first := newBroker(t)
	b, err := Open(testContext(t), first.conn, Options{Catalog: owner, HighestGeneration: 3, Log: quiet})
	if err != nil {
		t.Fatalf("the first catalog that says its name: %v", err)
	}
	if b.Installation() == "" || b.Installation() != first.Installation() {
		t.Errorf("the installation is %q, and was %q", b.Installation(), first.Installation())
	}
	if _, err := Open(testContext(t), first.conn, Options{Catalog: other, HighestGeneration: 1 << 40, Log: quiet}); !errors.Is(err, ErrForeign) {
		t.Errorf("a catalog with jobs of its own: %v", err)
	}
	if last, err := b.js.Stream(testContext(t), StreamJobs); err != nil || last.CachedInfo().State.FirstSeq >= 1<<40 {
		t.Errorf("the log was moved on for a stranger: %+v, %v", last.CachedInfo().State, err)
	}

	// While an event is being applied, no request for the next one is pending. Applying it can take a long time if the
	// catalog's database is down.
	applying, applied := make(chan struct{}), make(chan struct{})
	stop := consume(t, b, func(ctx context.Context, _ domain.Event) error {
		close(applying)
		select {
		case <-applied:
		case <-ctx.Done():
		}
		return nil
	})
	emit(t, b, event(newJob(domain.JobIngest), domain.EventProgress))
	<-applying
	if _, err := Open(testContext(t), first.conn, Options{Catalog: other, Log: quiet}); !errors.Is(err, ErrForeign) {
		t.Errorf("a new catalog, while the other applies an event: %v", err)
	}
	close(applied)
	if _, err := Open(testContext(t), first.conn, Options{Catalog: other, Log: quiet}); !errors.Is(err, ErrForeign) {
		t.Errorf("a new catalog, while the other is served: %v", err)
	}
	stop()
	for served := true; served; { // until the server has dropped the last request for events
		if served, err = b.isServed(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := Open(testContext(t), first.conn, Options{Catalog: other, Log: quiet})
	if err != nil {
		t.Fatalf("a new catalog in place of a lost one: %v", err)
	}
	if taken.Installation() != b.Installation() {
		t.Error("taking over has changed the installation")
	}
	if _, err := Open(testContext(t), first.conn, Options{Catalog: owner, HighestGeneration: 3, Log: quiet}); !errors.Is(err, ErrForeign) {
		t.Errorf("the catalog before: %v", err)
	}
}
