//go:build unix

package catalog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// BenchmarkSite measures the catalog's CPU time per page for each step of two crawls of a site. In the first crawl, all
// pages are new; in the second, they are unchanged. Afterwards, the pages are moved to another place, withdrawn,
// removed, and deleted with their site. The time per page must not depend on the number of pages.
func BenchmarkSite(b *testing.B) {
	for _, pages := range []int{5_000, 50_000} {
		b.Run(fmt.Sprint(pages, " pages"), func(b *testing.B) {
			for b.Loop() {
				crawlTwice(b, pages)
			}
		})
	}
}

func crawlTwice(b *testing.B, pages int) {
	b.Helper()
	s := newBenchSite(b, pages)
	s.timed("discover", s.discover)
	s.timed("publish", s.publish)
	s.timed("fetched", func() { s.end(domain.EventFetched) })
	s.timed("publish-ingest", s.publish)
	s.timed("synched", func() { s.end(domain.EventSynched) })
	s.begin()
	s.timed("discover-again", s.discover)
	s.timed("publish-again", s.publish)
	s.timed("unchanged", func() { s.end(domain.EventUnchanged) })
	s.timed("move", s.move)
	s.begin()
	s.discover()
	s.timed("stop", func() {
		if _, err := s.c.StopCrawl(s.ctx, "ws", s.site); err != nil {
			b.Fatal(err)
		}
	})
	d, err := s.c.Datasource(s.ctx, "ws", s.site)
	if err != nil || d.Status != domain.StatusSynched || d.Progress.Total != int64(pages) {
		b.Fatal(d, err)
	}
	s.begin()
	s.pages = domain.MaxLinksPerEvent
	s.discover()
	s.pages = pages
	s.timed("remove", s.work)
	if progress, err := s.c.SiteProgress(s.ctx, s.site); err != nil || progress[s.site].Discovered != domain.MaxLinksPerEvent {
		b.Fatal(progress, err)
	}
	s.publish()
	s.jobs, s.pages = nil, pages
	s.begin()
	s.discover()
	s.timed("delete", func() {
		if _, err := s.c.DeleteDatasource(s.ctx, "ws", s.site); err != nil {
			b.Fatal(err)
		}
	})
}

func (s *benchSite) move() {
	s.b.Helper()
	model := "another"
	d, err := s.c.UpdateDatastore(s.ctx, "ws", s.store, domain.DatastorePatch{EmbeddingModel: &model})
	if err != nil {
		s.b.Fatal(err)
	}
	for {
		n, err := s.c.IssueMoves(s.ctx, s.store, d.Move.ID, 200)
		if err != nil {
			s.b.Fatal(err)
		}
		if n == 0 {
			break
		}
		s.publish()
		s.end(domain.EventSynched)
	}
	if switched, err := s.c.FinishMove(s.ctx, s.store, d.Move.ID); err != nil || !switched {
		s.b.Fatal(switched, err)
	}
}

func (s *benchSite) work() {
	s.b.Helper()
	for {
		tasks, err := s.c.SiteWork(s.ctx, catalog.SiteTask{}, 1)
		if err != nil {
			s.b.Fatal(err)
		}
		if len(tasks) == 0 {
			return
		}
		if _, err := s.c.WorkOnSite(s.ctx, tasks[0]); err != nil {
			s.b.Fatal(err)
		}
	}
}

type benchSite struct {
	b     *testing.B
	ctx   context.Context
	c     *catalog.Catalog
	store string
	site  string
	pages int
	seq   uint64
	jobs  []domain.Job // published, not yet ended
	crawl domain.Job   // the site's job
}

func newBenchSite(b *testing.B, pages int) *benchSite {
	b.Helper()
	s := &benchSite{b: b, ctx: context.Background(), site: domain.NewID(), pages: pages}
	s.c = open(b, catalog.Options{Path: filepath.Join(b.TempDir(), "catalog.db"), MaxPagesPerSite: pages})
	s.store = benchStore(b, s.c, "ws")
	d := domain.Datasource{
		ID: s.site, WorkspaceID: "ws", DatastoreID: s.store, Type: domain.TypeWebSite,
		Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/", Sitemap: "https://pumps.example/sitemap.xml"},
	}
	if _, err := s.c.CreateDatasources(s.ctx, []catalog.NewDatasource{{Datasource: d, Job: domain.Job{ID: domain.NewID(), Kind: domain.JobCrawl}}}); err != nil {
		b.Fatal(err)
	}
	s.publish()
	s.crawl, s.jobs = s.jobs[0], nil
	return s
}

func (s *benchSite) begin() {
	s.b.Helper()
	if _, err := s.c.Requeue(s.ctx, "ws", s.site, domain.Job{ID: domain.NewID(), Kind: domain.JobCrawl}, catalog.PriorityReplay); err != nil {
		s.b.Fatal(err)
	}
	s.publish()
	s.crawl, s.jobs = s.jobs[0], nil
}

// timed runs a step and reports the CPU time it takes per page.
func (s *benchSite) timed(step string, f func()) {
	from := processorTime(s.b)
	f()
	s.b.ReportMetric(float64((processorTime(s.b)-from).Microseconds())/float64(s.pages), step+"-µs/page")
}

// discover reports all pages as links, four events per transaction, and then ends the discovery.
func (s *benchSite) discover() {
	s.b.Helper()
	var evs []domain.Event
	for from := 0; from < s.pages; from += domain.MaxLinksPerEvent {
		ev := s.crawl.Event(domain.EventDiscovered, time.Now())
		for i := from; i < min(from+domain.MaxLinksPerEvent, s.pages); i++ {
			ev.Links = append(ev.Links, domain.Link{URL: fmt.Sprintf("https://pumps.example/manuals/series-%d/model-%d.html", i%97, i), Depth: 1})
		}
		evs = append(evs, ev)
	}
	end := s.crawl.Event(domain.EventSynched, time.Now())
	end.Complete = true
	s.apply(append(evs, end), 4)
}

func (s *benchSite) apply(evs []domain.Event, batch int) {
	s.b.Helper()
	for len(evs) > 0 {
		n := min(batch, len(evs))
		if _, err := s.c.ApplyAll(s.ctx, evs[:n]); err != nil {
			s.b.Fatal(err)
		}
		evs = evs[n:]
	}
}

func (s *benchSite) publish() {
	s.b.Helper()
	for {
		jobs, err := s.c.Outbox(s.ctx, 64)
		if err != nil {
			s.b.Fatal(err)
		}
		if len(jobs) == 0 {
			return
		}
		for i := range jobs {
			s.seq++
			jobs[i].Generation = s.seq
		}
		if err := s.c.PublishedAll(s.ctx, jobs); err != nil {
			s.b.Fatal(err)
		}
		s.jobs = append(s.jobs, jobs...)
	}
}

// end applies the final event for every published job, a hundred per transaction.
func (s *benchSite) end(typ domain.EventType) {
	s.b.Helper()
	evs := make([]domain.Event, len(s.jobs))
	for i, j := range s.jobs {
		evs[i] = j.Event(typ, time.Now())
		if typ == domain.EventFetched {
			evs[i].Fetched = &domain.Fetched{
				Original: domain.Original{Key: j.DatasourceID, SHA256: j.DatasourceID, Size: 1000, MIMEType: "text/html", Name: j.Crawl.URL},
				URL:      j.Crawl.URL, Title: "Model", ETag: `"1"`,
			}
		}
	}
	s.jobs = nil
	s.apply(evs, 100)
}
