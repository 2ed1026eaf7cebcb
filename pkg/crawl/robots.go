package crawl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
)

const (
	robotsPath         = "/robots.txt"
	maxRobotsBytes     = 512 << 10 // RFC 9309, section 2.5: at least 500 KiB
	maxRobotsRedirects = 5         // RFC 9309, section 2.3.1.2
	maxRobotsRules     = 5_000
	maxRobotsSitemaps  = 100
	maxRobotsLine      = maxURLBytes
	robotsFresh        = time.Hour   // RFC 9309, section 2.4: at most 24 hours
	robotsFailure      = time.Minute // how long a host whose robots.txt cannot be had is left alone
	maxRobotsHosts     = 2_000
	maxRobotsKept      = 64 << 20 // bytes of the rules of all hosts
)

// robots is what one host's robots.txt means for us.
type robots struct {
	text       []byte        // only the rules that bind us, in a form that colly's parser takes
	crawlDelay time.Duration // as the file has it, at most maxRetryAfter; maxCrawlDelay is kept of it
	sitemaps   []string
}

// size is how many bytes are kept of it.
func (r robots) size() int {
	n := len(r.text)
	for _, s := range r.sitemaps {
		n += len(s)
	}
	return n
}

// allows reports whether the rules let us fetch the address. It asks as colly does.
func (r robots) allows(u *url.URL) bool {
	rules, err := robotstxt.FromBytes(r.text)
	if err != nil {
		return false // FuzzRobots looks for such a text
	}
	at := u.EscapedPath()
	if u.RawQuery != "" {
		at += "?" + u.Query().Encode()
	}
	return rules.TestAgent(at, "*")
}

// parseRobots reads a robots.txt (RFC 9309) for the crawler with the given product name. Groups that name it are
// merged; without any, those for "*" count. The result is written anew for colly's parser, which rejects a whole
// file for one rule before the first group or one odd Crawl-delay, and takes a group that ends in an empty
// "Disallow:" for the beginning of the next one.
func parseRobots(body []byte, product string) robots {
	var (
		r             robots
		own, all      []string
		ownDelay      time.Duration
		allDelay      time.Duration
		forUs, forAll bool
		found         bool // some group names us
		inAgents      bool
	)
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(body) {
		key, value, ok := robotsLine(line)
		if !ok {
			continue
		}
		rule := ""
		switch key {
		case "user-agent", "useragent":
			if !inAgents {
				forUs, forAll = false, false
			}
			inAgents = true
			name, _, _ := strings.Cut(value, "/")
			name = strings.TrimSpace(name)
			forUs = forUs || strings.EqualFold(name, product)
			forAll = forAll || name == "*"
			found = found || forUs
			continue
		case "sitemap":
			if len(r.sitemaps) < maxRobotsSitemaps {
				r.sitemaps = append(r.sitemaps, value)
			}
			continue // belongs to no group, ends none
		case "crawl-delay", "crawldelay":
			d := robotsDelay(value)
			if forUs {
				ownDelay = max(ownDelay, d)
			}
			if forAll {
				allDelay = max(allDelay, d)
			}
		case "disallow":
			if rule = "Disallow: " + value; value == "" {
				rule = "Allow: /"
			}
		case "allow":
			if value != "" {
				rule = "Allow: " + value
			}
		default:
			continue
		}
		inAgents = false
		if rule == "" {
			continue
		}
		if forUs && len(own) < maxRobotsRules {
			own = append(own, rule)
		}
		if forAll && len(all) < maxRobotsRules {
			all = append(all, rule)
		}
	}
	rules := all
	r.crawlDelay = allDelay
	if found {
		rules, r.crawlDelay = own, ownDelay
	}
	if len(rules) > 0 {
		r.text = []byte("User-agent: *\n" + strings.Join(rules, "\n") + "\n")
	}
	return r
}

