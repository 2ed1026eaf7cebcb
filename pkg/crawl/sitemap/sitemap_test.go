package sitemap

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

func TestReadSitemap_survives_hostile_files(t *testing.T) {
	// Not parallel, because it measures allocations.
	const limit = 16 << 20
	for name, in := range map[string]io.Reader{
		"elements within one another": io.MultiReader(strings.NewReader("<urlset>"), io.LimitReader(repeat("<a>"), limit)),
		"a text without end":          io.MultiReader(strings.NewReader("<urlset><url><loc>"), repeat("x")),
		"a tag without end":           io.MultiReader(strings.NewReader("<urlset><url a='"), repeat("x")),
		"attributes without end":      io.MultiReader(strings.NewReader("<urlset><url "), repeat("a='>' ")),
		"a comment full of tags":      io.MultiReader(strings.NewReader("<urlset><!--"), repeat("<a>")),
		"a comment without end":       io.MultiReader(strings.NewReader("<urlset><!--"), repeat("x")),
		"a line without end":          io.MultiReader(strings.NewReader("http://e.com/\nhttp://e.com/"), repeat("x")),
		"entities that grow": strings.NewReader(`<!DOCTYPE u [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><urlset><url><loc>` +
			strings.Repeat("&b;", 1_000) + strings.Repeat("<", 70_000)),
		"packed zeros": bytes.NewReader(crawltest.GzipBomb(64 << 20)),
		"nothing":      strings.NewReader(""),
		"a zip file":   strings.NewReader("PK\x03\x04"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := Read(in, limit, nil, func(Entry) error { return nil }); err == nil {
				t.Error("no error")
			}
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 2*limit {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
		})
	}
}

// repeat returns a reader that repeats s forever.
func repeat(s string) io.Reader { return &repeater{s: s} }

type repeater struct {
	s string
	i int
}

func (r *repeater) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.s[r.i]
		r.i = (r.i + 1) % len(r.s)
	}
	return len(p), nil
}

func FuzzSitemap(f *testing.F) {
	for _, s := range []string{
		"<urlset><url><loc>http://e.com/a</loc></url></urlset>", "<sitemapindex><sitemap><loc>x</loc></sitemap></sitemapindex>",
		"<rss><channel><item><link>a</link></item></channel></rss>", "<feed><entry><link href='a'/></entry></feed>",
		"http://e.com/a\nhttp://e.com/b", "<?xml version='1.0' encoding='utf-16'?><urlset/>", "\xef\xbb\xbf <urlset", "<!-- --><a/>",
	} {
		f.Add([]byte(s))
		f.Add(crawltest.Gzip([]byte(s)))
	}
	stop := errors.New("stop")
	f.Fuzz(func(t *testing.T, in []byte) {
		n := 0
		_ = Read(bytes.NewReader(in), 1<<20, nil, func(e Entry) error {
			if n++; e.Loc == "" || e.Loc != strings.TrimSpace(e.Loc) {
				t.Errorf("entry %q", e.Loc)
			}
			return nil
		})
		if n == 0 {
			return
		}
		if err := Read(bytes.NewReader(in), 1<<20, nil, func(Entry) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("the error of take was lost: %v", err)
		}
	})
}
