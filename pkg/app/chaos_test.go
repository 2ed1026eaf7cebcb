package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/milvus"
	"github.com/sluice/sluice/testdata/site"
)

// chaosTime returns how long the chaos lasts: TEST_CHAOS, or half a minute by default.
func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("TEST_CHAOS")
	if text == "" {
		return 30 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("TEST_CHAOS: %v", err)
	}
	return d
}

// entry is a document with its expected state, which is certain once the last request for it has been answered.
type entry struct {
	customID string
	id       string
	version  int  // expected text version
	gone     bool // whether the document was deleted
}

func (e *entry) text(version int) string {
	long := strings.Repeat(fmt.Sprintf("Paragraph of %s about how it is kept, counted and handed on. ", e.customID), 20*(len(e.customID)+version)%100)
	return fmt.Sprintf("This is %s in version %d.\n\n%s", e.customID, version, long)
}

// TestAFleetSurvivesChaos kills and stops all processes in a fleet and every engine behind it, one or two at a time and
// at random moments, while documents are created, replaced and deleted and pages are crawled. In the end, the last
// accepted versions must be searchable, deleted documents must be gone, and the index must contain exactly the
// catalog's rows.
func TestAFleetSurvivesChaos(t *testing.T) {
	const clients = 4
	documents := int(chaosTime(t).Minutes() * 500)
	pace := chaosTime(t) * clients / time.Duration(documents) // spreads the work over the whole time
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	pages := httptest.NewServer(site.Handler())
	defer pages.Close()
	f := newFleet(t, 2)
	store := f.api.newDatastore()

	chaos, end := context.WithTimeout(t.Context(), chaosTime(t))
	defer end()
	// Work begun during the chaos is finished afterwards. No backoff takes longer than five minutes.
	all, cancel := context.WithTimeout(t.Context(), chaosTime(t)+5*time.Minute)
	defer cancel()

	entries := make([]*entry, documents)
	for i := range entries {
		entries[i] = &entry{customID: fmt.Sprintf("doc-%03d", i)}
	}
	var work sync.WaitGroup
	for c := range clients {
		work.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c)))
			next := time.NewTicker(pace)
			defer next.Stop()
			for i := c; i < len(entries); i += clients {
				f.live(all, store, entries, i, random)
				<-next.C
			}
		})
	}
	work.Go(func() {
		for _, path := range []string{"/", "/about.html"} {
			kind := map[bool]string{true: "web_site", false: "web_page"}[path == "/"]
			body := fmt.Sprintf(`{"datastoreId": %q, "type": %q, "name": %q, "config": {"source_url": %q}}`, store, kind, kind, pages.URL+path)
			if err := f.api.once(all, "/datasources", body, nil); err != nil {
				t.Errorf("adding the %s: %v", kind, err)
			}
		}
	})
	blows := f.disturb(chaos, rand.New(rand.NewPCG(seed, 99)))
	work.Wait()
	t.Logf("blows: %v", blows)

	began := time.Now()
	have := f.api.settled(store, 5*time.Minute)
	t.Logf("settled %v after the end of the chaos", time.Since(began).Round(time.Millisecond))
	f.checkEntries(store, entries, have)
	for _, p := range f.processes() {
		if err := p.terminate(); err != nil {
			t.Errorf("the last stop of the %s: %v", p.shape, err)
		}
	}
	f.checkIndex(store)
}

// live adds document i, then replaces or deletes an earlier one.
func (f *fleet) live(ctx context.Context, store string, entries []*entry, i int, random *rand.Rand) {
	f.put(ctx, store, entries[i])
	const clients = 4
	before := entries[i%clients+clients*random.IntN(i/clients+1)] // a client changes only its own documents
	switch dice := random.IntN(10); {
	case before.gone:
	case dice < 4:
		before.version++
		f.put(ctx, store, before)
	case dice < 6:
		before.gone = true
		for {
			err := f.api.callWith(ctx, http.MethodDelete, "/datasources/"+before.id, "application/json", strings.NewReader("{}"), nil)
			if err == nil || refusedWith(err, 404) {
				return
			}
			if !passes(err) || pause(ctx) != nil {
				f.t.Errorf("deleting %s: %v", before.customID, err)
				return
			}
		}
	}
}