// robotsLine splits "Key: value # comment".
func robotsLine(line []byte) (key, value string, ok bool) {
	if len(line) > maxRobotsLine {
		return "", "", false
	}
	s, _, _ := strings.Cut(strings.ToValidUTF8(string(line), ""), "#")
	key, value, ok = strings.Cut(s, ":")
	value = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, value)
	value = strings.TrimSpace(value)
	// The parser takes white space within a value for the beginning of another token.
	value, _, _ = strings.Cut(value, " ")
	return strings.ToLower(strings.TrimSpace(key)), value, ok
}

func robotsDelay(v string) time.Duration {
	secs, err := strconv.ParseFloat(v, 64)
	if err != nil || !(secs > 0) {
		return 0
	}
	return time.Duration(min(secs, maxRetryAfter.Seconds()) * float64(time.Second))
}

// robotsCache keeps what robots.txt said, per scheme, host and port, for all fetches of the process.
type robotsCache struct {
	product   string
	userAgent string
	transport http.RoundTripper
	guard     guard
	polite    *politeness
	log       *slog.Logger
	timeout   time.Duration // of one request
	now       func() time.Time

	mu    sync.Mutex
	hosts map[string]*robotsEntry
	kept  int // bytes of rules in hosts
}

type robotsEntry struct {
	ready   chan struct{} // closed when the fields below are set
	robots  robots
	err     error
	expires time.Time
	size    int // that is counted as kept; guarded by robotsCache.mu
}

// get returns what the robots.txt of u's host says. A host without one (4xx) allows everything; one that answers 5xx
// or cannot be reached allows nothing for now, and the error says so (RFC 9309, sections 2.3.1.3 and 2.3.1.4). While
// another fetch asks for it, this one waits no longer than for a turn, and is put off then: a host that hangs would keep as
// many workers as it has pages.
func (c *robotsCache) get(ctx context.Context, u *url.URL) (robots, error) {
	key := u.Scheme + "://" + u.Host
	patience := time.NewTimer(c.polite.patience(ctx).turn)
	defer patience.Stop()
	for {
		c.mu.Lock()
		e := c.hosts[key]
		mine := e == nil || e.done() && !c.now().Before(e.expires)
		if mine {
			if e != nil {
				c.drop(key, e)
			}
			c.makeRoom()
			e = &robotsEntry{ready: make(chan struct{})}
			c.hosts[key] = e
		}
		c.mu.Unlock()
		if mine {
			return c.fill(ctx, key, e)
		}
		select {
		case <-e.ready:
		case <-patience.C:
			p := c.polite
			return robots{}, p.deferred(u.String(), u.Host, 0, p.later.after(u.Host, leastDeferral, p.pace.Delay, c.now()))
		case <-ctx.Done():
			return robots{}, context.Cause(ctx)
		}
		if !errors.Is(e.err, errGivenUp) {
			return e.robots, c.again(e)
		}
	}
}

// errGivenUp marks an entry whose fetch was cancelled by its caller: whoever waits for it asks again.
var errGivenUp = errors.New("cancelled by the caller")

func (e *robotsEntry) done() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

func (c *robotsCache) fill(ctx context.Context, key string, e *robotsEntry) (robots, error) {
	defer close(e.ready)
	r, err := c.fetch(ctx, key+robotsPath)
	now := c.now()
	switch {
	case err == nil:
		e.robots, e.expires = r, now.Add(robotsFresh)
		c.count(key, e)
	case ctx.Err() != nil:
		e.err = errGivenUp
		return robots{}, context.Cause(ctx)
	default:
		e.expires = now.Add(robotsFailure)
		var own *Error
		switch {
		case !errors.As(classify(ctx, key+robotsPath, err), &own) || own.Permanent:
			e.err = err
		case own.Deferred: // the host was not asked, so nothing is known of its rules
			e.err = errGivenUp
			return robots{}, own
		default:
			own.RetryAfter = max(own.RetryAfter, robotsFailure)
			own.Message = "nothing may be fetched for now: " + own.Message
			e.err, e.expires = own, now.Add(own.RetryAfter)
		}
	}
	return e.robots, e.err
}

