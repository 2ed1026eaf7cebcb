package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

func TestMain(m *testing.M) {
	natstest.Main()
	if dir := os.Getenv(envChild); dir != "" {
		os.Exit(child(dir))
	}
	flag.Parse()
	if err := runManyAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// runManyAtOnce raises the number of tests that run in parallel, because most tests wait for elections and redelivery
// rather than the CPU. It has no effect if -parallel is set, or with -short, which is set for runs with the race
// detector.
func runManyAtOnce() error {
	const parallel = "test.parallel"
	set := testing.Short()
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == parallel })
	if set {
		return nil
	}
	return flag.Set(parallel, strconv.Itoa(3*runtime.GOMAXPROCS(0)))
}

// testTimeout limits every wait in a test. Tests that pass never wait that long.
const testTimeout = 20 * time.Second

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// startServer runs a server with the given options. Most tests set NoSync, because they do not simulate a power loss.
func startServer(t testing.TB, o natsd.Options) *natsd.Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Log = quiet
	srv, err := natsd.Start(testContext(t), o)
	if err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
	})
	return srv
}

func connect(t testing.TB, srv *natsd.Server) *Conn {
	t.Helper()
	conn, err := Connect(testContext(t), ConnectOptions{InProcess: srv, Log: quiet})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func openBroker(t testing.TB, conn *Conn, o Options) *Broker {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet
	}
	b, err := Open(testContext(t), conn, o)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return b
}

// newBroker returns a broker with its own server.
func newBroker(t testing.TB) *Broker {
	t.Helper()
	return openBroker(t, connect(t, startServer(t, natsd.Options{NoSync: true})), Options{})
}

// workspace is the workspace of all jobs from newJob.
var workspace = domain.NewID()

func newJob(kind domain.JobKind) domain.Job {
	return domain.Job{
		ID: domain.NewID(), Kind: kind, WorkspaceID: workspace, DatastoreID: domain.NewID(),
		DatasourceID: domain.NewID(), Type: domain.TypeFile, Name: "a.pdf",
	}
}

// again returns a new job for the same datasource as job's.
func again(j domain.Job) domain.Job {
	j.ID = domain.NewID()
	return j
}

func publish(t testing.TB, b *Broker, job domain.Job) uint64 {
	t.Helper()
	gen, err := b.Publish(testContext(t), job)
	if err != nil {
		t.Fatalf("publishing: %v", err)
	}
	return gen
}

// receive returns the channel's next value. The test fails if none arrives in time.
func receive[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatalf("channel closed while waiting for %s", what)
		}
		return v
	case <-time.After(testTimeout):
		t.Fatalf("waited in vain for %s", what)
	}
	panic("unreachable")
}

func signalled(t testing.TB, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(testTimeout):
		t.Fatalf("waited in vain for %s", what)
	}
}

// running is a call to Work in the background.
type running struct {
	outcomes chan Outcome
	cancel   context.CancelFunc
	ended    chan error
}

// stop ends the worker and waits for Work to return.
func (r *running) stop(t testing.TB) {
	t.Helper()
	r.cancel()
	select {
	case err, ok := <-r.ended:
		if ok && err != nil {
			t.Errorf("Work returned %v", err)
		}
	case <-time.After(testTimeout):
		t.Error("Work did not return")
	}
}

// shortAckWait is shorter than testTimeout. nats.go ends a stopped worker's last request shortly before it
// unsubscribes, so the server may still answer it with a job. That job is redelivered after shortAckWait.
const shortAckWait = 3 * time.Second

// work starts a worker with short delays and stops it at the end of the test.
func work(t testing.TB, b *Broker, lane domain.Lane, o WorkerOptions, h Handler) *running {
	t.Helper()
	r := &running{outcomes: make(chan Outcome, 1000), ended: make(chan error, 1)}
	o.Observe = func(out Outcome) { r.outcomes <- out }
	if o.RetryMin == 0 {
		o.RetryMin, o.RetryMax = time.Millisecond, 4*time.Millisecond
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Millisecond
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() {
		r.ended <- b.Work(ctx, lane, o, h)
		close(r.ended)
	}()
	t.Cleanup(func() { r.stop(t) })
	return r
}

// allEvents returns all of a datastore's stored events.
func allEvents(t testing.TB, b *Broker, datastoreID string) []domain.Event {
	t.Helper()
	var events []domain.Event
	err := scan(testContext(t), b, StreamEvents, prefixEvents+"."+datastoreID+".*", func(msg *jetstream.RawStreamMsg) error {
		ev, err := decodeEvent(msg.Subject, msg.Data)
		events = append(events, ev)
		return err
	})
	if err != nil {
		t.Fatalf("reading events: %v", err)
	}
	return events
}

// deadLetters returns a datastore's dead letters, oldest first. If datastoreID is "", it returns those of all
// datastores.
func deadLetters(t testing.TB, b *Broker, datastoreID string) []DeadLetter {
	t.Helper()
	filter := prefixDeadLetters + ".*." + cmp.Or(datastoreID, "*") + ".*"
	var all []DeadLetter
	if err := scan(testContext(t), b, StreamDeadLetters, filter, func(msg *jetstream.RawStreamMsg) error {
		var dl DeadLetter
		err := json.Unmarshal(msg.Data, &dl)
		all = append(all, dl)
		return err
	}); err != nil {
		t.Fatalf("reading dead letters: %v", err)
	}
	return all
}

// scan calls f for each message in a stream that matches the filter.
func scan(ctx context.Context, b *Broker, stream, filter string, f func(*jetstream.RawStreamMsg) error) error {
	return b.pages(ctx, stream, filter, 1, func(page []*jetstream.RawStreamMsg) error {
		for _, msg := range page {
			if err := f(msg); err != nil {
				return err
			}
		}
		return nil
	})
}
