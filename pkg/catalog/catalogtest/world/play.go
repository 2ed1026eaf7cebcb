package world

import (
	"cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

// Pages maps the addresses of a simulated web to their responses. No other addresses exist.
type Pages map[string]Answer

// Answer is the result of fetching an address.
type Answer struct {
	Content   string // hash of the content; "" if the page must not be indexed
	Canonical string
	LeadsTo   string // where redirects lead; "" if there are none
	Same      bool   // the server answers "not modified" to conditional requests
	Fails     bool
	Links     []string
	Text      string // text for comparisons; pages with "" share the same text even if their content differs
	Hash      string // hash of the text; "" if unknown
}

// If there are at least eventBatch jobs, RunWorkers applies their events in batches of eventBatch, the applier's
// maximum. Otherwise, it applies them one at a time.
const eventBatch = 64

// RunWorkers publishes and runs jobs until none are left. It returns the number of page fetches and ingest jobs.
func (w *World) RunWorkers(p Pages) (fetches, ingests int) {
	w.T.Helper()
	for range 200 {
		jobs := w.PublishAll()
		w.batched = len(jobs) >= eventBatch
		for _, j := range jobs {
			switch {
			case j.Kind == domain.JobIngest:
				ingests++
				w.End(j, domain.EventSynched, Chunks(2))
			case j.Type == domain.TypeWebPage:
				fetches++
				w.Crawl(j, p)
			}
		}
		w.applyBatch()
		w.batched = false
		if w.WorkOnSites() == 0 && len(jobs) == 0 {
			return fetches, ingests
		}
	}
	w.T.Fatal("jobs follow from jobs without end")
	return 0, 0
}

// Crawl simulates a crawler fetching one page.
func (w *World) Crawl(j domain.Job, p Pages) {
	w.T.Helper()
	a, exists := p[j.Crawl.URL]
	switch {
	case !exists:
		w.End(j, domain.EventGone, WithReason(j.Crawl.URL+" does not exist (404)."))
	case a.Fails:
		w.End(j, domain.EventError, WithReason(j.Crawl.URL+" answers 500."))
	case a.Same && j.Crawl.ETag != "":
		w.End(j, domain.EventUnchanged)
	default:
		if follow := j.Crawl.Site != nil && j.Crawl.Site.Follow; follow || len(a.Links) > 0 {
			w.End(j, domain.EventDiscovered, Links(a.Links...), func(ev *domain.Event) {
				for i := range ev.Links {
					ev.Links[i].Depth = j.Crawl.Depth + 1
				}
				if follow {
					ev.Parts = 1
				}
			})
		}
		if s := j.Crawl.Site; s != nil && s.Refuses(s.Patterns(), j.Crawl.URL, j.Crawl.Depth) != "" {
			w.End(j, domain.EventSkipped, WithReason("It is not taken."))
			return
		}
		if a.Content == "" {
			w.End(j, domain.EventSkipped, WithReason("It is marked noindex."))
			return
		}
		w.End(j, domain.EventFetched, Found(j, a.Content), func(ev *domain.Event) {
			ev.Fetched.Canonical, ev.Fetched.LinksKnown = a.Canonical, j.Crawl.Site != nil && j.Crawl.Site.Follow
			ev.Fetched.TextHash = a.Hash
			ev.Fetched.Sketch = textid.Sketch(cmp.Or(a.Text, "of one kind"))
			if a.LeadsTo != "" {
				ev.Fetched.URL = a.LeadsTo
			}
		})
	}
}

// WorkOnSites does all queued site work and returns the number of batches.
func (w *World) WorkOnSites() (batches int) {
	w.T.Helper()
	for {
		tasks := Must(w.SiteWork(w.Ctx, catalog.SiteTask{}, 10))(w.T)
		if len(tasks) == 0 {
			return batches
		}
		Must(w.WorkOnSite(w.Ctx, tasks[0]))(w.T)
		batches++
	}
}

// WithReason returns a function that sets an event's error text.
func WithReason(reason string) func(*domain.Event) {
	return func(ev *domain.Event) { ev.Error = reason }
}

// Found returns a function that makes an event report that job j fetched a page with this content. The page gets a new
// original.
func Found(j domain.Job, content string) func(*domain.Event) {
	return func(ev *domain.Event) {
		ev.Fetched = &domain.Fetched{
			Original: domain.Original{Key: domain.NewID(), SHA256: content, MIMEType: "text/html", Size: 9, Name: j.Crawl.URL},
			URL:      j.Crawl.URL, ETag: content,
		}
	}
}

// CreatePage creates a page that belongs to no site.
func (w *World) CreatePage(change ...func(*domain.Datasource)) domain.Datasource {
	w.T.Helper()
	d := domain.Datasource{
		ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebPage, Name: PageA,
		Config: domain.DatasourceConfig{SourceURL: PageA},
	}
	for _, f := range change {
		f(&d)
	}
	return w.Create(catalog.NewDatasource{Datasource: d, Job: domain.NewCrawlJob(d, w.Settled())})[0]
}

// FetchAgain queues another fetch of a datasource.
func (w *World) FetchAgain(d domain.Datasource) domain.Datasource {
	w.T.Helper()
	job := Must(w.NewJob(w.Ctx, d, domain.JobCrawl))(w.T)
	d = Must(w.Requeue(w.Ctx, w.WS, d.ID, job, catalog.PriorityFresh))(w.T)
	return d
}

// End simulates the end of a published job.
func (w *World) End(j domain.Job, typ domain.EventType, change ...func(*domain.Event)) {
	w.T.Helper()
	ev := j.Event(typ, w.Clock.Now())
	for _, f := range change {
		f(&ev)
	}
	if !w.batched {
		Must(w.Apply(w.Ctx, ev))(w.T)
		return
	}
	if w.events = append(w.events, ev); len(w.events) == eventBatch {
		w.applyBatch()
	}
}

// applyBatch applies the collected events in one transaction.
func (w *World) applyBatch() {
	w.T.Helper()
	if len(w.events) > 0 {
		Must(w.ApplyAll(w.Ctx, w.events))(w.T)
		w.events = nil
	}
}
