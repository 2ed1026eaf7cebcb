package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	// maxCrawlDelay is the maximum interval between two requests. A longer Crawl-delay is reduced to it.
	maxCrawlDelay = time.Minute
	// turnLease is the lease after which an unreleased turn is reclaimed. Few requests take longer, and the host of a
	// killed crawler is blocked for no longer.
	turnLease = 30 * time.Second
	// leastPoll is the minimum interval between requests for a turn.
	leastPoll = 10 * time.Millisecond
	// leastDeferral is the minimum delay until a deferred fetch returns.
	leastDeferral = time.Second
)

// politeness makes the fetches of this process keep to the pace that all crawlers share.
type politeness struct {
	turns   Turns
	pace    domain.Pace   // for hosts that request no longer delay
	maxWait time.Duration // longer waits defer the fetch, to free its worker
	now     func() time.Time
	log     *slog.Logger
	gates   gates
	later   comebacks
	breaker breaker
}

func newPoliteness(o Options) *politeness {
	p := &politeness{
		turns: o.Turns, maxWait: o.MaxWait, now: o.Now, log: o.Log,
		pace: domain.Pace{
			Concurrency: max(o.PerHostConcurrency, 0), Delay: o.PerHostDelay, Lease: turnLease,
		},
	}
	if p.turns == nil {
		p.turns = NewLocalTurns(o.Now)
	}
	return p
}

// patience is the maximum time that a fetch waits at a host: for its turn, and in this process's queue before it
// requests one.
type patience struct{ turn, queue time.Duration }

// Maximum wait in a queue. A longer one would occupy a worker that could fetch pages of other hosts.
const longQueue = 500 * time.Millisecond

// begun marks the context of a fetch that has already had a turn, or that is part of a larger operation. Such a fetch
// waits for its next turn instead of being deferred: after a deferral it would start again, and at a slow host it would
// never finish.
type begun struct{}

func withBegun(ctx context.Context) context.Context { return context.WithValue(ctx, begun{}, true) }

func (p *politeness) patience(ctx context.Context) patience {
	if ctx.Value(begun{}) != nil {
		longest := max(p.maxWait, 3*maxCrawlDelay)
		return patience{turn: longest, queue: longest}
	}
	return patience{turn: p.maxWait, queue: longQueue}
}

// acquire waits for the host's turn. delay is the interval that the host requests, which applies if it is longer than
// the configured one. acquire returns a deferred *Error if the turn is further away than the fetch's patience, or the
// context's error if ctx ends first. release must be called once.
func (p *politeness) acquire(ctx context.Context, host, u string, delay time.Duration) (release func(), err error) {
	pace := p.pace
	pace.Delay = max(pace.Delay, min(delay, maxCrawlDelay))
	patience := p.patience(ctx)
	if d := p.breaker.held(host, p.now()); d > p.maxWait {
		return nil, p.deferred(u, host, delay, p.later.after(host, d, pace.Delay, p.now()))
	}
	began := time.Now()
	leave, err := p.gates.enter(ctx, host, pace.Concurrency, pace.Delay, patience)
	switch {
	case err != nil:
		return nil, err
	case leave == nil:
		return nil, p.deferred(u, host, delay, p.later.after(host, max(pace.Delay, leastDeferral), pace.Delay, p.now()))
	}
	turn, err := p.reserve(ctx, host, u, pace, delay, patience.turn-time.Since(began))
	if err != nil {
		leave()
		return nil, err
	}
	return func() { turn.Release(); leave() }, nil
}

// reserve requests a turn until one is granted, and waits for its start.
func (p *politeness) reserve(ctx context.Context, host, u string, pace domain.Pace, delay, patience time.Duration) (domain.Turn, error) {
	for {
		patience = max(patience, 0)
		turn, err := p.turns.Reserve(ctx, host, pace, patience)
		switch {
		case err != nil && ctx.Err() != nil:
			return domain.Turn{}, context.Cause(ctx)
		case err != nil:
			return domain.Turn{}, transient(u, "%s was not fetched: whose turn it is at %s cannot be told", u, host).because(err)
		case !turn.Granted && turn.Wait > patience:
			return domain.Turn{}, p.deferred(u, host, delay, p.later.after(host, max(turn.Wait, leastDeferral), pace.Delay, p.now()))
		}
		wait := turn.Wait
		if !turn.Granted {
			wait = max(wait, leastPoll)
		}
		if err := sleep(ctx, wait); err != nil {
			if turn.Granted {
				turn.Release()
			}
			return domain.Turn{}, err
		}
		if turn.Granted {
			return turn, nil
		}
		patience -= wait
	}
}

// sleep waits for d. If ctx ends first, it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errHostFails = errors.New("the host fails")

