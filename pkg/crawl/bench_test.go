package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/sluice/sluice/pkg/domain"
)

// page returns 20 KB of HTML with 30 links, like a typical documentation page.
func page(i int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "<!doctype html><html><head><title>Page %d</title></head><body>", i)
	for k := range 30 {
		fmt.Fprintf(&s, `<p>%s <a href="/p/%d">next</a></p>`, strings.Repeat("Some words of text. ", 32), i*30+k)
	}
	return s.String()
}

func pageServer(b *testing.B) string {
	body := page(1)
	return serve(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body))
	})).URL
}

// BenchmarkFetch fetches pages at full speed. The difference from BenchmarkPlainColly is the cost of limits, the
// address guard, robots.txt and slots.
func BenchmarkFetch(b *testing.B) {
	root := pageServer(b)
	c := local(b, func(o *Options) { o.PerHostConcurrency = -1 })
	scope := &domain.SiteScope{Root: root, Follow: true}
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := c.Fetch(b.Context(), PageRequest{URL: fmt.Sprintf("%s/p/%d", root, n.Add(1)), WantLinks: true, Scope: scope})
			if err != nil || len(p.Links) < 29 {
				b.Fatal(len(p.Links), err)
			}
			_ = p.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}

// BenchmarkPlainColly reads the same pages' titles and links with plain colly.
func BenchmarkPlainColly(b *testing.B) {
	root := pageServer(b)
	c := colly.NewCollector()
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: maxIdlePerHost})
	var links, n atomic.Int64
	c.OnHTML("title", func(*colly.HTMLElement) {})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if e.Request.AbsoluteURL(e.Attr("href")) != "" {
			links.Add(1)
		}
	})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := c.Visit(fmt.Sprintf("%s/p/%d", root, n.Add(1))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
