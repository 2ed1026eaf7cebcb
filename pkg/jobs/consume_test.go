package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

// consume passes events to h one by one until the test ends.
func consume(t testing.TB, b *Broker, h func(context.Context, domain.Event) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- b.ConsumeBatches(ctx, 1, func(ctx context.Context, evs []domain.Event) error { return h(ctx, evs[0]) })
		close(ended)
	}()
	stop = func() {
		cancel()
		if err, ok := <-ended; ok && err != nil {
			t.Errorf("ConsumeBatches returned %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func emit(t testing.TB, b *Broker, ev domain.Event) {
	t.Helper()
	if err := b.Emit(testContext(t), ev); err != nil {
		t.Fatalf("emitting: %v", err)
	}
}

func TestConsume(t *testing.T) {
	t.Parallel()

	for _, limit := range []int{1, MaxBatch} {
		t.Run(fmt.Sprintf("all events that a killed process was handed come again, in order, %d at a time", limit), func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			killed, err := (&reader{broker: b, limit: MaxBatch}).consumer(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			const n = 20
			for i := range n {
				ev := event(newJob(domain.JobIngest), domain.EventProgress)
				ev.Generation = uint64(i)
				emit(t, b, ev)
			}
			if batch, err := (&reader{broker: b, limit: MaxBatch}).fetch(testContext(t), killed); err != nil || len(batch) != n {
				t.Fatalf("the process that is killed has %d events: %v", len(batch), err)
			}
			applied := make(chan uint64, n)
			ctx, cancel := context.WithCancel(testContext(t))
			ended := make(chan error, 1)
			go func() {
				ended <- b.ConsumeBatches(ctx, limit, func(_ context.Context, evs []domain.Event) error {
					if len(evs) > limit {
						t.Errorf("%d events at a time, the limit is %d", len(evs), limit)
					}
					for _, ev := range evs {
						applied <- ev.Generation
					}
					return nil
				})
			}()
			for want := range uint64(n) {
				select {
				case got := <-applied:
					if got != want {
						t.Errorf("event %d comes where %d is due", got, want)
					}
				case <-testContext(t).Done():
					t.Fatalf("event %d does not come again", want)
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}

	t.Run("events come in order, once, and again only after a failure", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		const n = 20
		for i := range n {
			ev := event(newJob(domain.JobIngest), domain.EventProgress)
			ev.Generation = uint64(i)
			emit(t, b, ev)
		}
		applied := make(chan uint64, 2*n)
		failures := 0
		stop := consume(t, b, func(_ context.Context, ev domain.Event) error {
			if ev.Generation == 7 && failures < 2 {
				failures++
				if failures == 2 {
					panic("nil map")
				}
				return errors.New("database is locked")
			}
			applied <- ev.Generation
			return nil
		})
		for want := range uint64(n) {
			if got := receive(t, applied, "an event"); got != want {
				t.Fatalf("event %d came, want %d", got, want)
			}
		}
		stop()
		if len(applied) != 0 {
			t.Errorf("%d events came twice", len(applied))
		}
		// A second consumer receives only the new event.
		emit(t, b, domain.Event{Type: domain.EventSynched, DatastoreID: domain.NewID(), DatasourceID: domain.NewID(), Generation: 99})
		consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev.Generation; return nil })
		if got := receive(t, applied, "the new event"); got != 99 {
			t.Errorf("event %d came, want 99", got)
		}
	})
	t.Run("what is not an event is skipped", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		ctx := testContext(t)
		subject := eventSubject(domain.NewID(), domain.NewID())
		for _, data := range []string{"{", "{}", ""} {
			if _, err := b.js.Publish(ctx, subject, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		want := event(newJob(domain.JobCrawl), domain.EventFetched)
		emit(t, b, want)
		applied := make(chan domain.Event, 10)
		consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev; return nil })
		if diff := cmp.Diff(want, receive(t, applied, "the event behind")); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})
	t.Run("an event that the handler cannot bear does not hold up those behind it for ever", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		poison, want := event(newJob(domain.JobIngest), domain.EventSynched), event(newJob(domain.JobIngest), domain.EventSynched)
		emit(t, b, poison)
		emit(t, b, want)
		applied, tries := make(chan domain.Event, 10), 0
		consume(t, b, func(_ context.Context, ev domain.Event) error {
			if ev.JobID == poison.JobID {
				tries++
				panic("nil map")
			}
			applied <- ev
			return nil
		})
		if diff := cmp.Diff(want, receive(t, applied, "the event behind")); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		if tries != catalogPanics {
			t.Errorf("the event was tried %d times, want %d", tries, catalogPanics)
		}
	})
	t.Run("an event of the most and longest addresses has room", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		want := event(newJob(domain.JobCrawl), domain.EventDiscovered)
		for range domain.MaxLinksPerEvent {
			want.Links = append(want.Links, domain.Link{URL: "https://x.example/?" + strings.Repeat("&", 2000), Depth: 1})
		}
		emit(t, b, want)
		applied := make(chan domain.Event, 1)
		consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev; return nil })
		if diff := cmp.Diff(want, receive(t, applied, "the event")); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})
	t.Run("an event that was cut short by a stop comes again at once", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		emit(t, b, event(newJob(domain.JobIngest), domain.EventSynched))
		begun := make(chan struct{})
		stop := consume(t, b, func(ctx context.Context, _ domain.Event) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		})
		signalled(t, begun, "the event")
		stop()
		applied := make(chan struct{})
		consume(t, b, func(context.Context, domain.Event) error { close(applied); return nil })
		signalled(t, applied, "the event again")
	})
	t.Run("two consumers share the events and keep their order", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		const n = 50
		applied := make(chan uint64, n)
		h := func(_ context.Context, ev domain.Event) error { applied <- ev.Generation; return nil }
		consume(t, b, h)
		consume(t, b, h)
		for i := range n {
			ev := event(newJob(domain.JobIngest), domain.EventProgress)
			ev.Generation = uint64(i)
			emit(t, b, ev)
		}
		for want := range uint64(n) {
			if got := receive(t, applied, "an event"); got != want {
				t.Fatalf("event %d came, want %d", got, want)
			}
		}
	})
}

