package natsd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	// How often the server is checked and, if broken, restarted.
	checkInterval = time.Second
	// Number of bytes the disk must accept before a restart, enough for the largest message and its overhead.
	probeBytes = 2 << 20
)

// Ready returns nil if the server can store messages. After a failed write, it returns an error until the server has
// been restarted.
func (s *Server) Ready() error {
	srv := s.current()
	switch {
	case srv == nil:
		return errRestarting
	case s.log.isBroken():
		return errors.New("the embedded NATS server could not write to its store; it restarts once the disk accepts writes")
	case !srv.JetStreamEnabled():
		return errors.New("the embedded NATS server has disabled its store; it restarts once the disk accepts writes")
	}
	return nil
}

// Broken returns a channel that is closed once the server can no longer store messages. From then on, the server does
// not acknowledge any messages. After a restart, Broken returns a new channel.
func (s *Server) Broken() <-chan struct{} { return s.log.writeFailed() }

// supervise restarts the server after each failed write until ctx is done, because the server itself never tries to
// write to the store again.
func (s *Server) supervise(ctx context.Context) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	logged, replaced := false, false // whether the current failure was logged, and whether it was errReplaced
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.Ready() == nil {
			logged = false
			continue
		}
		err := s.restart(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			s.opts.Log.Info("restarted the embedded NATS server: the disk accepts writes again")
			logged = false
		case !logged || replaced != errors.Is(err, errReplaced):
			s.opts.Log.Error("the embedded NATS server cannot write to its store; it restarts once the disk accepts writes", "error", err)
			logged, replaced = true, errors.Is(err, errReplaced)
		}
	}
}

// errReplaced means that the path now leads to a different directory.
var errReplaced = errors.New("this path now leads to another disk or directory")

// checkDirectory fails with errReplaced if the directory is no longer the one Start locked, because its disk was
// unmounted or another one was mounted over it. A server started there would find no streams and would create them on
// the wrong disk.
func (s *Server) checkDirectory() error {
	held, err := s.lock.Stat()
	if err != nil {
		return fmt.Errorf("checking the lock on the NATS directory: %w", err)
	}
	if now, err := os.Stat(s.lock.Path()); err != nil || !os.SameFile(held, now) {
		return fmt.Errorf("%s: %w: mount the previous one again, or restart the service to use the new one", s.opts.Dir, errReplaced)
	}
	return nil
}

// restart stops the server and starts a new one if the directory is still the same and its disk accepts writes.
func (s *Server) restart(ctx context.Context) error {
	if err := s.checkDirectory(); err != nil {
		return err
	}
	if err := probe(s.opts.Dir); err != nil {
		return err
	}
	opts, err := s.opts.server()
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := s.srv
	s.srv = nil
	if addr, err := net.ResolveTCPAddr("tcp", s.address); err == nil && s.address != "" {
		opts.Port = addr.Port // keep the port, even a random one, because other processes know it
	}
	s.mu.Unlock()
	if old != nil {
		end(old)
	}
	return s.run(ctx, opts)
}

// probe writes a file to check that the directory's disk accepts writes.
func probe(dir string) (err error) {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return fmt.Errorf("probing the disk: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return fmt.Errorf("probing the disk: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("probing the disk: %w", err)
	}
	return nil
}
