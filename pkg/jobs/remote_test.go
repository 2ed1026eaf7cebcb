package jobs

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

func TestAStoppedWorkerHandsItsJobsBackAtOnce(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	b := openReplicated(t, c)
	const jobs = 8
	o := WorkerOptions{Concurrency: jobs, AckWait: time.Minute, MaxCrashes: 1, MaxFailures: 1, Grace: WorkerOptions{}.withDefaults().Grace}
	begun := make(chan struct{}, jobs)
	leaving := work(t, b, domain.LaneIngest, o, func(ctx context.Context, _ domain.Job) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	for range jobs {
		publish(t, b, newJob(domain.JobIngest))
	}
	for range jobs {
		receive(t, begun, "a run")
	}
	other, err := Attach(testContext(t), connectTo(t, c), Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan struct{}, jobs)
	staying := work(t, other, domain.LaneIngest, o, func(context.Context, domain.Job) error {
		taken <- struct{}{}
		return nil
	})
	stopped := time.Now()
	leaving.cancel()
	for range jobs {
		receive(t, taken, "a job that was handed back")
	}
	took := time.Since(stopped)
	t.Logf("%d jobs are with another worker %s after the stop", jobs, took.Round(time.Millisecond))
	if took > o.AckWait/6 { // far longer than handing back, but far shorter than the wait for a silent worker
		t.Errorf("handing back took %s", took)
	}
	for range jobs {
		if out := receive(t, staying.outcomes, "an outcome"); out.Result != Done {
			t.Errorf("outcome is %+v: handing back counts as nothing", out)
		}
	}
	leaving.stop(t)
}

func TestADisconnectedWorkerKeepsNoJob(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true, Listen: "127.0.0.1:0", Token: "secret"})
	b := openBroker(t, connect(t, srv), Options{})
	wire := startWire(t, strings.TrimPrefix(srv.URL(), "nats://"))
	conn, err := Connect(testContext(t), ConnectOptions{URL: "nats://" + wire.address(), Token: "secret", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	far, err := Attach(testContext(t), conn, Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	o := WorkerOptions{Concurrency: 1, AckWait: 300 * time.Millisecond}
	var runs atomic.Int32
	handler := func(begun, release chan struct{}) Handler {
		return func(context.Context, domain.Job) error {
			runs.Add(1)
			close(begun)
			<-release
			return nil
		}
	}
	firstBegun, firstRelease := make(chan struct{}), make(chan struct{})
	first := work(t, far, domain.LaneIngest, o, handler(firstBegun, firstRelease))
	publish(t, b, newJob(domain.JobIngest))
	signalled(t, firstBegun, "the first run")
	wire.cut()
	secondBegun, secondRelease := make(chan struct{}), make(chan struct{})
	second := work(t, b, domain.LaneIngest, o, handler(secondBegun, secondRelease))
	signalled(t, secondBegun, "the run elsewhere")
	wire.restore()
	close(firstRelease) // the first run finishes unaware of the second
	if out := receive(t, first.outcomes, "the late outcome"); out.Result != Done {
		t.Errorf("the late outcome is %+v", out)
	}
	close(secondRelease)
	if out := receive(t, second.outcomes, "the other outcome"); out.Result != Done {
		t.Errorf("the other outcome is %+v", out)
	}
	if backlog, err := b.Backlog(testContext(t), domain.LaneIngest); err != nil || backlog != (Backlog{}) || runs.Load() != 2 {
		t.Errorf("after %d runs the backlog is %+v, %v", runs.Load(), backlog, err)
	}
}

// wire simulates the network between a client and a server. It can be cut.
type wire struct {
	listener net.Listener
	target   string
	served   sync.WaitGroup

	mu     sync.Mutex
	broken bool
	conns  map[net.Conn]bool
}

func startWire(t testing.TB, target string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, target: target, conns: map[net.Conn]bool{}}
	w.served.Go(w.serve)
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.served.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) serve() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil || !w.hold(client, server) {
			client.Close()
			if server != nil {
				server.Close()
			}
			continue
		}
		for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			w.served.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

func (w *wire) hold(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		w.conns[c] = true
	}
	return !w.broken
}

// cut closes all connections and refuses new ones.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = true
	for c := range w.conns {
		c.Close()
	}
	clear(w.conns)
}

func (w *wire) restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = false
}
