// Package natsd runs an embedded NATS server with JetStream. By default, it opens no port and syncs every message to
// disk before acknowledging it.
package natsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// ErrInUse means that another process is running a server in the same directory.
var ErrInUse = errors.New("natsd: directory is in use by another process")

// Options configure the server. Only Dir is required.
type Options struct {
	Dir string // created if missing, with mode 0700

	// Listen is the TCP address for other processes, such as "127.0.0.1:4222"; port 0 chooses a free one. If Listen is
	// set, Token must be set as well. Default "": the server opens no port.
	Listen string
	// Token must be presented by every connection, including those from this process. Default "": no token.
	Token string

	// NoSync acknowledges messages before they are synced to disk. They then survive a process crash but not a power
	// loss. Default false: every write is synced first.
	NoSync bool
	// MaxBytes is the maximum size of the store in bytes. Default 0: the file system's free space at startup.
	MaxBytes int64
	// StartTimeout is the time limit for starting, including recovery of the store. Default 30 s.
	StartTimeout time.Duration
	// Log receives the server's warnings and errors. Defaults to slog.Default().
	Log *slog.Logger
}

// maxPayload is the maximum message size in bytes. It is the NATS default, which the limits in package jobs rely on.
const maxPayload = 1 << 20

// Server is a running NATS server. It is safe for concurrent use.
type Server struct {
	opts Options
	log  *logger
	lock *flock.Flock

	mu      sync.Mutex
	srv     *server.Server // nil during a restart; see supervise
	address string         // listen address; "" if there is none

	// stopped is closed once the server from a failed start has stopped, possibly after startOnce has returned. It is
	// nil if no start has failed. Start, supervise and Shutdown use it one after the other, never concurrently.
	stopped         <-chan struct{}
	supervisors     sync.WaitGroup
	stopSupervising context.CancelFunc
	once            sync.Once
	done            chan struct{} // closed when the shutdown is complete
}

// Start starts a server in the directory and returns once it is ready. If the previous process was killed, Start
// recovers the store. It fails with ErrInUse if another process is using the directory.
//
// If the server cannot write to its store because the disk is full or broken, it stops accepting messages. It is
// restarted as soon as the disk accepts writes again; clients reconnect by themselves.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	opts, err := o.server()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the NATS directory: %w", err)
	}
	lock := flock.New(filepath.Join(o.Dir, "lock"))
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("locking the NATS directory: %w", err)
	} else if !ok {
		return nil, fmt.Errorf("%w: %s", ErrInUse, o.Dir)
	}
	s := &Server{opts: o, log: newLogger(o.Log), lock: lock, done: make(chan struct{})}
	if err := s.run(ctx, opts); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	supervising, cancel := context.WithCancel(context.Background())
	s.stopSupervising = cancel
	s.supervisors.Go(func() { s.supervise(supervising) })
	return s, nil
}

const (
	failedStartTimeout = 10 * time.Second // maximum wait for the shutdown after a failed start
	requestsTimeout    = 2 * time.Second  // maximum wait for requests in progress before a shutdown
)

// run removes damaged files and starts a server. Consumers whose files were removed are recreated from checkpoints by
// the processes using them.
func (s *Server) run(ctx context.Context, opts *server.Options) error {
	if err := s.awaitStopped(ctx); err != nil {
		return err
	}
	if err := s.removeDamaged(); err != nil {
		return err
	}
	return s.startOnce(ctx, opts)
}

// awaitStopped waits until the server from a failed start has stopped. Otherwise, that server and the new one would
// write to the same files.
func (s *Server) awaitStopped(ctx context.Context) error {
	if s.stopped == nil {
		return nil
	}
	select {
	case <-s.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("starting the NATS server: the previous one has not stopped: %w", ctx.Err())
	}
}

