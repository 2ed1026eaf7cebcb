package render

import (
	"cmp"
	"errors"
	"log/slog"
	"os/exec"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
)

// Options configure a Browser. Either URL or Path must be set.
type Options struct {
	// URL is a running browser's DevTools endpoint: "http://host:port", or the address of its WebSocket, "ws://…" or
	// "wss://…". That browser must support browser contexts with a proxy, as Chromium and headless_shell do. Start it
	// with --webrtc-ip-handling-policy=disable_non_proxied_udp to keep WebRTC off the network. This package blocks all
	// other network access.
	URL string
	// Path is the path to a local Chromium binary. It is started for the first page. See Find.
	Path string
	// MaxHTML is the maximum size of a page in bytes, as fetched and again after its scripts have run. Default: 16 MiB.
	MaxHTML int64
	// Timeout limits the time from requesting a page until it is idle. After that, the page is returned as it is.
	// Starting the browser, waiting for a tab and cleaning up don't count. Default: 30 s.
	Timeout time.Duration
	// Concurrency is the maximum number of pages rendered at once; more have to wait. Default: 2.
	Concurrency int
	// UserAgent is sent with each request and visible to scripts. Default: crawl.DefaultUserAgent.
	UserAgent string
	// TempDir is the directory for a local browser's profile. Default: the system's temporary directory, which is also
	// used if TempDir's path is longer than about 40 bytes.
	TempDir string
	// Log receives messages for operators. Default: none.
	Log *slog.Logger
}

// Limits per page in addition to MaxHTML and Timeout.
const (
	maxResource    = 8 << 20  // bytes per script or response to a script
	maxPageBytes   = 64 << 20 // total bytes in all responses
	maxRequests    = 300      // requests sent; further ones are refused
	maxDocuments   = 12       // navigations by the page itself, including redirects
	maxPostBytes   = 1 << 20  // bytes in a request's body
	requestsAtOnce = 6        // simultaneous requests
)

func (o Options) withDefaults() Options {
	o.MaxHTML = cmp.Or(o.MaxHTML, 16<<20)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Concurrency = cmp.Or(o.Concurrency, 2)
	o.UserAgent = cmp.Or(o.UserAgent, crawl.DefaultUserAgent)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

func (o Options) check() error {
	switch {
	case o.URL == "" && o.Path == "":
		return errors.New("there is no browser to render pages: set CHROME_URL to its address or SLUICE_CHROMIUM to an executable")
	case o.URL != "" && o.Path != "":
		return errors.New("both the address of a browser (CHROME_URL) and an executable (SLUICE_CHROMIUM) are set; remove one")
	case o.MaxHTML < 0 || o.Timeout < 0 || o.Concurrency < 0:
		return errors.New("rendering limits must not be negative")
	}
	if o.URL != "" {
		_, err := parseEndpoint(o.URL)
		return err
	}
	return nil
}

// programs are the names of Chromium executables, smallest first.
var programs = []string{"headless_shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Find returns the path to a Chromium binary in PATH, or "" if there is none.
func Find() string {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