// again is what a fetch is told that finds the failure of another: nothing was tried for it.
func (c *robotsCache) again(e *robotsEntry) error {
	var own *Error
	if !errors.As(e.err, &own) || own.Permanent {
		return e.err
	}
	waits := *own
	waits.Deferred, waits.RetryAfter, waits.Err = true, max(e.expires.Sub(c.now()), time.Second), own
	return &waits
}

// makeRoom drops what has expired, and if that is not enough anything that is not being fetched. Called with mu held.
func (c *robotsCache) makeRoom() {
	if !c.full() {
		return
	}
	now := c.now()
	for k, e := range c.hosts {
		if e.done() && !now.Before(e.expires) {
			c.drop(k, e)
		}
	}
	for k, e := range c.hosts {
		if !c.full() {
			return
		}
		if e.done() {
			c.drop(k, e)
		}
	}
}

func (c *robotsCache) full() bool { return len(c.hosts) >= maxRobotsHosts || c.kept > maxRobotsKept }

// count adds what is known of a host now to what is kept, if it still is.
func (c *robotsCache) count(key string, e *robotsEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts[key] == e {
		e.size = e.robots.size()
		c.kept += e.size
	}
}

// drop forgets a host. Called with mu held.
func (c *robotsCache) drop(key string, e *robotsEntry) {
	delete(c.hosts, key)
	c.kept -= e.size
}

func (c *robotsCache) fetch(ctx context.Context, address string) (robots, error) {
	at := address
	for range maxRobotsRedirects + 1 {
		status, header, body, err := c.fetchOnce(ctx, at)
		if err != nil {
			return robots{}, err
		}
		switch {
		case status >= 200 && status < 300:
			r := parseRobots(body, c.product)
			if r.crawlDelay > maxCrawlDelay {
				c.log.WarnContext(ctx, "crawl delay shortened", "url", at, "asked", r.crawlDelay, "kept", maxCrawlDelay)
			}
			return r, nil
		case isRedirect(status):
			next, err := parseRef(at, header.Get("Location"))
			if err != nil {
				return robots{}, nil // a redirect to nowhere: there is no robots.txt
			}
			at = next.String()
		case status == http.StatusTooManyRequests || status >= 500:
			e := statusError(at, status, header, c.now())
			e.Permanent = false
			return robots{}, e
		default:
			return robots{}, nil
		}
	}
	return robots{}, nil // RFC 9309, section 2.3.1.2: may be taken for unavailable, as 4xx
}

// fetchOnce makes one request. A body that is too large counts up to the limit, as the RFC has it.
func (c *robotsCache) fetchOnce(ctx context.Context, at string) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, nil, nil, permanent(at, "%s is not a web address", at).because(err)
	}
	if err := c.guard.checkURL(req.URL); err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept-Encoding", acceptEncoding)
	release, err := c.polite.acquire(ctx, req.URL.Host, at, 0)
	if err != nil {
		return 0, nil, nil, err
	}
	defer release()
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	res, err := c.polite.ask(ctx, c.transport, req.WithContext(timed))
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode >= 300 {
		return res.StatusCode, res.Header, nil, nil
	}
	r, err := decoded(res.Body, res.Header.Get("Content-Encoding"))
	if err != nil {
		return 0, nil, nil, transient(at, "%s cannot be read: %v", at, err).because(err)
	}
	body, err := io.ReadAll(io.LimitReader(r, maxRobotsBytes))
	if err != nil {
		return 0, nil, nil, err
	}
	if len(body) == maxRobotsBytes {
		body = body[:bytes.LastIndexByte(body, '\n')+1] // half a rule could forbid or allow too much
	}
	return res.StatusCode, res.Header, body, nil
}
