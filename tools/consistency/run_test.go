package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/tools/consistency/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// checkServer runs the checker against an in-memory server with a planted fault, until it finds a violation or has made
// all requests.
func checkServer(t *testing.T, fault string, requests int) *run {
	t.Helper()
	srv, urls := start(t, fault)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := settings{stores: 2, seed: 1}
	r, err := s.connect(ctx, urls, []string{"sk_0", "sk_1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-loading.Done():
				return
			case <-tick.C:
			}
			srv.mu.Lock()
			enough := srv.requests > requests
			srv.mu.Unlock()
			if enough || len(r.found()) > 0 {
				stop()
			}
		}
	}()
	r.load(loading, 2, 1)
	if len(r.found()) == 0 {
		if err := r.final(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestTheCommandChecksARunningFleet(t *testing.T) {
	t.Parallel()
	for fault, fails := range map[string]bool{"": false, "lose": true} {
		srv, urls := start(t, fault)
		var out, errs strings.Builder
		err := runCommand(t.Context(), []string{"-url", strings.Join(urls, ","), "-keys", "sk_0,sk_1", "-duration", "1s", "-seed", "3", "-workers", "2"}, &out, &errs)
		if (err != nil) != fails || !strings.Contains(out.String(), "seed 3") || !strings.Contains(out.String(), "operations (") {
			t.Errorf("with the fault %q: %v\n%s%s", fault, err, &out, &errs)
		}
		srv.mu.Lock()
		if kept := len(srv.stores) > 0; kept != fails {
			t.Errorf("with the fault %q, %d datastores are kept", fault, len(srv.stores))
		}
		srv.mu.Unlock()
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-url", "http://127.0.0.1:1"}, {"-keys", "sk_0"}, {"-duration", "0s"}, {"-workers", "0"}, {"-program", "x", "-plant", "early-sweep"}, {"more"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestAConsistentServerHasNoViolation(t *testing.T) {
	t.Parallel()
	r := checkServer(t, "", 4000)
	for _, v := range r.found() {
		t.Errorf("%v", v)
	}
	if r.operations() < 1000 || r.counts["writes"] == 0 || r.counts["deletions"] == 0 || r.counts["final checks"] == 0 {
		t.Errorf("%s", r.summary())
	}
}

func TestPlantedFaultsOfAServerAreFound(t *testing.T) {
	t.Parallel()
	for fault, kinds := range map[string][]model.Kind{
		"lose":                   {model.Lost},
		"lose an update":         {model.Lost},
		"lose the index":         {model.Lost},
		"duplicate":              {model.Duplicated, model.Reverted, model.Resurrected, model.Lost},
		"duplicate by custom id": {model.Duplicated, model.Lost, model.Reverted, model.Resurrected},
		"mix":                    {model.Mixed},
		"cut":                    {model.Mixed},
		"keep the old index":     {model.Reverted, model.Resurrected},
		"resurrect":              {model.Resurrected, model.Mixed, model.Duplicated},
		"leak by id":             {model.Leaked, model.Invented},
		"leak by query":          {model.Leaked, model.Mixed},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			found := checkServer(t, fault, 8000).found()
			if len(found) == 0 {
				t.Fatal("nothing is found")
			}
			if !slices.Contains(kinds, found[0].Kind) {
				t.Errorf("found %v, want one of %v", found[0], kinds)
			}
		})
	}
}
