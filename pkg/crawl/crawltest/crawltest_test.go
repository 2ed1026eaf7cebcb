package crawltest

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends one request without following redirects or decompressing the body.
func ask(t *testing.T, u string, header ...string) (*http.Response, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "crawltest")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

func TestASiteIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	one, two := Serve(t, Options{Seed: 3}), Serve(t, Options{Seed: 3})
	for way, n := range map[Way]int{ByLinks: MinPages, BySitemap: 0} {
		a, b := one.Pages(way), two.Pages(way)
		if n > 0 && len(a) != n {
			t.Errorf("%s: %d pages, want %d", way, len(a), n)
		}
		if diff := cmp.Diff(words(a, one.URL()), words(b, two.URL())); diff != "" {
			t.Errorf("%s:\n%s", way, diff)
		}
		tokens := map[string]string{}
		for u, token := range a {
			if other, twice := tokens[token]; twice {
				t.Errorf("%s and %s have the same word", u, other)
			}
			tokens[token] = u
		}
	}
}

// words returns pages' code words by path.
func words(pages map[string]string, root string) map[string]string {
	out := make(map[string]string, len(pages))
	for u, token := range pages {
		out[strings.TrimPrefix(u, root)] = token
	}
	return out
}

var hrefs = regexp.MustCompile(`href="([^"]*)"`)

func TestEachAddressThatPagesLinkToHasAnExpectation(t *testing.T) {
	t.Parallel()
	s := Serve(t, Options{Seed: 1, Slow: time.Millisecond})
	want := s.Expected(ByLinks)
	outcomes := map[Outcome]int{}
	reasons := map[Reason]int{}
	for u, e := range want {
		outcomes[e.Outcome]++
		reasons[e.Reason]++
		if e.Outcome != Synched {
			continue
		}
		body := read(t, u)
		if packed := strings.Contains(u, "zip") || strings.Contains(u, "deflate") || strings.Contains(u, "utf16") || strings.HasSuffix(u, ".docx"); !packed && !strings.Contains(body, e.Token) {
			t.Errorf("%s lacks its word %s", u, e.Token)
		}
		base, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(body, "<base ") || strings.Contains(body, `"nofollow"`) {
			continue
		}
		for _, m := range hrefs.FindAllStringSubmatch(body, -1) {
			ref := strings.NewReplacer("&amp;", "&", "&#34;", `"`).Replace(m[1])
			abs := ref
			if r, err := base.Parse(ref); err == nil {
				abs = r.String()
			}
			if _, known := want[abs]; !known {
				if _, known = want[ref]; !known && !strings.HasPrefix(ref, "mailto:office@") && !strings.HasSuffix(abs, "/original") {
					if _, known = want[s.At(ref)]; !known {
						t.Errorf("%s links to %s, of which nothing is expected", u, ref)
					}
				}
			}
		}
	}
	t.Logf("outcomes: %v, reasons: %v", outcomes, reasons)
	for _, why := range []Reason{
		NoIndex, Duplicate, Canonical, SitemapPage, NotFound, Forbidden, ServerError, Broken, Loop, MovedAway, TooLarge, WrongType, Empty,
		NeedsScripts, Robots, OtherHost, NoAddress, Trap, TooDeep, Media, Spelling, NoFollow, Excluded,
	} {
		if reasons[why] == 0 {
			t.Errorf("nothing is %q", why)
		}
	}
}

// read requests an address, following redirects, until it receives status 200.
func read(t *testing.T, u string) string {
	t.Helper()
	for range 5 {
		res, body, err := ask(t, u)
		if err == nil && res.StatusCode == http.StatusOK {
			return body
		}
		if err == nil && res.StatusCode/100 == 3 {
			next, err := res.Location()
			if err != nil {
				t.Fatal(err)
			}
			u = next.String()
		}
	}
	t.Errorf("%s has no page", u)
	return ""
}

func TestAnUnchangedPageIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := Serve(t, Options{})
	kinds := map[[2]bool]bool{}
	for u, e := range s.Expected(ByLinks) {
		if e.Outcome != Synched || !strings.Contains(u, "/s/") {
			continue
		}
		res, _, err := ask(t, u)
		if err != nil {
			t.Fatal(err)
		}
		tag, modified := res.Header.Get("ETag"), res.Header.Get("Last-Modified")
		kinds[[2]bool{tag != "", modified != ""}] = true
		if again, _, err := ask(t, u, "If-None-Match", tag, "If-Modified-Since", modified); err != nil || again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %v, %v", u, again, err)
		}
	}
	if len(kinds) != 3 || kinds[[2]bool{}] {
		t.Errorf("validators: %v", kinds)
	}
	s.Forget()
	changed := s.Change(5)
	for _, u := range changed {
		if res, body, err := ask(t, u, "If-Modified-Since", s.modBase.Format(http.TimeFormat)); err != nil || res.StatusCode != http.StatusOK || !strings.Contains(body, s.Pages(ByLinks)[u]) {
			t.Errorf("%s has changed: %v, %v", u, res, err)
		}
	}
	for _, r := range s.Requests() {
		if !r.Conditional || r.Foreign || r.UserAgent != "crawltest" || r.Status != http.StatusOK || r.End.Before(r.Start) {
			t.Errorf("noted was %+v", r)
		}
	}
	if n := s.Times(); len(n) != 5 || len(changed) != 5 {
		t.Errorf("asked for: %v", n)
	}
}

func TestNoPageIsAlteredTwice(t *testing.T) {
	t.Parallel()
	s := Serve(t, Options{})
	seen := map[string]bool{}
	for _, u := range slices.Concat(s.Change(5), s.Remove(4), s.Unlist(3), s.Change(20), s.Remove(10), s.Unlist(10)) {
		if seen[u] {
			t.Errorf("%s is altered twice", u)
		}
		seen[u] = true
	}
}

func TestPagesComeAndGo(t *testing.T) {
	t.Parallel()
	s := Serve(t, Options{})
	before := s.Pages(ByLinks)
	gone, unlisted, added := s.Remove(4), s.Unlist(3), s.Add(6)
	byLinks, bySitemap := s.Expected(ByLinks), s.Expected(BySitemap)
	for _, u := range gone {
		if res, _, err := ask(t, u); err != nil || res.StatusCode != http.StatusGone || byLinks[u].Outcome != Removed || bySitemap[u].Outcome != Removed || before[u] == "" {
			t.Errorf("%s: %v, %v, %+v", u, res, err, byLinks[u])
		}
	}
	for _, u := range unlisted {
		if byLinks[u].Outcome != Synched || bySitemap[u].Outcome != Removed {
			t.Errorf("%s: %+v, %+v", u, byLinks[u], bySitemap[u])
		}
	}
	for _, u := range added {
		if byLinks[u].Outcome != Synched || bySitemap[u].Outcome != Synched || before[u] != "" || !strings.Contains(read(t, u), byLinks[u].Token) {
			t.Errorf("%s: %+v", u, byLinks[u])
		}
	}
	if n := len(s.Pages(ByLinks)); n != MinPages-4+6 {
		t.Errorf("%d pages", n)
	}
	originals, heirs := s.RemoveOriginals(2)
	for i, u := range originals {
		res, _, err := ask(t, u)
		if err != nil || res.StatusCode != http.StatusGone || s.Expected(ByLinks)[u].Outcome != Removed {
			t.Errorf("%s: %v, %v", u, res, err)
		}
		if heir := s.Expected(ByLinks)[heirs[i]]; heir.Outcome != Synched || heir.Token != before[u] || !strings.Contains(read(t, heirs[i]), heir.Token) {
			t.Errorf("%s is to take the place of %s: %+v", heirs[i], u, heir)
		}
	}
	if len(originals) != 2 {
		t.Errorf("%d originals were removed", len(originals))
	}
	s.Down(true)
	if res, _, err := ask(t, s.URL()); err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("down: %v, %v", res, err)
	}
	s.Down(false)
	if res, _, err := ask(t, s.URL()); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("up again: %v, %v", res, err)
	}
}

func TestASiteThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"too few pages": {Pages: 10}, "too shallow": {MaxDepth: 2}} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if s, err := New(Options{Pages: 5_000, Seed: 9}); err != nil || len(s.Pages(ByLinks)) != 5_000 {
		t.Errorf("5,000 pages: %v", err)
	}
}
