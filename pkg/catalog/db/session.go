package db

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sluice/sluice/pkg/sleep"
)

// sessionOptions holds a session's callbacks.
type sessionOptions struct {
	log *slog.Logger
	// begin is called for every new connection. If it fails, the session closes the connection and retries after a
	// pause.
	begin func(ctx context.Context, conn *pgx.Conn) error
	// notice is called with each notification's text. May be nil if none are expected.
	notice func(text string)
	// lost is called when a connection breaks after begin succeeded.
	lost func(err error)
}

// session keeps a dedicated PostgreSQL connection open, for listening and for connection-level locks. A goroutine owns
// the connection and reconnects when it breaks.
type session struct {
	o         sessionOptions
	cfg       *pgx.ConnConfig
	attempted chan struct{} // closed after the first attempt to connect, successful or not
	stop      func()        // ends the goroutine and waits for it
}

// Pause before a session reconnects.
const sessionRetry = time.Second

func startSession(cfg *pgx.ConnConfig, o sessionOptions) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{o: o, cfg: cfg, attempted: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() { s.run(ctx) })
	s.stop = func() {
		cancel()
		running.Wait()
	}
	return s
}

func (s *session) run(ctx context.Context) {
	var once sync.Once
	tried := func() { once.Do(func() { close(s.attempted) }) }
	defer tried()
	for {
		err := s.keepOpen(ctx, tried)
		if ctx.Err() != nil {
			return
		}
		s.o.log.DebugContext(ctx, "the connection to the catalog's database ended; reconnecting", "error", err)
		if sleep.For(ctx, sessionRetry) != nil {
			return
		}
	}
}

// keepOpen opens a connection and returns when the connection breaks or ctx is done. It calls tried once it has tried
// to connect, whether or not that succeeded.
func (s *session) keepOpen(ctx context.Context, tried func()) error {
	conn, err := s.open(ctx)
	tried()
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		_ = conn.Close(closing) // it may already be broken
	}()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			s.o.lost(err)
			return err
		}
		if s.o.notice != nil {
			s.o.notice(n.Payload)
		}
	}
}

func (s *session) open(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.cfg.Copy())
	if err != nil {
		return nil, err
	}
	if err := s.o.begin(ctx, conn); err != nil {
		_ = conn.Close(ctx) // it was not used
		return nil, err
	}
	return conn, nil
}
