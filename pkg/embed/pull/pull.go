// Package pull downloads embedding models and rerankers from Hugging Face or a mirror. It supports a fixed set of
// models and pins the size and digest of each of their files.
package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/sleep"
)

// DefaultBase is the default model server.
const DefaultBase = "https://huggingface.co"

const (
	defaultAttempts = 8
	defaultStall    = 30 * time.Second
	firstPause      = time.Second
	maxPause        = 30 * time.Second
	maxRedirects    = 10 // requests for large files are redirected to other hosts
)

// Config says where to get models and where to store them. Zero fields get defaults, except Dir, which is required.
type Config struct {
	// Base is the address of Hugging Face or a mirror with the same paths; default DefaultBase. Regardless of the
	// source, only files with the pinned size and digest are kept.
	Base string

	// Dir is the directory for the models, each in a subdirectory with its name. It is created if necessary.
	Dir string

	// Attempts is the maximum number of attempts per file; default 8. Each attempt resumes where the previous one
	// stopped.
	Attempts int

	// Stall is how long an attempt waits for data before it fails; default 30 s.
	Stall time.Duration

	// Progress, unless nil, is called with the number of bytes on disk and the model's total size.
	Progress func(done, total int64)

	// Client sends the requests. The default client uses the proxies from the environment and rejects redirects from https
	// to http.
	Client *http.Client

	// Pause waits between attempts. The default waits for d, or until ctx is done.
	Pause func(ctx context.Context, d time.Duration) error
}

func (c Config) withDefaults() Config {
	c.Base = strings.TrimRight(cmp.Or(c.Base, DefaultBase), "/")
	c.Attempts = cmp.Or(max(c.Attempts, 0), defaultAttempts)
	c.Stall = cmp.Or(max(c.Stall, 0), defaultStall)
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	if c.Client == nil {
		c.Client = &http.Client{CheckRedirect: checkRedirect}
	}
	if c.Pause == nil {
		c.Pause = sleep.For
	}
	return c
}

// checkRedirect rejects redirects from https to http and more than maxRedirects redirects in a row.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if request.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
		return errors.New("a redirect from https to " + request.URL.Scheme)
	}
	return nil
}

// Pull downloads a model and returns its directory, which gets its final name only once the model is complete.
// Interrupted downloads are resumed. If the model already exists, Pull only verifies it and returns an error naming any
// file that differs from the published one.
func Pull(ctx context.Context, c Config, m Model) (directory string, err error) {
	c = c.withDefaults()
	if base, err := url.Parse(c.Base); err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return "", fmt.Errorf("the address of the model server, %q, is not an http or https URL", c.Base)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", fmt.Errorf("creating the directory of models: %w", err)
	}
	lock := flock.New(filepath.Join(c.Dir, "."+m.Name+".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	if !locked {
		return "", fmt.Errorf("another process is downloading %s to %s; wait until it has finished", m.Name, c.Dir)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	directory = filepath.Join(c.Dir, m.Name)
	if _, err := os.Lstat(directory); err == nil {
		return directory, m.check(directory)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("looking for %s: %w", directory, err)
	}
	partial := filepath.Join(c.Dir, "."+m.Name+".partial")
	var done int64
	for _, f := range m.Files {
		d := download{config: c, url: m.address(c.Base, f), file: f, path: filepath.Join(partial, filepath.FromSlash(f.Name)), before: done, total: m.Size()}
		if err := d.run(ctx); err != nil {
			return "", fmt.Errorf("fetching %s: %w", d.url, err)
		}
		done += f.Size
	}
	if err := os.Rename(partial, directory); err != nil {
		return "", fmt.Errorf("moving %s to its final location: %w", m.Name, err)
	}
	return directory, durable.Dir(c.Dir)
}
