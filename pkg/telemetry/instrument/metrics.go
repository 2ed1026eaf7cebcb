package instrument

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/telemetry"
)

// JobMetrics counts the jobs processed here, by outcome.
type JobMetrics struct {
	ended  *prometheus.CounterVec
	failed *prometheus.CounterVec
	took   *prometheus.HistogramVec
}

// NewJobMetrics registers and returns a process's job metrics.
func NewJobMetrics(r prometheus.Registerer) *JobMetrics {
	m := &JobMetrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_jobs_total", Help: "Jobs handled by this process, by kind and result.",
		}, []string{"kind", "result"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_job_errors_total", Help: "Runs of jobs that failed in this process, by kind and cause.",
		}, []string{"kind", "cause"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_job_duration_seconds", Help: "How long jobs ran in this process.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}, []string{"kind"}),
	}
	r.MustRegister(m.ended, m.failed, m.took)
	for _, kind := range []domain.JobKind{domain.JobCrawl, domain.JobIngest, domain.JobScan} {
		m.took.WithLabelValues(string(kind))
		m.failed.WithLabelValues(string(kind), telemetry.Cause(domain.Errorf(domain.CodeUnavailable, "")))
		for _, result := range []jobs.Result{jobs.Done, jobs.Failed, jobs.Retried, jobs.Dead} {
			m.ended.WithLabelValues(string(kind), string(result))
		}
	}
	return m
}

// Observe counts a delivery's outcome.
func (m *JobMetrics) Observe(o jobs.Outcome) {
	m.ended.WithLabelValues(string(o.Kind), string(o.Result)).Inc()
	if cause := telemetry.Cause(o.Err); cause != "" {
		m.failed.WithLabelValues(string(o.Kind), cause).Inc()
	}
	if o.Took > 0 {
		m.took.WithLabelValues(string(o.Kind)).Observe(o.Took.Seconds())
	}
}

// Backlogs is a collector for autoscaling and alerts. On each scrape, it reads the number of waiting jobs and the age
// of the oldest one.
type Backlogs struct {
	broker  *jobs.Broker
	catalog *catalog.Catalog
	now     func() time.Time
	waiting *prometheus.Desc
	taken   *prometheus.Desc
	oldest  *prometheus.Desc
	log     *slog.Logger
}

// scrapeTimeout is the time limit for all of a scrape's reads together.
const scrapeTimeout = 3 * time.Second

// laneOutbox is the lane label's value for jobs that wait in the catalog until the stream has room for them.
const laneOutbox = "outbox"

// NewBacklogs returns the backlog collector.
func NewBacklogs(b *jobs.Broker, c *catalog.Catalog, now func() time.Time, log *slog.Logger) *Backlogs {
	lane := []string{"lane"}
	return &Backlogs{
		broker: b, catalog: c, now: now, log: log,
		waiting: prometheus.NewDesc("sluice_jobs_waiting", "Jobs that no worker has taken yet, by lane of the stream; outbox: jobs that are due but not yet in the stream.", lane, nil),
		taken:   prometheus.NewDesc("sluice_jobs_taken", "Jobs that workers have received but not finished, by lane: running, or waiting for their turn or another attempt.", lane, nil),
		oldest:  prometheus.NewDesc("sluice_jobs_oldest_seconds", "Waiting time of the oldest job that no worker has taken yet, by lane; 0 if none waits.", lane, nil),
	}
}

// Describe implements prometheus.Collector.
func (b *Backlogs) Describe(ch chan<- *prometheus.Desc) {
	ch <- b.waiting
	ch <- b.taken
	ch <- b.oldest
}

// Collect implements prometheus.Collector. It omits values it cannot read.
func (b *Backlogs) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, lane string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, lane)
	}
	for _, lane := range domain.Lanes() {
		n, err := b.broker.Backlog(ctx, lane)
		var since time.Time
		if err == nil {
			since, err = b.broker.Oldest(ctx, lane)
		}
		if err != nil {
			b.log.Debug("cannot count the waiting jobs", "lane", lane, "error", err)
			continue
		}
		gauge(b.waiting, float64(n.Waiting), string(lane))
		gauge(b.taken, float64(n.Taken), string(lane))
		gauge(b.oldest, b.age(since), string(lane))
	}
	due, since, err := b.catalog.OutboxBacklog(ctx)
	if err != nil {
		b.log.Debug("cannot count the jobs in the outbox", "error", err)
		return
	}
	gauge(b.waiting, float64(due), laneOutbox)
	gauge(b.oldest, b.age(since), laneOutbox)
}

func (b *Backlogs) age(since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, b.now().Sub(since).Seconds())
}
