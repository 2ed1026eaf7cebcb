package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/testdata/site"
)

// A crawl job discovers a site once and then fetches page by page.
func Example() {
	server := httptest.NewServer(site.Handler())
	defer server.Close()
	c := crawl.New(crawl.Options{UserAgent: "ExampleBot/1.0 (+mailto:crawler@example.com)", AllowPrivate: true, PerHostDelay: -1})
	defer c.Close()

	ctx := context.Background()
	found, err := c.Discover(ctx, domain.CrawlSpec{URL: server.URL + "/support/"}, func(links []domain.Link) error {
		for _, l := range links {
			page, err := c.Fetch(ctx, crawl.PageRequest{URL: l.URL})
			if err != nil {
				return err
			}
			fmt.Println(page.Title)
			if err := page.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Found, "pages")

	_, err = c.Fetch(ctx, crawl.PageRequest{URL: server.URL + "/internal/price-list.html"})
	var e *crawl.Error
	if errors.As(err, &e) {
		fmt.Println(e.Permanent, strings.ReplaceAll(e.Message, server.URL, ""))
	}
	// Output:
	// Support | Tarnholm Instruments
	// Calibrating the Fjordmast 3 | Tarnholm Instruments
	// Error codes of the Nimbus Logger | Tarnholm Instruments
	// Replacing the cells of the Nimbus Logger | Tarnholm Instruments
	// Warranty | Tarnholm Instruments
	// 5 pages
	// true /internal/price-list.html was not fetched: the site's robots.txt disallows it
}
