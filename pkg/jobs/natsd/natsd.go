// Package natsd runs a NATS server with JetStream inside this process: no port unless one is asked for, every
// acknowledged message on disk.
package natsd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// ErrInUse says that another process runs a server on the same directory.
var ErrInUse = errors.New("natsd: directory is in use by another process")

// Options say where the server keeps its data and who may reach it. Only Dir is required.
type Options struct {
	Dir string // made if missing (0700)

	// Listen opens the server to other processes on this TCP address ("127.0.0.1:4222", port 0 for any). Default
	// "": no port is opened. It needs Token.
	Listen string
	// Token is asked of every connection, those within the process included. Default "": none is asked.
	Token string

	// NoSync leaves writing to disk to the operating system's own time: a message that was acknowledged then
	// survives the end of the process, not the loss of power. Default false: every write is synced before it is
	// acknowledged.
	NoSync bool
	// MaxBytes bounds what is stored. Default 0: as much as the file system has free at start.
	MaxBytes int64
	// StartTimeout bounds the start, recovery of the store included. Default 30 s.
	StartTimeout time.Duration
	// Log takes the server's warnings and errors. Default slog.Default.
	Log *slog.Logger
}

// maxPayload is the largest message in bytes: NATS's own default, which the limits of package jobs are made for.
const maxPayload = 1 << 20

// Server is a running NATS server. It is safe for concurrent use.
type Server struct {
	opts Options
	log  *logger
	lock *flock.Flock

	mu      sync.Mutex
	srv     *server.Server // nil while it is started again, see mend
	address string         // that it listens on, "" if it does not

	// ending is closed when a server that did not start has ended, which may take it longer than is waited for; nil: there was none.
	// It belongs to who starts servers: Start, then mend, then Shutdown.
	ending     <-chan struct{}
	mending    sync.WaitGroup
	stopMended context.CancelFunc
	once       sync.Once
	done       chan struct{} // closed when the shutdown is complete
}

// Start runs a server on the directory and returns when it serves. It fails with ErrInUse if another process holds
// the directory. A store left behind by a killed process is recovered.
//
// A server that could not write its store, because the disk was full or failed, takes nothing more until it is started again.
// That is done here, as soon as the disk takes writes; clients connect again by themselves.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	opts, err := o.server()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the NATS directory: %w", err)
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
	mending, cancel := context.WithCancel(context.Background())
	s.stopMended = cancel
	s.mending.Go(func() { s.mend(mending) })
	return s, nil
}

// failedStartTimeout bounds the shutdown after a start that failed.
const failedStartTimeout = 10 * time.Second

// run starts a server. Consumers whose state is damaged lose it, for until then no server makes them again; who uses them finds them
// gone, and makes them again where they were.
func (s *Server) run(ctx context.Context, opts *server.Options) error {
	if err := s.try(ctx, opts.Clone()); err != nil {
		return err
	}
	damaged := s.log.damagedConsumers()
	if len(damaged) == 0 {
		return nil
	}
	s.mu.Lock()
	srv := s.srv
	s.srv = nil
	s.mu.Unlock()
	end(srv)
	for _, c := range damaged {
		if err := os.RemoveAll(filepath.Join(s.opts.Dir, "jetstream", c.account, "streams", c.stream, "obs", c.name)); err != nil {
			return fmt.Errorf("removing the damaged state of the NATS consumer %s: %w", c.name, err)
		}
		s.opts.Log.Warn("the state of a consumer was damaged and is removed", "stream", c.stream, "consumer", c.name)
	}
	return s.try(ctx, opts)
}

// try makes a server and waits until it serves. One that does not is stopped, in the background if it takes long; no other
// is made before it has ended, for both would write the same files.
func (s *Server) try(ctx context.Context, opts *server.Options) error {
	if s.ending != nil {
		select {
		case <-s.ending:
		case <-ctx.Done():
			return fmt.Errorf("starting the NATS server: the one before has not ended: %w", ctx.Err())
		}
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("making the NATS server: %w", err)
	}
	s.log.begin()
	srv.SetLoggerV2(s.log, false, false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		srv.Start() // recovers the store and returns
	}()
	if err := s.serves(ctx, srv, started); err != nil {
		stopped := make(chan struct{})
		s.ending = stopped
		go func() {
			defer close(stopped)
			<-started // a server that is stopped while it starts does not stop
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

// serves waits until the server serves, says that it cannot, or takes too long.
func (s *Server) serves(ctx context.Context, srv *server.Server, started <-chan struct{}) error {
	timer := time.NewTimer(s.opts.StartTimeout)
	defer timer.Stop()
	select {
	case <-started:
	case <-timer.C:
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

func end(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

func (o Options) server() (*server.Options, error) {
	if o.Dir == "" {
		return nil, errors.New("natsd: no directory is given")
	}
	opts := &server.Options{
		ServerName:             "sluice",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               o.Dir,
		SyncAlways:             !o.NoSync,
		JetStreamMaxMemory:     64 << 20, // of which the states of some 100,000 hosts fit: all other streams lie on disk
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
		return nil, fmt.Errorf("natsd: listen address %q: port must be 0 to 65535", o.Listen)
	}
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	opts.Host, opts.DontListen = host, false
	return opts, nil
}

// errAway says that the server is not there at this moment.
var errAway = errors.New("the NATS server of this process is being started again")

// InProcessConn makes a connection that opens no socket. It fails while the server is started again.
func (s *Server) InProcessConn() (net.Conn, error) {
	srv := s.current()
	if srv == nil {
		return nil, errAway
	}
	return srv.InProcessConn()
}

func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}

// Token returns what the server asks of every connection, "" if nothing.
func (s *Server) Token() string { return s.opts.Token }

// URL returns the address to connect to from other processes, "" if the server does not listen.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == "" {
		return ""
	}
	return "nats://" + s.address
}

// Shutdown ends the server and waits until its files are closed, at most until ctx ends. It may be called twice.
func (s *Server) Shutdown(ctx context.Context) error {
	s.once.Do(func() {
		go func() {
			defer close(s.done)
			s.stopMended()
			s.mending.Wait()
			if srv := s.current(); srv != nil {
				end(srv)
			}
			if s.ending != nil {
				<-s.ending
			}
			_ = s.lock.Unlock() // the lock ends with the process in any case
		}()
	})
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopping the NATS server: %w", ctx.Err())
	}
}
