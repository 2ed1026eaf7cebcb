package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/sluice/sluice/tools/local/engines"
)

// commandKeep is the hidden command that `up` runs in the background.
const commandKeep = "keep"

// state describes a directory's keeper, the background process that runs the engines. Other commands read it from
// state.json.
type state struct {
	PID      int      `json:"pid"`
	Settings []string `json:"settings,omitempty"` // NAME=value; set once all engines are ready
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// lockOf returns the lock that a running keeper holds. If it's free, no keeper is running, and any state file is left
// over from an earlier one.
func lockOf(dir string) *flock.Flock { return flock.New(filepath.Join(dir, "lock")) }

// runEngines runs the engines until the context is done.
func runEngines(ctx context.Context, dir string) error {
	lock := lockOf(dir)
	// Other commands hold the lock briefly to check whether a keeper is running, so wait a moment.
	timeout, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(timeout, poll); err != nil {
		return fmt.Errorf("locking %s (another keeper may be using it): %w", dir, err)
	}
	defer func() { _ = lock.Unlock() }()
	defer os.Remove(statePath(dir))

	if err := writeState(dir, state{PID: os.Getpid()}); err != nil {
		return err
	}
	settings, stop, err := startAll(ctx, dir)
	if err != nil {
		return errors.Join(err, stop())
	}
	if err := writeState(dir, state{PID: os.Getpid(), Settings: settings}); err != nil {
		return errors.Join(err, stop())
	}
	<-ctx.Done()
	return stop()
}

// startAll starts all engines concurrently. The returned function stops the ones that started, and must be called even
// if err is not nil.
func startAll(ctx context.Context, dir string) (settings []string, stop func() error, err error) {
	var (
		mu     sync.Mutex
		all    sync.WaitGroup
		faults []error
		ends   []func() error
	)
	began := func(end func() error, setting string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			faults = append(faults, err)
			return
		}
		ends, settings = append(ends, end), append(settings, setting)
	}
	all.Go(func() {
		e, err := engines.StartPostgreSQL(ctx, filepath.Join(dir, "postgresql"), engines.PostgreSQLOptions{})
		if err != nil {
			began(nil, "", err)
			return
		}
		began(e.Stop, "DATABASE_URL="+e.URL(), nil)
	})
	all.Go(func() {
		e, err := engines.StartMilvus(ctx, filepath.Join(dir, "milvus"), engines.MilvusOptions{})
		if err != nil {
			began(nil, "", err)
			return
		}
		began(e.Stop, "MILVUS_ADDR="+e.Addr(), nil)
	})
	all.Go(func() {
		e, err := engines.StartNATS(ctx, filepath.Join(dir, "nats"), engines.NATSOptions{})
		if err != nil {
			began(nil, "", err)
			return
		}
		began(e.Stop, "NATS_URL="+e.URL(), nil)
	})
	all.Wait()
	return settings, func() error {
		errs := make([]error, len(ends))
		var all sync.WaitGroup
		for i, end := range ends {
			all.Go(func() { errs[i] = end() })
		}
		all.Wait()
		return errors.Join(errs...)
	}, errors.Join(faults...)
}

func writeState(dir string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := statePath(dir) + ".tmp"
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return os.Rename(tmp, statePath(dir))
}

// readState returns the keeper's stored state and whether a keeper is running.
func readState(dir string) (s state, alive bool, err error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return state{}, false, nil
	}
	lock := lockOf(dir)
	free, err := lock.TryLock()
	if err != nil {
		return state{}, false, fmt.Errorf("checking whether %s is in use: %w", dir, err)
	}
	if free {
		return state{}, false, lock.Unlock()
	}
	text, err := os.ReadFile(statePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return state{}, true, nil // the keeper has just started or is about to exit
	}
	if err != nil {
		return state{}, true, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, true, fmt.Errorf("reading %s: %w", statePath(dir), err)
	}
	return s, true, nil
}

// Interval at which commands read the keeper's state.
const poll = 50 * time.Millisecond
