// Command consistency checks a fleet while faults are injected. Workers in several workspaces write, update, delete and
// query documents over the REST API and compare every answer with the document's history. At the end, the command also
// compares the complete content. Nothing may be lost, duplicated, mixed, resurrected or leaked.
//
//	consistency [flags]                            start a fleet on this machine and inject faults
//	consistency -url URL[,URL…] -keys KEY[,KEY…]   check a running fleet, with one key for each workspace
//
// The first form needs the source code in the working directory. The seed determines all of the workers' choices and
// the faults, but not the timing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/tools/consistency/fleet"
	"github.com/sluice/sluice/tools/internal/bench"
	"github.com/sluice/sluice/tools/local/engines"
)

func main() {
	engines.RunChildIfAsked()
	bench.Main("consistency", runCommand)
}

// settings holds the command's flags.
type settings struct {
	duration                 time.Duration
	seed                     uint64
	tenants, stores, workers int
	apis, ingestors          int
	urls, keys               []string
	faults                   []string
	hook, program, planted   string
	dir                      string
	keep                     bool
}

func parse(args []string, errs io.Writer) (settings, error) {
	s := settings{}
	f := bench.NewFlags("consistency", errs)
	f.DurationVar(&s.duration, "duration", 5*time.Minute, "how long the workers make requests")
	f.Uint64Var(&s.seed, "seed", 0, "seed of all choices; 0: a random one, which is printed")
	f.IntVar(&s.tenants, "tenants", 3, "workspaces of a fleet on this machine")
	f.IntVar(&s.stores, "stores", 2, "datastores of each workspace")
	f.IntVar(&s.workers, "workers", 6, "workers of each workspace")
	f.IntVar(&s.apis, "apis", 2, "api processes of a fleet on this machine")
	f.IntVar(&s.ingestors, "ingestors", 2, "ingestors of a fleet on this machine")
	f.List(&s.urls, "url", "", "", "addresses of the api processes of a running fleet, which is not struck with faults")
	f.List(&s.keys, "keys", "CONSISTENCY_KEYS", "", "API keys with permission to write, one for each workspace")
	f.List(&s.faults, "faults", "", "", "parts of the names of the faults to use, or none")
	f.StringVar(&s.hook, "hook", "", "program that is called with strike and heal in turn, as a further fault, such as a power loss")
	f.StringVar(&s.program, "program", "", "the service's program; default: built from the source code, with a clock that can jump")
	f.StringVar(&s.planted, "plant", "", "fault to build into the program: "+strings.Join(fleet.Planted(), ", "))
	f.StringVar(&s.dir, "dir", "", "directory for the data of the fleet; default: a temporary one")
	f.BoolVar(&s.keep, "keep", false, "keep the data: the fleet's directory, or the datastores that were created in a running fleet")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case (len(s.urls) == 0) != (len(s.keys) == 0):
		return s, errors.New("-url and -keys belong together")
	case s.duration <= 0 || s.tenants < 1 || s.stores < 1 || s.workers < 1 || s.apis < 1 || s.ingestors < 1:
		return s, errors.New("-duration, -tenants, -stores, -workers, -apis and -ingestors must be positive")
	case s.program != "" && s.planted != "":
		return s, errors.New("-plant builds the program, so it cannot be used with -program")
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	return s, nil
}

func runCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	out = &lockedWriter{out: out}
	fmt.Fprintf(out, "seed %d\n", s.seed)
	var r *run
	if len(s.urls) > 0 {
		r, err = s.checkRunning(ctx, out)
	} else {
		r, err = s.checkLocal(ctx, out)
	}
	if r != nil {
		defer r.close()
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, r.summary())
	if n := len(r.found()); n > 0 {
		return fmt.Errorf("%d violations; -seed %d repeats the choices of this run", n, s.seed)
	}
	return nil
}

// connect connects to the fleet and creates the run's datastores.
func (s settings) connect(ctx context.Context, urls, keys []string, out io.Writer) (*run, error) {
	var tenants []*tenant
	for i, key := range keys {
		t, err := newTenant(i, urls, key)
		if err != nil {
			return nil, err
		}
		if err := t.createStores(ctx, s.stores, fmt.Sprint(s.seed)); err != nil {
			return nil, err
		}
		tenants = append(tenants, t)
	}
	return newRun(tenants, out), nil
}

