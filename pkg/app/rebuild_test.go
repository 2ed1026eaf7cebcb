package app

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func TestTheIndexStatusReportsTheRebuild(t *testing.T) {
	t.Parallel()
	const none, damaged = "there was no index, which is normal after a restore", "the index was damaged or incomplete"
	at := time.Unix(1_000_000, 0)
	busy, idle := catalog.Waiting{Any: true, Queued: 3, InFlight: 2}, catalog.Waiting{Any: true}
	begin := func(r *rebuild) { r.begin(at) }
	alarm := func(r *rebuild) { r.recordDamage(at.Add(time.Second)) }
	audited := func(r *rebuild) { r.auditEnded(at.Add(time.Minute)) }
	for name, c := range map[string]struct {
		happens []func(*rebuild)
		waits   catalog.Waiting
		err     error
		want    string
	}{
		"nothing has happened":                 {waits: busy, want: ""},
		"a new directory":                      {happens: []func(*rebuild){begin}, want: ""},
		"restored, and not looked at":          {happens: []func(*rebuild){begin}, waits: idle, want: none + "; checking which documents are missing"},
		"restored, and the catalog is away":    {happens: []func(*rebuild){begin}, err: errors.New("away"), want: none + "; the number of missing documents is unknown"},
		"restored, and being built":            {happens: []func(*rebuild){begin, audited}, waits: busy, want: none + "; it is being rebuilt: 3 documents are queued, 2 are being processed"},
		"damaged, and not looked at":           {happens: []func(*rebuild){alarm}, waits: busy, want: damaged + "; checking which documents are missing"},
		"restored, then damaged":               {happens: []func(*rebuild){begin, audited, alarm, audited}, waits: busy, want: damaged + "; it is being rebuilt: 3 documents are queued, 2 are being processed"},
		"all is there again":                   {happens: []func(*rebuild){alarm, audited}, waits: idle, want: ""},
		"damaged since the audit before began": {happens: []func(*rebuild){audited, func(r *rebuild) { r.recordDamage(at.Add(time.Hour)) }}, waits: idle, want: damaged + "; checking which documents are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r rebuild
			for _, f := range c.happens {
				f(&r)
			}
			if got := r.status(t.Context(), func(context.Context) (catalog.Waiting, error) { return c.waits, c.err }); got != c.want {
				t.Errorf("the status is %q, want %q", got, c.want)
			}
			if c.want == "" && len(c.happens) > 0 && c.waits.Any {
				busy := func(context.Context) (catalog.Waiting, error) { return busy, nil }
				if got := r.status(t.Context(), busy); strings.Contains(got, "index") {
					t.Errorf("the status is %q, although the documents are new", got)
				}
			}
		})
	}
}

// fakeRemote is an engine that answers readiness checks.
type fakeRemote struct {
	remoteIndex
	lacks string
}

func (f fakeRemote) Ready(context.Context) error           { return nil }
func (f fakeRemote) Lacks(context.Context) (string, error) { return f.lacks, nil }

func TestTheCheckOfARemoteEngineReportsItsRebuild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rebuilding, lacks, want string }{
		{"there was no index", "no words", "there was no index"},
		{"", "no words", "no words"},
		{"", "", ""},
	} {
		e := engines{remote: []remoteEngine{{
			name: domain.EngineMilvus, remoteIndex: fakeRemote{lacks: c.lacks}, rebuilding: func(context.Context) string { return c.rebuilding },
		}}}
		if got := e.checks()[0].Note(t.Context()); got != c.want {
			t.Errorf("the note is %q, want %q", got, c.want)
		}
	}
}

func TestChecksRecordTheirResults(t *testing.T) {
	t.Parallel()
	var fails error
	r := prometheus.NewRegistry()
	checks := recorded(r, []api.Check{{Name: "milvus", Ready: func(context.Context) error { return fails }, Degrades: true}, {Name: "nats", Ready: func(context.Context) error { return nil }}})
	for _, fails = range []error{nil, errors.New("away"), nil} {
		for _, c := range checks {
			if err := c.Ready(t.Context()); (err != nil) != (fails != nil && c.Name == "milvus") {
				t.Errorf("the check of %s returns %v", c.Name, err)
			}
		}
		want := map[string]float64{"milvus": 1, "nats": 1}
		if fails != nil {
			want["milvus"] = 0
		}
		families, err := r.Gather()
		if err != nil || len(families) != 1 {
			t.Fatalf("%d metrics: %v", len(families), err)
		}
		got := map[string]float64{}
		for _, m := range families[0].GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
		if !maps.Equal(got, want) {
			t.Errorf("the metric is %v, want %v", got, want)
		}
	}
}