// deferred returns the error for a fetch that must return later, with the reason if this process knows it. delay is the
// Crawl-delay of the host's robots.txt.
func (p *politeness) deferred(u, host string, delay, d time.Duration) *Error {
	why, fails := p.breaker.cause(host, p.now())
	switch {
	case why != "":
	case delay > maxCrawlDelay:
		why = fmt.Sprintf("%s waits for its turn (robots.txt asks for %s between two requests, %s is kept)", u, delay, maxCrawlDelay)
	case delay > p.pace.Delay:
		why = fmt.Sprintf("%s waits for its turn (robots.txt asks for %s between two requests)", u, delay)
	default:
		why = fmt.Sprintf("%s waits for its turn", u)
	}
	e := transient(u, "%s; %s is asked again in %s", why, host, max(d.Round(time.Second), time.Second))
	e.Deferred, e.RetryAfter = true, d
	if fails {
		e.Err = errHostFails
	}
	return e
}

// ask sends the request and records the health of the host. ctx is the caller's context. If only the request's own
// context ends, the host was too slow.
func (p *politeness) ask(ctx context.Context, rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	host, u := req.URL.Host, req.URL.String()
	res, err := rt.RoundTrip(req)
	if err != nil {
		var e *Error
		if errors.As(classify(ctx, u, err), &e) && !e.Permanent {
			e.RetryAfter = max(e.RetryAfter, p.failed(ctx, rt, req, fmt.Sprintf("%s does not answer (%s)", host, rootCause(err)), 0))
			return nil, e
		}
		return nil, err
	}
	rules := req.URL.Path == robots.Path
	if res.StatusCode < 400 {
		if !rules {
			p.breaker.served(host)
		}
		if res.StatusCode >= 300 {
			u = ""
		}
		p.breaker.answered(host, u, p.now())
		return res, nil
	}
	e := statusError(u, res.StatusCode, res.Header, p.now())
	if e.Permanent && !rules {
		p.breaker.served(host)
	}
	switch {
	case e.Permanent:
		p.breaker.answered(host, "", p.now())
	case e.RetryAfter > 0:
		p.comeBack(ctx, host, e.answer(host), e.RetryAfter)
	case res.StatusCode == http.StatusTooManyRequests:
		p.leaveAlone(ctx, host, e.answer(host))
	case res.StatusCode >= http.StatusInternalServerError:
		p.failed(ctx, rt, req, e.answer(host), res.StatusCode)
	}
	return res, nil
}

// comeBack records that the host itself asked to come back later.
func (p *politeness) comeBack(ctx context.Context, host, how string, after time.Duration) {
	now := p.now()
	until := now.Add(after)
	p.breaker.told(host, how+" and asks to come back later", until, now)
	p.hold(ctx, host, until)
}

// failed counts a request without a response or with an error status (status 0: no response). It returns how long the
// host is paused, or 0 if, as far as is known, only the page fails.
func (p *politeness) failed(ctx context.Context, rt http.RoundTripper, req *http.Request, how string, status int) time.Duration {
	host := req.URL.Host
	held, suspect := p.breaker.fail(host, p.now())
	if !suspect {
		return held
	}
	switch alive := p.alive(ctx, rt, req, status); {
	case ctx.Err() != nil:
		p.breaker.unsure(host)
		return 0
	case alive:
		p.breaker.answered(host, "", p.now())
		return 0
	}
	return p.leaveAlone(ctx, host, how)
}

// Time limit for a probe of a suspected host.
const probeTimeout = 10 * time.Second

// alive probes a host after consecutive failures, because a site may have any number of broken pages. It requests
// robots.txt. After a gateway error (502–504), where robots.txt may come from the gateway itself, it requests the last
// page that was served.
func (p *politeness) alive(ctx context.Context, rt http.RoundTripper, req *http.Request, status int) bool {
	method, at := http.MethodGet, req.URL.Scheme+"://"+req.URL.Host+robots.Path
	if good := p.breaker.good(req.URL.Host); status > http.StatusInternalServerError && good != "" {
		method, at = http.MethodHead, good
	}
	if at == req.URL.String() {
		return false // this address has just failed
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	probe, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return false
	}
	probe.Header.Set("User-Agent", req.Header.Get("User-Agent"))
	res, err := rt.RoundTrip(probe)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 16<<10) // so that the connection can be reused
	return res.StatusCode < http.StatusInternalServerError && res.StatusCode != http.StatusTooManyRequests
}

// leaveAlone pauses a host that fails or rejects the crawler, each time for longer, and returns for how long.
func (p *politeness) leaveAlone(ctx context.Context, host, how string) time.Duration {
	d := p.breaker.trip(host, how, p.now())
	p.log.DebugContext(ctx, "host held", "host", host, "for", d, "reason", how)
	p.hold(ctx, host, p.now().Add(d))
	return d
}

// hold tells all crawlers about a pause. If that fails, other crawlers find out from their next request.
func (p *politeness) hold(ctx context.Context, host string, until time.Time) {
	if err := p.turns.Hold(ctx, host, until); err != nil {
		p.log.WarnContext(ctx, "other crawlers cannot be told to leave a host alone", "host", host, "error", err)
	}
}
