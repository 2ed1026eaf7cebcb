package world

import (
	"cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

// Pages plays crawlers and ingestors: what each address of a site answers, by address. An address that is missing does not
// exist.
type Pages map[string]Answer

// Answer is what a crawler finds at an address.
type Answer struct {
	Content   string // its hash; "": not to be indexed
	Canonical string
	LeadsTo   string // where a redirect ends; "": there is none
	Same      bool   // the server says "not modified" when asked conditionally
	Fails     bool
	Links     []string
	Text      string // by which it is compared with others; "": one that all such pages share, though their content differs
	Hash      string // of the text; "": it is not known
}

// Play publishes what waits and plays workers until nothing follows any more. It returns how many pages were fetched, and
// how many ingest jobs there were.
func (w *World) Play(p Pages) (fetches, ingests int) {
	w.T.Helper()
	for range 200 {
		jobs := w.PublishAll()
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
		if w.Work() == 0 && len(jobs) == 0 {
			return fetches, ingests
		}
	}
	w.T.Fatal("jobs follow from jobs without end")
	return 0, 0
}

// Crawl plays a crawler with one page.
func (w *World) Crawl(j domain.Job, p Pages) {
	w.T.Helper()
	a, exists := p[j.Crawl.URL]
	switch {
	case !exists:
		w.End(j, domain.EventGone, Because(j.Crawl.URL+" does not exist (404)."))
	case a.Fails:
		w.End(j, domain.EventError, Because(j.Crawl.URL+" answers 500."))
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
			w.End(j, domain.EventSkipped, Because("It is not taken."))
			return
		}
		if a.Content == "" {
			w.End(j, domain.EventSkipped, Because("It asks not to be indexed (noindex)."))
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

// Work does all that there is to be done about sites, and returns how many batches that took.
func (w *World) Work() (batches int) {
	w.T.Helper()
	for {
		tasks, err := w.SiteWork(w.Ctx, catalog.SiteTask{}, 10)
		OK(w.T, err)
		if len(tasks) == 0 {
			return batches
		}
		_, err = w.WorkOnSite(w.Ctx, tasks[0])
		OK(w.T, err)
		batches++
	}
}

// Because gives an event a reason.
func Because(reason string) func(*domain.Event) {
	return func(ev *domain.Event) { ev.Error = reason }
}

// Found is a page that was fetched, stored under a key of its own.
func Found(j domain.Job, content string) func(*domain.Event) {
	return func(ev *domain.Event) {
		ev.Fetched = &domain.Fetched{
			Original: domain.Original{Key: domain.NewID(), SHA256: content, MIMEType: "text/html", Size: 9, Name: j.Crawl.URL},
			URL:      j.Crawl.URL, ETag: content,
		}
	}
}

// Single makes a page of its own.
func (w *World) Single(change ...func(*domain.Datasource)) domain.Datasource {
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

// FetchAgain has a datasource fetched again.
func (w *World) FetchAgain(d domain.Datasource) domain.Datasource {
	w.T.Helper()
	job, err := w.NewJob(w.Ctx, d, domain.JobCrawl)
	OK(w.T, err)
	d, err = w.Requeue(w.Ctx, w.WS, d.ID, job, catalog.PriorityFresh)
	OK(w.T, err)
	return d
}

// End plays the end of a published job.
func (w *World) End(j domain.Job, typ domain.EventType, change ...func(*domain.Event)) {
	w.T.Helper()
	ev := j.Event(typ, w.Clock.Now())
	for _, f := range change {
		f(&ev)
	}
	_, err := w.Apply(w.Ctx, ev)
	OK(w.T, err)
}