// put uploads the entry's current version.
func (f *fleet) put(ctx context.Context, store string, e *entry) {
	body, err := json.Marshal(map[string]any{"documents": []map[string]any{{
		"text": e.text(e.version), "name": e.customID, "metadata": map[string]string{"custom_id": e.customID},
	}}})
	if err != nil {
		f.t.Error(err)
		return
	}
	var answer struct{ IDs []string }
	for {
		err := f.api.callWith(ctx, http.MethodPost, "/api/datastores/upsert/"+store, "application/json", bytes.NewReader(body), &answer)
		if err == nil && len(answer.IDs) == 1 {
			e.id = answer.IDs[0]
			return
		}
		if !passes(err) || pause(ctx) != nil { // otherwise retry: the custom id identifies the document
			f.t.Errorf("putting %s in: %v, %v", e.customID, answer, err)
			return
		}
	}
}

// disturb kills and stops processes and engines until ctx is done, and leaves all of them running. It returns the
// number of disturbances of each kind.
func (f *fleet) disturb(ctx context.Context, random *rand.Rand) map[string]int {
	blows := map[string]int{}
	down := func(minimum, limit int) {
		timer := time.NewTimer(time.Duration(minimum+random.IntN(limit-minimum)) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	strikes := []func() string{
		func() string { return f.strike(f.api, random, down) },
		func() string { return f.strike(f.crawler, random, down) },
		func() string { return f.strike(f.ingestors[random.IntN(len(f.ingestors))], random, down) },
		func() string {
			i := random.IntN(len(f.nats.Servers))
			f.engine("NATS", f.nats.Servers[i].Kill, f.nats.Servers[i].Restart, func() { down(200, 3000) })
			return "NATS server killed"
		},
		func() string {
			f.engine("PostgreSQL", f.postgres.Kill, f.postgres.Restart, func() { down(200, 2000) })
			return "PostgreSQL killed"
		},
		func() string {
			f.engine("Milvus", f.milvus.Kill, f.milvus.Restart, func() { down(200, 2000) })
			return "Milvus killed"
		},
	}
	turn := random.Perm(len(strikes))
	for ctx.Err() == nil {
		if len(turn) == 0 {
			turn = random.Perm(len(strikes)) // so that all kinds are equally frequent
		}
		blows[strikes[turn[0]]()]++
		turn = turn[1:]
		down(200, 1500)
	}
	return blows
}

// strike kills a process or asks it to stop, then restarts it after a while.
func (f *fleet) strike(p *program, random *rand.Rand, down func(minimum, limit int)) string {
	how := "killed"
	if random.IntN(3) == 0 {
		how = "stopped"
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			f.t.Errorf("stopping the %s: %v", p.shape, err)
		}
		select {
		case <-p.exited:
		case <-time.After(30 * time.Second):
			f.t.Errorf("the %s did not stop within 30 s\n%s", p.shape, tail(p.stderr.String(), 3000))
			_ = p.cmd.Process.Kill()
			<-p.exited
		}
		p.exited <- nil
	} else {
		p.kill()
	}
	down(50, 1000)
	p.start()
	return string(p.shape) + " " + how
}

func (f *fleet) engine(name string, kill func() error, restart func(context.Context) error, down func()) {
	if err := kill(); err != nil {
		f.t.Errorf("killing %s: %v", name, err)
	}
	down()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := restart(ctx); err != nil {
		f.t.Errorf("starting %s again: %v", name, err)
	}
}

// checkEntries compares the datasources reported by the service with the accepted documents.
func (f *fleet) checkEntries(store string, entries []*entry, have []source) {
	f.t.Helper()
	byID := map[string]source{}
	for _, s := range have {
		if s.Type != "text" && s.Status != "synched" {
			f.t.Errorf("%s %s ended with status %s: %s", s.Type, s.Name, s.Status, s.Error)
		}
		if s.Type == "text" {
			byID[s.ID] = s
		}
	}
	// If Milvus was killed last, it may take a few more seconds to start.
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	var reads sync.WaitGroup
	checking := make(chan struct{}, 8) // Milvus takes about 50 ms per read, but serves many at once
	for _, e := range entries {
		s, ok := byID[e.id]
		delete(byID, e.id)
		switch {
		case ok && e.gone:
			f.t.Errorf("%s was deleted and is back", e.customID)
		case e.gone:
		case !ok:
			f.t.Errorf("%s was accepted and is lost", e.customID)
		case s.Status != "synched":
			f.t.Errorf("%s ended with status %s: %s", e.customID, s.Status, s.Error)
		default:
			checking <- struct{}{}
			reads.Go(func() {
				defer func() { <-checking }()
				var chunks struct{ Data []struct{ Text string } }
				err := f.api.get("/datasources/"+e.id+"/chunks?limit=200", &chunks)
				for refusedWith(err, http.StatusServiceUnavailable) && pause(ctx) == nil {
					err = f.api.get("/datasources/"+e.id+"/chunks?limit=200", &chunks)
				}
				if err != nil {
					f.t.Error(err)
				} else if want := fmt.Sprintf("%s in version %d.", e.customID, e.version); len(chunks.Data) == 0 || len(chunks.Data) != s.Chunks || !strings.Contains(chunks.Data[0].Text, want) {
					f.t.Errorf("%s is not in version %d: %d of %d chunks, %.100v", e.customID, e.version, len(chunks.Data), s.Chunks, chunks.Data)
				}
			})
		}
	}
	reads.Wait()
	for _, s := range byID {
		f.t.Errorf("%s (%s) is there twice", s.Name, s.CustomID)
	}
}

// checkIndex drains the sweeps and then compares the index with the catalog, row by row. The fleet's processes must not
// be running.
func (f *fleet) checkIndex(store string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	cat, err := catalog.Open(ctx, catalog.Options{URL: f.postgres.URL(), Log: log, Now: time.Now})
	if err != nil {
		f.t.Fatal(err)
	}
	defer cat.Close()
	idx, err := milvus.Open(milvus.Options{Address: f.milvus.Addr(), Log: log})
	if err != nil {
		f.t.Fatal(err)
	}
	defer idx.Close()
	where := controlledEngines{&engines{remote: []remoteEngine{{name: domain.EngineMilvus, remoteIndex: idx}}}}
	sweeper := control.Sweeper{Sweeps: rowsOnly{cat}, Stores: cat, Engines: where, Log: log, Now: time.Now}
	if err := sweeper.Drain(ctx); err != nil {
		f.t.Fatal(err)
	}
	later := func() time.Time { return time.Now().Add(time.Hour) } // otherwise the audit would ignore very recent rows
	auditor := control.Auditor{Catalog: cat, Engines: where, Originals: noOriginals{}, Log: log, Now: later}
	report, err := auditor.Audit(ctx, control.Scope{}, f.t.Logf)
	if err != nil {
		f.t.Fatal(err)
	}
	if report.Missing > 0 {
		f.t.Errorf("%d datasources have not all of their rows", report.Missing)
	}
	// Stray rows are allowed in one case: a run was interrupted, and before its job could run again, a newer job for
	// the datasource overtook it and failed. The audit finds these rows.
	f.t.Logf("the audit found %d rows to sweep", report.StrayRows)
	if err := sweeper.Drain(ctx); err != nil {
		f.t.Fatal(err)
	}
	want, got := map[string]int64{}, map[string]int64{}
	err = cat.EachActive(ctx, store, func(s catalog.ActiveState) error {
		if s.Generation > 0 {
			want[fmt.Sprint(s.DatasourceID, " ", s.Generation)] = s.Chunks
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	spaces, err := idx.Spaces(ctx, store)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, space := range spaces {
		err := idx.Stored(ctx, space, func(s index.Stored) error {
			got[fmt.Sprint(s.DatasourceID, " ", s.Generation)] += s.Rows
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("rows by datasource and generation (-catalog +index):\n%s", diff)
	}
}

// rowsOnly limits sweeps to index rows.
type rowsOnly struct{ *catalog.Catalog }

func (r rowsOnly) Sweeps(ctx context.Context, limit int) ([]catalog.SweepTask, error) {
	tasks, err := r.Catalog.Sweeps(ctx, limit)
	for i := range tasks {
		tasks[i].Originals, tasks[i].Jobs, tasks[i].Crawls = nil, false, 0
	}
	return tasks, err
}
