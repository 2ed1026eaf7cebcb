package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/processors"
)

// What one processor is trusted with at once, unless the settings say otherwise. A query that is computed in this process
// takes a few milliseconds of a processor: more of them at once would only make each slower.
const (
	computedPerProcessor = 4   // queries
	awaitedPerProcessor  = 64  // queries that wait for an engine or a model server most of their time
	composedPerProcessor = 256 // answers of chat models, which take seconds to begin
	otherPerProcessor    = 32

	waitingPerPlace = 8  // requests that wait, for each that may be worked on: about what is worked off within the patience of a burst
	calmer          = 10 // times as patient as queries other requests are: nobody looks at a screen for them
	burstPatience   = 10 // times as long one waits in a burst
	burstInterval   = 4  // times the patience is how long a burst can last
)

// How ingestion stands back while queries are refused.
const (
	courtesyQuiet    = 500 * time.Millisecond
	courtesyPatience = 2 * time.Second
)

// admissionGates are what requests are let in by, and the courtesy of ingestion towards them.
type admissionGates struct {
	searches, answers, uploads, others *admission.Gate
	courtesy                           *admission.Courtesy
}

func newAdmission(c config.Config, r prometheus.Registerer) *admissionGates {
	count := processors.Count()
	searches, answers := computedPerProcessor, computedPerProcessor
	if c.HasRemoteIndex() || c.EmbedModel != "" || c.RerankURL != "" {
		searches, answers = awaitedPerProcessor, awaitedPerProcessor
	}
	if slices.ContainsFunc(chatProviders(c), chatProvider.configured) {
		answers = composedPerProcessor
	}
	gate := func(limit, perProcessor int, patience time.Duration) *admission.Gate {
		limit = cmp.Or(limit, perProcessor*count)
		return admission.New(admission.Options{
			Limit: limit, Waiting: waitingPerPlace * limit,
			Patience: patience, Burst: burstPatience * patience, Interval: burstInterval * patience,
		})
	}
	g := &admissionGates{
		searches: gate(c.LimitSearches, searches, c.AdmissionWait), answers: gate(c.LimitAnswers, answers, c.AdmissionWait),
		uploads: gate(c.LimitUploads, otherPerProcessor, calmer*c.AdmissionWait), others: gate(c.LimitRequests, otherPerProcessor, calmer*c.AdmissionWait),
	}
	stood := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sluice_jobs_stood_back_seconds_total", Help: "Seconds that jobs of this process stood back because queries were being refused.",
	})
	r.MustRegister(stood)
	g.courtesy = &admission.Courtesy{
		Gates: []*admission.Gate{g.searches, g.answers}, Quiet: courtesyQuiet, Patience: courtesyPatience,
		Observe: func(d time.Duration) { stood.Add(d.Seconds()) },
	}
	return g
}

func (g *admissionGates) of(c config.Config, r *room) admit.Options {
	return admit.Options{
		Searches: g.searches, Answers: g.answers, Uploads: g.uploads, Others: g.others, MaxOpen: c.LimitOpen, Room: r.check,
	}
}

// room says whether there is room for more content: for its jobs in the outbox, and for its bytes on the disk.
type room struct {
	catalog *catalog.Catalog
	dir     string
	jobs    int64
	disk    int64 // 0: nobody looks
	log     *slog.Logger

	mu    sync.Mutex
	asked time.Time
	says  error
}

// What is known of the room is good for a moment: a crowd of uploads costs one look.
const (
	roomFresh = 2 * time.Second
	roomLook  = time.Second
)

// check returns why there is no room, nil when there is. While somebody looks, what was found before counts.
func (r *room) check(ctx context.Context) error {
	r.mu.Lock()
	due := time.Since(r.asked) > roomFresh
	if due {
		r.asked = time.Now()
	}
	says := r.says
	r.mu.Unlock()
	if !due {
		return says
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roomLook)
	defer cancel()
	says = r.look(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.says = says
	return says
}

// look finds out. What cannot be found out is no reason to refuse: storing the upload will tell.
func (r *room) look(ctx context.Context) error {
	waiting, _, err := r.catalog.OutboxBacklog(ctx)
	switch {
	case err != nil:
		r.log.DebugContext(ctx, "counting the jobs that wait", "error", err)
	case waiting >= r.jobs:
		return fmt.Errorf("%d jobs wait to be done, as many as may (SLUICE_LIMIT_WAITING); try again when some are", waiting)
	}
	if r.disk == 0 {
		return nil
	}
	if free, known := freeBytes(r.dir); known && free < r.disk {
		return fmt.Errorf("the service's disk has less than %d MiB left (SLUICE_LIMIT_DISK); nothing more is taken until there is room", r.disk>>20)
	}
	return nil
}
