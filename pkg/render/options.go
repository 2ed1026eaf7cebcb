package render

import (
	"errors"
	"log/slog"
	"os/exec"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
)

// Options configure a Browser. One of URL and Path must be set.
type Options struct {
	// URL is the DevTools endpoint of a browser that runs already: "http://host:port", or the address of its
	// WebSocket, "ws://…" or "wss://…". That browser must accept browser contexts with a proxy of their own, as
	// Chromium and headless_shell do. Start it with --webrtc-ip-handling-policy=disable_non_proxied_udp: all else
	// that could reach its network is closed from here.
	URL string
	// Path is the executable of a local Chromium, which is started when the first page is rendered. See Find.
	Path string
	// MaxHTML is the largest page in bytes, as fetched and as scripts have built it. Default: 16 MiB.
	MaxHTML int64
	// Timeout bounds the time from the request for a page until it is at rest; what is there by then is returned.
	// Starting the browser, waiting for a tab and tidying up come on top. Default: 30 s.
	Timeout time.Duration
	// Concurrency is how many pages are rendered at once; more wait. Default: 2.
	Concurrency int
	// UserAgent is sent with every request and shown to scripts. Default: crawl.DefaultUserAgent.
	UserAgent string
	// TempDir takes the profile of a local browser, unless its path is longer than about 40 bytes. Default: the
	// system's, which is taken then too.
	TempDir string
	// Log gets what operators should know. Default: none.
	Log *slog.Logger
}

// Bounds of one page beside MaxHTML and Timeout.
const (
	maxResource    = 8 << 20  // bytes of one script or answer to a script
	maxPageBytes   = 64 << 20 // of all requests of a page together
	maxRequests    = 300      // made for a page; further ones are refused
	maxDocuments   = 12       // addresses that the page itself may lead to, redirects included
	maxPostBytes   = 1 << 20  // of a request's body
	requestsAtOnce = 6        // of one page
)

func (o Options) withDefaults() Options {
	setDefault(&o.MaxHTML, 16<<20)
	setDefault(&o.Timeout, 30*time.Second)
	setDefault(&o.Concurrency, 2)
	setDefault(&o.UserAgent, crawl.DefaultUserAgent)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (o Options) check() error {
	switch {
	case o.URL == "" && o.Path == "":
		return errors.New("no browser to render pages with: neither an address nor an executable is set")
	case o.URL != "" && o.Path != "":
		return errors.New("both the address of a browser and an executable are set: one of them must go")
	case o.MaxHTML < 0 || o.Timeout < 0 || o.Concurrency < 0:
		return errors.New("the limits of rendering must not be negative")
	}
	if o.URL != "" {
		_, err := parseEndpoint(o.URL)
		return err
	}
	return nil
}

// programs are the names under which Chromium is installed, the smallest first.
var programs = []string{"headless_shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Find returns the path of a Chromium in PATH, "" if there is none.
func Find() string {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