// checkRunning checks a fleet that was already running. The only fault it can inject is the external hook program.
func (s settings) checkRunning(ctx context.Context, out io.Writer) (*run, error) {
	r, err := s.connect(ctx, s.urls, s.keys, out)
	if err != nil {
		return nil, err
	}
	var faults []fleet.Fault
	if s.hook != "" {
		faults = append(faults, fleet.Command(s.hook))
	}
	err = s.check(ctx, r, faults, nil)
	if s.keep || len(r.found()) > 0 {
		fmt.Fprintf(out, "the datastores of this run are kept; their names begin with %q\n", fmt.Sprintf("consistency %d", s.seed))
	} else {
		for _, t := range r.tenants {
			err = errors.Join(err, t.deleteStores(context.WithoutCancel(ctx)))
		}
	}
	return r, err
}

// checkLocal starts a fleet and checks it.
func (s settings) checkLocal(ctx context.Context, out io.Writer) (r *run, err error) {
	dir := s.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "sluice-consistency-"); err != nil {
			return nil, err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if s.keep || r == nil || len(r.found()) > 0 {
			fmt.Fprintf(out, "the data and the logs of the fleet are in %s\n", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	o := fleet.Options{Program: s.program, Dir: dir, APIs: s.apis, Ingestors: s.ingestors, Tenants: s.tenants, Out: out}
	if s.program == "" {
		var planted []string
		if s.planted != "" {
			planted = []string{s.planted}
		}
		if o.Program, err = fleet.Build(ctx, dir, planted...); err != nil {
			return nil, err
		}
		o.Clock = filepath.Join(dir, "clock")
	}
	f, err := fleet.Start(ctx, o)
	defer func() { err = errors.Join(err, f.Stop()) }()
	if err != nil {
		return nil, err
	}
	if r, err = s.connect(ctx, f.URLs(), f.Keys(), out); err != nil {
		return nil, err
	}
	faults := f.Faults()
	if s.hook != "" {
		faults = append(faults, fleet.Command(s.hook))
	}
	return r, s.check(ctx, r, chosen(faults, s.faults), f)
}

// chosen returns the faults whose names contain one of `parts`, or all of them if `parts` is empty.
func chosen(faults []fleet.Fault, parts []string) []fleet.Fault {
	if len(parts) == 0 {
		return faults
	}
	return slices.DeleteFunc(faults, func(f fleet.Fault) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(f.Name, part) })
	})
}

// check runs the workers while injecting faults, and then the final checks. `f` is nil if the fleet runs elsewhere.
func (s settings) check(ctx context.Context, r *run, faults []fleet.Fault, f *fleet.Fleet) error {
	loading, stop := context.WithTimeout(ctx, s.duration)
	defer stop()
	var strikes map[string]int
	var failed error
	var disturbing sync.WaitGroup
	disturbing.Go(func() {
		strikes, failed = fleet.Disturb(loading, faults, rand.New(rand.NewPCG(s.seed, 1<<32)), r.out, r.began)
		if failed != nil {
			stop()
		}
	})
	r.load(loading, s.workers, s.seed)
	stop() // in case the load ended early
	disturbing.Wait()
	fmt.Fprintf(r.out, "%8.3fs  the load has ended: %s\n", r.now().Seconds(), r.summary())
	if len(faults) > 0 {
		fmt.Fprintf(r.out, "strikes: %v\n", strikes)
	}
	if failed != nil {
		return fmt.Errorf("faults: %w", failed)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f != nil {
		if err := f.WaitReady(ctx); err != nil {
			return err
		}
		if ended := f.Ended(); len(ended) > 0 {
			fmt.Fprintf(r.out, "processes that ended unexpectedly and were restarted: %v\n", ended)
		}
	}
	if err := r.final(ctx); err != nil {
		return fmt.Errorf("final checks: %w", err)
	}
	fmt.Fprintf(r.out, "%8.3fs  the final checks have ended\n", r.now().Seconds())
	return nil
}

// lockedWriter serialises the lines written by the workers and the fault injection.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}
