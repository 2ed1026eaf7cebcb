package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/tools/consistency/model"
)

// run is one run of the check.
type run struct {
	tenants []*tenant
	began   time.Time
	out     io.Writer

	mu         sync.Mutex
	counts     map[string]int
	violations []*model.Violation
	stop       context.CancelFunc // called after maxViolations
}

// Number of violations after which a run ends early. Each violation is printed with its history.
const maxViolations = 10

func newRun(tenants []*tenant, out io.Writer) *run {
	return &run{tenants: tenants, began: time.Now(), out: out, counts: map[string]int{}}
}

// close closes idle connections.
func (r *run) close() {
	for _, t := range r.tenants {
		for _, c := range t.clients {
			c.Close()
		}
	}
}

// now returns the time since the run began, on the monotonic clock, which ignores clock jumps.
func (r *run) now() time.Duration { return time.Since(r.began) }

// since returns the interval of an observation that happened at the moment `at`.
func (r *run) since(at time.Duration) model.Interval { return model.Interval{From: at, To: at} }

func (r *run) count(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what] += n
}

// report prints and records the violations in err.
func (r *run) report(err error) {
	if err == nil {
		return
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok { // from errors.Join
		for _, one := range all.Unwrap() {
			r.report(one)
		}
		return
	}
	v, ok := errors.AsType[*model.Violation](err)
	if !ok {
		v = &model.Violation{Kind: model.Refused, What: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) >= maxViolations {
		return
	}
	r.violations = append(r.violations, v)
	fmt.Fprintf(r.out, "\n%v\n", v)
	if len(r.violations) == maxViolations && r.stop != nil {
		r.stop()
	}
}

// found returns the violations so far.
func (r *run) found() []*model.Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.violations)
}

// operations returns the number of operations: the documents' writes and deletions, plus the reads.
func (r *run) operations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts["writes"] + r.counts["deletions"] + r.counts["reads"] + r.counts["trespasses"]
}

// summary returns the counters in one line.
func (r *run) summary() string {
	operations := r.operations()
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, r.counts[name]))
	}
	return fmt.Sprintf("%d operations (%s), %d violations", operations, strings.Join(parts, ", "), len(r.violations))
}

// Time limits once the workers have stopped, and the interval for progress reports.
const (
	settleTimeout = 3 * time.Minute  // for requests in progress
	quietTimeout  = 10 * time.Minute // until everything accepted is searchable; job retries can take minutes
	statusEvery   = 15 * time.Second // interval between progress lines
)

// load runs the workers until the context is done, and returns after their last requests.
func (r *run) load(ctx context.Context, workers int, seed uint64) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.mu.Lock()
	r.stop = stop
	r.mu.Unlock()
	settling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var all sync.WaitGroup
	for t, tenant := range r.tenants {
		for n := range workers {
			w := &worker{
				run: r, tenant: tenant, name: fmt.Sprintf("worker %d of tenant %d", n, t),
				random: rand.New(rand.NewPCG(seed, uint64(t*workers+n))), loose: map[*model.Document]bool{},
			}
			all.Go(func() { w.work(ctx, settling) })
		}
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(r.out, "%6.0fs  %s\n", r.now().Seconds(), r.summary())
		case <-ctx.Done():
			timer := time.NewTimer(settleTimeout)
			defer timer.Stop()
			select {
			case <-ended:
			case <-timer.C:
				cancel()
				<-ended
			}
			return
		}
	}
}
