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
	// mendEvery is how often it is looked whether the server is well, and one that is not is tried to be started again.
	mendEvery = time.Second
	// probeBytes is how much the disk must take before the server is started again: a message of the largest size, and
	// what is written beside it.
	probeBytes = 2 << 20
)

// Ready reports whether the server can store what it is sent. It fails from the first write that the disk refused until
// the server has been started again.
func (s *Server) Ready() error {
	srv := s.current()
	switch {
	case srv == nil:
		return errAway
	case s.log.isBroken():
		return errors.New("the NATS server of this process could not write its store, and waits for the disk")
	case !srv.JetStreamEnabled():
		return errors.New("the NATS server of this process has given up its store, and waits for the disk")
	}
	return nil
}

// Broken is closed once the server can store nothing more: what is sent to it then is not answered. When it is started again
// it has another channel.
func (s *Server) Broken() <-chan struct{} { return s.log.brokenOff() }

// mend starts the server again whenever it has given up writing, until ctx ends. The server itself never tries a store
// again that it once failed to write.
func (s *Server) mend(ctx context.Context) {
	tick := time.NewTicker(mendEvery)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.Ready() == nil {
			told = false
			continue
		}
		err := s.restart(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			s.opts.Log.Info("the NATS server is started again: the disk takes writes")
			told = false
		case !told:
			s.opts.Log.Error("the NATS server cannot write its store; it is started again when the disk takes writes", "error", err)
			told = true
		}
	}
}

// restart stops what is left of the server and starts it again, if the disk takes writes.
func (s *Server) restart(ctx context.Context) error {
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
		opts.Port = addr.Port // also where any would have done: others know it
	}
	s.mu.Unlock()
	if old != nil {
		end(old)
	}
	return s.run(ctx, opts)
}

// probe reports whether the disk below the directory takes a write.
func probe(dir string) (err error) {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return fmt.Errorf("trying the disk: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return fmt.Errorf("trying the disk: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("trying the disk: %w", err)
	}
	return nil
}