func TestConsumeBatches(t *testing.T) {
	t.Parallel()

	t.Run("what has come in is applied together and in order", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		const n = 3*MaxBatch + 5
		for i := range n {
			ev := event(newJob(domain.JobIngest), domain.EventProgress)
			ev.Generation = uint64(i)
			emit(t, b, ev)
		}
		batches := make(chan []domain.Event, n)
		stop := consumeBatches(t, b, func(_ context.Context, evs []domain.Event) error { batches <- evs; return nil })
		next, largest := uint64(0), 0
		for next < n {
			evs := receive(t, batches, "a batch")
			largest = max(largest, len(evs))
			for _, ev := range evs {
				if ev.Generation != next {
					t.Fatalf("event %d came, want %d", ev.Generation, next)
				}
				next++
			}
		}
		if largest != MaxBatch {
			t.Errorf("the largest batch has %d events, want %d", largest, MaxBatch)
		}
		stop()
		if len(batches) != 0 {
			t.Errorf("%d batches came again", len(batches))
		}
	})
	t.Run("a batch that fails is applied one by one", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		const n, bad = 10, 4
		for i := range n {
			ev := event(newJob(domain.JobIngest), domain.EventProgress)
			ev.Generation = uint64(i)
			emit(t, b, ev)
		}
		applied, failures := make(chan uint64, n), 0
		consumeBatches(t, b, func(_ context.Context, evs []domain.Event) error {
			for _, ev := range evs {
				if ev.Generation == bad && failures < 2 {
					failures++
					return errors.New("deadlock detected")
				}
			}
			for _, ev := range evs {
				applied <- ev.Generation
			}
			return nil
		})
		for want := range uint64(n) {
			if got := receive(t, applied, "an event"); got != want {
				t.Fatalf("event %d came, want %d", got, want)
			}
		}
	})
	t.Run("a consumer that an earlier version has made is brought up to date", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		_, err := b.js.CreateConsumer(testContext(t), StreamEvents, jetstream.ConsumerConfig{
			Durable: ConsumerCatalog, AckPolicy: jetstream.AckExplicitPolicy, AckWait: catalogAckWait, MaxDeliver: -1, MaxAckPending: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := event(newJob(domain.JobIngest), domain.EventSynched)
		emit(t, b, want)
		applied := make(chan []domain.Event, 1)
		consumeBatches(t, b, func(_ context.Context, evs []domain.Event) error { applied <- evs; return nil })
		if evs := receive(t, applied, "the event"); len(evs) != 1 || evs[0].JobID != want.JobID {
			t.Errorf("events are %+v", evs)
		}
	})
	t.Run("another process takes over, after what the first has under way", func(t *testing.T) {
		t.Parallel()
		srv := startServer(t, natsd.Options{NoSync: true})
		b := openBroker(t, connect(t, srv), Options{})
		conn, err := Connect(testContext(t), ConnectOptions{InProcess: srv, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		doomed := openBroker(t, conn, Options{RetryTimeout: time.Second})
		const n = 3
		for i := range n {
			ev := event(newJob(domain.JobIngest), domain.EventProgress)
			ev.Generation = uint64(i)
			emit(t, b, ev)
		}
		begun, release := make(chan struct{}), make(chan struct{})
		stop := consumeBatches(t, doomed, func(context.Context, []domain.Event) error {
			close(begun)
			<-release
			return nil
		})
		signalled(t, begun, "the first batch")
		conn.Close() // nothing more from this consumer can reach the server
		applied := make(chan uint64, 2*n)
		consumeBatches(t, b, func(_ context.Context, evs []domain.Event) error {
			for _, ev := range evs {
				applied <- ev.Generation
			}
			return nil
		})
		late := event(newJob(domain.JobIngest), domain.EventProgress)
		late.Generation = n
		emit(t, b, late) // could be delivered immediately, but must wait for the earlier events
		for want := range uint64(n + 1) {
			if got := receive(t, applied, "an event"); got != want {
				t.Fatalf("event %d came, want %d", got, want)
			}
		}
		close(release)
		stop()
	})
}

// consumeBatches passes events to h in batches until the test ends.
func consumeBatches(t testing.TB, b *Broker, h func(context.Context, []domain.Event) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- b.ConsumeBatches(ctx, MaxBatch, h)
		close(ended)
	}()
	stop = func() {
		cancel()
		if err, ok := <-ended; ok && err != nil {
			t.Errorf("ConsumeBatches returned %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}