// startOnce creates a server and waits until it is ready. If that fails, startOnce stops the server. A slow stop
// continues in the background.
func (s *Server) startOnce(ctx context.Context, opts *server.Options) error {
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("creating the NATS server: %w", err)
	}
	s.log.begin()
	srv.SetLoggerV2(s.log, false, false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		srv.Start() // recovers the store and returns
	}()
	if err := s.waitReady(ctx, srv, started); err != nil {
		stopped := make(chan struct{})
		s.stopped = stopped
		go func() {
			defer close(stopped)
			<-started // stopping a server during its start has no effect
			end(srv)
		}()
		timer := time.NewTimer(failedStartTimeout)
		defer timer.Stop()
		select {
		case <-stopped:
		case <-timer.C:
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.srv = srv
	if addr := srv.Addr(); addr != nil {
		s.address = addr.String()
	}
	return nil
}

// waitReady waits for the server to become ready. It returns an error if the server fails or takes too long.
func (s *Server) waitReady(ctx context.Context, srv *server.Server, started <-chan struct{}) error {
	timer := time.NewTimer(s.opts.StartTimeout)
	defer timer.Stop()
	select {
	case <-started:
	case <-timer.C:
		if streams := s.log.unrecovered(); len(streams) > 0 {
			return fmt.Errorf("starting the NATS server: recovering %s in %s has taken longer than %s: the disk is very slow, or the files are damaged; "+
				"restore a backup, or move these streams' directories elsewhere and start again (their content is then lost, but Sluice repairs what it can)",
				strings.Join(streams, ", "), s.opts.Dir, s.opts.StartTimeout)
		}
		return fmt.Errorf("starting the NATS server: not ready after %s", s.opts.StartTimeout)
	case <-ctx.Done():
		return fmt.Errorf("starting the NATS server: %w", ctx.Err())
	}
	if err := s.log.fatal(); err != nil {
		return fmt.Errorf("starting the NATS server: %w", err)
	}
	if !srv.ReadyForConnections(s.opts.StartTimeout) || !srv.JetStreamEnabled() {
		return fmt.Errorf("starting the NATS server: not ready after %s", s.opts.StartTimeout)
	}
	return nil
}

// end waits for requests in progress, such as the creation of a stream, and then stops the server. If a stream were
// still being created at shutdown, it would never be closed and would go on writing to its files even after a restart.
func end(srv *server.Server) {
	for deadline := time.Now().Add(requestsTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		info, err := srv.Jsz(nil)
		if err != nil || info.API.Inflight == 0 {
			break
		}
	}
	srv.Shutdown()
	srv.WaitForShutdown()
}

func (o Options) server() (*server.Options, error) {
	if o.Dir == "" {
		return nil, errors.New("natsd: no directory is set")
	}
	opts := &server.Options{
		ServerName:             "sluice",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               o.Dir,
		SyncAlways:             !o.NoSync,
		JetStreamMaxMemory:     64 << 20, // enough for about 100,000 host states; all other streams are on disk
		JetStreamMaxStore:      o.MaxBytes,
		DisableJetStreamBanner: true,
		MaxPayload:             maxPayload,
		Authorization:          o.Token,
	}
	if o.Listen == "" {
		return opts, nil
	}
	if o.Token == "" {
		return nil, fmt.Errorf("natsd: listening on %s needs a token", o.Listen)
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("natsd: listen address %q: %w", o.Listen, err)
	}
	if opts.Port, err = strconv.Atoi(port); err != nil || opts.Port < 0 || opts.Port > 65535 {
		return nil, fmt.Errorf("natsd: listen address %q: port must be between 0 and 65535", o.Listen)
	}
	opts.Port = cmp.Or(opts.Port, server.RANDOM_PORT)
	opts.Host, opts.DontListen = host, false
	return opts, nil
}

var errRestarting = errors.New("the embedded NATS server is restarting")

// InProcessConn returns a connection without a socket. It fails during a restart.
func (s *Server) InProcessConn() (net.Conn, error) {
	srv := s.current()
	if srv == nil {
		return nil, errRestarting
	}
	return srv.InProcessConn()
}

func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}

// Token returns the token required by the server, or "" if none is.
func (s *Server) Token() string { return s.opts.Token }

// URL returns the address for other processes, or "" if the server does not listen on a port.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == "" {
		return ""
	}
	return "nats://" + s.address
}

// Shutdown stops the server and waits until its files are closed or ctx is done. Calling it twice is safe.
func (s *Server) Shutdown(ctx context.Context) error {
	s.once.Do(func() {
		go func() {
			defer close(s.done)
			s.stopSupervising()
			s.supervisors.Wait()
			if srv := s.current(); srv != nil {
				end(srv)
			}
			if s.stopped != nil {
				<-s.stopped
			}
			_ = s.lock.Unlock() // the lock is released in any case when the process exits
		}()
	})
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopping the NATS server: %w", ctx.Err())
	}
}
