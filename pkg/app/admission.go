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
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/processors"
)

// Default limits on concurrent requests, per CPU. A query computed in this process takes a few milliseconds of CPU
// time, so higher limits would only slow down every query.
const (
	computedPerProcessor = 4   // searches and answers computed in this process
	awaitedPerProcessor  = 64  // searches and answers that mostly wait for another server, such as an engine or model server
	composedPerProcessor = 256 // answers from chat models, which take seconds to begin
	otherPerProcessor    = 32

	waitingPerPermit   = 8  // maximum queue length per slot; a burst's time-out is long enough to serve that many
	otherTimeoutFactor = 10 // time-out for other requests, as a multiple of the query time-out; no user is waiting
	burstTimeout       = 10 // time-out in a burst, as a multiple of the time-out under sustained load
	burstInterval      = 4  // longest burst, as a multiple of the time-out

	// awaitedShare is admission.Options.Share for requests that mostly wait for other servers or for clients. It limits
	// a workspace to half of the slots while other workspaces send requests. See computedShare for CPU-bound requests.
	awaitedShare = 1
	// aloneTime is how long a workspace must be the only one sending requests before it may use all slots. Uploads are
	// an exception: they can hold a slot for minutes, so no workspace may ever use all of their slots.
	aloneTime = 10 * time.Second
)

// How long ingestion pauses while queries are being refused. It resumes when no query has been refused for the quiet
// time, or after the maximum wait at the latest.
const (
	backpressureQuietTime = 500 * time.Millisecond
	backpressureMaxWait   = 2 * time.Second
)

// admissionGates holds the gates that limit concurrent requests, and the backpressure that pauses ingestion under
// overload.
type admissionGates struct {
	searches, answers, uploads, others *admission.Gate
	backpressure                       *admission.Backpressure
}

func newAdmission(c config.Config, r prometheus.Registerer) *admissionGates {
	count := processors.Count()
	type class struct {
		perProcessor int
		share        float64
		timeout      time.Duration
		alone        time.Duration
	}
	searches := class{computedPerProcessor, computedShare(count, computedPerProcessor, count-1), c.AdmissionWait, aloneTime}
	if c.HasRemoteIndex() || c.ServerEmbedModel() != "" || c.RerankURL != "" {
		searches.perProcessor, searches.share = awaitedPerProcessor, awaitedShare
	}
	answers := searches
	if slices.ContainsFunc(chatProviders(c), chatProvider.configured) {
		answers.perProcessor, answers.share = composedPerProcessor, awaitedShare
	}
	others := class{otherPerProcessor, computedShare(count, otherPerProcessor, count), otherTimeoutFactor * c.AdmissionWait, aloneTime}
	if c.DatabaseURL != "" {
		others.share = awaitedShare
	}
	uploads := class{otherPerProcessor, awaitedShare, otherTimeoutFactor * c.AdmissionWait, 0}
	gate := func(limit int, o class) *admission.Gate {
		limit = cmp.Or(limit, o.perProcessor*count)
		return admission.New(admission.Options{
			Limit: limit, Waiting: waitingPerPermit * limit, Share: o.share, Alone: o.alone,
			OverloadTimeout: o.timeout, Burst: burstTimeout * o.timeout, Interval: burstInterval * o.timeout,
		})
	}
	g := &admissionGates{
		searches: gate(c.LimitSearches, searches), answers: gate(c.LimitAnswers, answers),
		uploads: gate(c.LimitUploads, uploads), others: gate(c.LimitRequests, others),
	}
	stood := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sluice_jobs_stood_back_seconds_total", Help: "Seconds that this process paused its jobs because queries were being rejected.",
	})
	r.MustRegister(stood)
	g.backpressure = &admission.Backpressure{
		Gates: []*admission.Gate{g.searches, g.answers}, QuietTime: backpressureQuietTime, MaxWait: backpressureMaxWait,
		Observe: func(d time.Duration) { stood.Add(d.Seconds()) },
	}
	return g
}

// computedShare returns the admission.Options.Share that limits a workspace to `slots` slots (at least one) while other
// workspaces send requests. For queries, `slots` leaves one CPU free for the other workspaces. Otherwise their requests
// would compete for busy CPUs and might wait 10 ms several times.
func computedShare(processors, perProcessor, slots int) float64 {
	return float64(processors*perProcessor)/float64(max(slots, 1)) - 1
}

func (g *admissionGates) options(c config.Config, r *storageCheck) admit.Options {
	return admit.Options{
		Searches: g.searches, Answers: g.answers, Uploads: g.uploads, Others: g.others, MaxOpen: c.LimitOpen, CheckStorage: r.check,
	}
}

// searchPermits lets the parts of a question be searched concurrently in whatever search slots the workspace has free.
type searchPermits struct{ gate *admission.Gate }

// TryEnter implements retrieve.Permits.
func (p searchPermits) TryEnter(workspace string) (leave func(), ok bool) {
	slot, ok := p.gate.TryEnter(access.WorkspaceFlow(workspace))
	return slot.Leave, ok
}

// storageCheck checks whether more content can be accepted. That requires room for its job in the outbox and room for
// its bytes on the disk.
type storageCheck struct {
	catalog *catalog.Catalog
	dir     string
	jobs    int64
	disk    int64 // 0 means not checked
	log     *slog.Logger

	mu        sync.Mutex
	checkedAt time.Time
	result    error
}

// Check results are reused, so that one check serves many uploads.
const (
	storageCheckInterval = 2 * time.Second
	storageCheckTimeout  = time.Second
)

// check returns an error if content must be rejected. It reuses the last result if that is recent or if another
// goroutine is already checking.
func (r *storageCheck) check(ctx context.Context) error {
	r.mu.Lock()
	due := time.Since(r.checkedAt) > storageCheckInterval
	if due {
		r.checkedAt = time.Now()
	}
	says := r.result
	r.mu.Unlock()
	if !due {
		return says
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storageCheckTimeout)
	defer cancel()
	says = r.inspect(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = says
	return says
}

// inspect checks whether the outbox and the disk have room. If it can't find out, it accepts the content: if something
// really is wrong, storing the content will fail and report the cause.
func (r *storageCheck) inspect(ctx context.Context) error {
	waiting, _, err := r.catalog.OutboxBacklog(ctx)
	switch {
	case err != nil:
		r.log.DebugContext(ctx, "cannot count the waiting jobs", "error", err)
	case waiting >= r.jobs:
		return fmt.Errorf("the queue is full: %d jobs are waiting (SLUICE_LIMIT_WAITING); try again later", waiting)
	}
	if r.disk == 0 {
		return nil
	}
	if free, known := freeBytes(r.dir); known && free < r.disk {
		return fmt.Errorf("the service's disk has less than %d MiB free (SLUICE_LIMIT_DISK): new content is rejected until space is freed", r.disk>>20)
	}
	return nil
}
