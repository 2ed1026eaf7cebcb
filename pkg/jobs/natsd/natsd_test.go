package natsd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Log == nil {
		o.Log = quiet
	}
	s, err := Start(testContext(t), o)
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	t.Cleanup(func() { shutdown(t, s) })
	return s
}

func shutdown(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Shutdown(testContext(t)); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("no port is opened unless asked for", func(t *testing.T) {
		t.Parallel()
		s := start(t, Options{})
		if s.URL() != "" {
			t.Errorf("the server listens on %s", s.URL())
		}
		nc, err := nats.Connect("", nats.InProcessServer(s))
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
	})
	t.Run("a server that listens asks for its token", func(t *testing.T) {
		t.Parallel()
		s := start(t, Options{Listen: "127.0.0.1:0", Token: "secret"})
		for name, opts := range map[string][]nats.Option{"no token": nil, "a wrong token": {nats.Token("guess")}} {
			if nc, err := nats.Connect(s.URL(), opts...); err == nil {
				nc.Close()
				t.Errorf("%s was let in", name)
			}
		}
		for _, opts := range [][]nats.Option{{}, {nats.InProcessServer(s)}} {
			nc, err := nats.Connect(s.URL(), append(opts, nats.Token(s.Token()))...)
			if err != nil {
				t.Fatal(err)
			}
			nc.Close()
		}
	})
	t.Run("options that cannot be are refused", func(t *testing.T) {
		t.Parallel()
		for name, o := range map[string]Options{
			"no directory":           {},
			"listening for everyone": {Dir: "x", Listen: "127.0.0.1:0"},
			"no port":                {Dir: "x", Listen: "127.0.0.1", Token: "t"},
			"a port out of range":    {Dir: "x", Listen: "127.0.0.1:70000", Token: "t"},
			"a port with a name":     {Dir: "x", Listen: "127.0.0.1:http", Token: "t"},
		} {
			o.Log = quiet
			if s, err := Start(testContext(t), o); err == nil {
				shutdown(t, s)
				t.Errorf("%s: started", name)
			}
		}
	})
	t.Run("an address in use is an error that says so", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, err = Start(testContext(t), Options{Dir: t.TempDir(), Listen: l.Addr().String(), Token: "t", Log: quiet})
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("a directory serves one server at a time", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := start(t, Options{Dir: dir})
		if _, err := Start(testContext(t), Options{Dir: dir, Log: quiet}); !errors.Is(err, ErrInUse) {
			t.Errorf("error is %v, want ErrInUse", err)
		}
		shutdown(t, first)
		start(t, Options{Dir: dir})
	})
	t.Run("stopping twice and at once is one stop", func(t *testing.T) {
		t.Parallel()
		s := start(t, Options{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { shutdown(t, s) })
		}
		all.Wait()
	})
	t.Run("a stop is bounded", func(t *testing.T) {
		t.Parallel()
		s := start(t, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		shutdown(t, s) // the shutdown continues in the background and completes
	})
	t.Run("a start that was called off leaves the directory free", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if s, err := Start(ctx, Options{Dir: dir, Log: quiet}); err == nil {
			shutdown(t, s) // the start was faster than the cancellation
		}
		start(t, Options{Dir: dir})
	})
}

// BenchmarkStart measures how long a server with an empty store takes to start, and the heap size afterwards.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(testContext(b), Options{Dir: b.TempDir(), Log: quiet})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc), "heap-B")
		shutdown(b, s)
		b.StartTimer()
	}
}

func TestWritesAreSyncedByDefault(t *testing.T) {
	t.Parallel()
	for noSync, want := range map[bool]bool{false: true, true: false} {
		opts, err := Options{Dir: "x", NoSync: noSync}.server()
		if err != nil || opts.SyncAlways != want {
			t.Errorf("NoSync %t: every write is synced: %t, %v", noSync, opts.SyncAlways, err)
		}
	}
}

func TestLogDropsIrrelevantWarnings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
	l.Noticef("Starting %s", "nats-server")
	l.Debugf("x")
	l.Tracef("y")
	l.Warnf("Filestore [%s] Stream state too short", "JOBS")
	if out.Len() != 0 {
		t.Errorf("said: %s", out.String())
	}
	if err := l.fatal(); err != nil {
		t.Errorf("fatal error is %v before there was any", err)
	}
	l.Warnf("JetStream is out of %s", "space")
	l.Errorf("disk %d", 1)
	for _, want := range []string{`level=WARN msg="NATS server" detail="JetStream is out of space"`, `level=ERROR msg="NATS server" detail="disk 1"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in: %s", want, out.String())
		}
	}
	if err := l.fatal(); err != nil {
		t.Errorf("an error is taken as fatal: %v", err)
	}
	l.Fatalf("disk %d", 2)
	l.Fatalf("and so on")
	if err := l.fatal(); err == nil || err.Error() != "disk 2" {
		t.Errorf("fatal error is %v", err)
	}
}

func TestAFailedServerStopsBeforeTheNextStarts(t *testing.T) {
	t.Parallel()
	o := Options{Dir: t.TempDir(), Log: quiet, StartTimeout: 30 * time.Second}
	opts, err := o.server()
	if err != nil {
		t.Fatal(err)
	}
	ending := make(chan struct{})
	s := &Server{opts: o, log: newLogger(quiet), stopped: ending}
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	err = s.run(hurried, opts)
	files, readErr := os.ReadDir(o.Dir)
	if !errors.Is(err, context.Canceled) || readErr != nil || len(files) > 0 {
		t.Errorf("%v; the directory has %v, %v", err, files, readErr)
	}
	close(ending)
	if err := s.run(testContext(t), opts); err != nil {
		t.Fatal(err)
	}
	end(s.current())
}

// TestAStreamBeingCreatedIsClosed stops servers while they are creating a stream. TestMain detects any stream left
// open.
func TestAStreamBeingCreatedIsClosed(t *testing.T) {
	t.Parallel()
	for range 5 {
		srv, err := Start(testContext(t), Options{Dir: t.TempDir(), Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect("", nats.InProcessServer(srv))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"A", "B", "C"} {
			err := nc.PublishRequest("$JS.API.STREAM.CREATE."+name, "reply", []byte(`{"name":"`+name+`","subjects":["`+name+`"],"storage":"file"}`))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil { // the server has received the requests
			t.Fatal(err)
		}
		nc.Close()
		if err := srv.Shutdown(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
}
