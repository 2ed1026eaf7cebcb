package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/guard"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/render"
)

// web is the crawler with its dependencies.
type web struct {
	*crawl.Crawler
	slots   *jobs.HostSlots
	browser *render.Browser // nil if not configured
}

// openWeb opens a crawler. All crawlers that use the broker share one limit on concurrent requests per host.
func openWeb(c config.Config, broker *jobs.Broker, temp string, log *slog.Logger) (*web, error) {
	o, err := crawlOptions(c, temp, log)
	if err != nil {
		return nil, err
	}
	w := &web{}
	if w.browser, err = openBrowser(c, temp, log); err != nil {
		return nil, err
	}
	if w.browser != nil {
		o.Renderer = w.browser
	}
	w.slots = broker.HostSlots(jobs.HostSlotsOptions{})
	o.Slots = w.slots
	w.Crawler = crawl.New(o)
	return w, nil
}

func crawlOptions(c config.Config, temp string, log *slog.Logger) (crawl.Options, error) {
	allow, err := guard.ParseAllow(strings.Split(c.CrawlAllow, ","))
	if err != nil {
		return crawl.Options{}, fmt.Errorf("SLUICE_CRAWL_ALLOW: %w", err)
	}
	var proxy *url.URL
	if c.CrawlProxy != "" {
		if proxy, err = url.Parse(c.CrawlProxy); err != nil {
			return crawl.Options{}, errors.New("SLUICE_CRAWL_PROXY is not a valid proxy address")
		}
	}
	return crawl.Options{
		Proxy: proxy, UserAgent: c.UserAgent, AllowPrivate: c.AllowPrivate, Allow: allow, MaxBody: int64(c.LimitPageBytes), MaxPages: c.LimitPages,
		PerHostDelay: zeroAsUnlimited(c.CrawlDelay), PerHostConcurrency: zeroAsUnlimited(c.CrawlPerHost), TempDir: temp, Log: log,
	}, nil
}

// zeroAsUnlimited converts a limit from the settings, where 0 means no limit, to one for crawl.Options, where -1 means
// no limit and 0 means the default.
func zeroAsUnlimited[T ~int | ~int64](limit T) T {
	if limit == 0 {
		return -1
	}
	return limit
}

// openBrowser returns the browser for pages built by scripts, or nil if none is configured. A local browser is started
// when the first such page is fetched.
func openBrowser(c config.Config, temp string, log *slog.Logger) (*render.Browser, error) {
	path := c.Chromium
	switch {
	case c.ChromeURL != "" && path != "":
		return nil, errors.New("CHROME_URL and SLUICE_CHROMIUM are both set: keep CHROME_URL for a running browser, or SLUICE_CHROMIUM to start one")
	case c.ChromeURL == "" && path == "":
		return nil, nil
	case path == "auto":
		if path = render.Find(); path == "" {
			return nil, errors.New("SLUICE_CHROMIUM is auto, but no Chromium was found on the PATH: install one, or set the path to its binary")
		}
	}
	if path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return nil, fmt.Errorf("cannot run SLUICE_CHROMIUM %q: %w; set it to the path to a Chromium binary, or to auto to search the PATH", path, err)
		}
	}
	browser, err := render.New(render.Options{
		URL: c.ChromeURL, Path: path, MaxHTML: int64(c.LimitPageBytes), UserAgent: c.UserAgent, TempDir: temp, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the browser from CHROME_URL or SLUICE_CHROMIUM: %w", err)
	}
	return browser, nil
}

// Close cancels running fetches and releases their resources.
func (w *web) Close() error {
	w.Crawler.Close()
	w.slots.Close()
	if w.browser == nil {
		return nil
	}
	return w.browser.Close()
}

// openPlanner opens a crawler for a single command. It doesn't share the limit on concurrent requests with other
// crawlers.
func openPlanner(c config.Config) (planner *crawl.Crawler, stop func() error, err error) {
	log := slog.New(slog.DiscardHandler)
	o, err := crawlOptions(c, os.TempDir(), log)
	if err != nil {
		return nil, nil, err
	}
	browser, err := openBrowser(c, os.TempDir(), log)
	if err != nil {
		return nil, nil, err
	}
	if browser != nil {
		o.Renderer = browser
	}
	planner = crawl.New(o)
	return planner, func() error {
		planner.Close()
		if browser == nil {
			return nil
		}
		return browser.Close()
	}, nil
}
