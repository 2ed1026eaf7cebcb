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
	// maxCrawlDelay is what a robots.txt may ask for between two requests.
	maxCrawlDelay = time.Minute
	// turnLease is after which a turn counts as ended that was not given back. Hardly a request takes as long; the host of a
	// crawler that was killed is left alone for no longer.
	turnLease = 30 * time.Second
	// leastPoll keeps a fetch from asking for its turn without pause.
	leastPoll = 10 * time.Millisecond
	// leastDeferral is after which a fetch that has waited in vain comes back.
	leastDeferral = time.Second
)

// politeness makes the fetches of this process keep to the turns of all crawlers.
type politeness struct {
	turns   Turns
	pace    domain.Pace   // for a host that does not ask for a longer delay
	maxWait time.Duration // longer waits are handed back to the caller, whose worker has better things to do
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

// patience is how long a fetch waits at a host: for its turn, and in a queue of this process before it asks for one.
type patience struct{ turn, queue time.Duration }

// longQueue is the wait in a queue that is not worth a worker, which pages of other hosts could use.
const longQueue = 500 * time.Millisecond

// begun marks the context of a fetch that has had a turn already, or is one of many that make a whole. It waits for its
// next turn: one that was handed back would begin anew, and at a slow host never come to its end.
type begun struct{}

func withBegun(ctx context.Context) context.Context { return context.WithValue(ctx, begun{}, true) }

func (p *politeness) patience(ctx context.Context) patience {
	if ctx.Value(begun{}) != nil {
		longest := max(p.maxWait, 3*maxCrawlDelay)
		return patience{turn: longest, queue: longest}
	}
	return patience{turn: p.maxWait, queue: longQueue}
}

// acquire waits for the host's turn. delay is what the host asks for between two requests, if that is more than our
// own. It returns a deferred *Error when the turn is further away than the fetch's patience, and the context's error when that ends
// first. release must be called once.
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

// reserve asks for turns until it has one, and waits for its start.
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

// sleep waits, and fails with the cause of ctx's end when that comes first.
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

// deferred says when the host is asked again, and why not now if that is known here. delay is what its robots.txt asks
// for.
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

// ask makes the request, and takes note of how the host does. ctx is that of the caller; that of the request may end
// before it, and then the host was too slow.
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

// comeBack is called when the host itself has said when it wants to be asked again.
func (p *politeness) comeBack(ctx context.Context, host, how string, after time.Duration) {
	now := p.now()
	until := now.Add(after)
	p.breaker.told(host, how+" and asks to come back later", until, now)
	p.hold(ctx, host, until)
}

// failed counts a request that the host did not answer, or answered with a fault: status, 0 for no answer. It returns
// for how long the host is left alone, 0 where it is the page that fails, as far as is known.
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

// probeTimeout is how long a suspected host has to show that it is well.
const probeTimeout = 10 * time.Second

// alive finds out whether a host is well of which pages fail one after the other: a site may have any number of broken
// ones. It is asked for its robots.txt; that a gateway serves even when what is behind it fails, so where a gateway has
// answered, for the page that was to be had last.
func (p *politeness) alive(ctx context.Context, rt http.RoundTripper, req *http.Request, status int) bool {
	method, at := http.MethodGet, req.URL.Scheme+"://"+req.URL.Host+robots.Path
	if good := p.breaker.good(req.URL.Host); status > http.StatusInternalServerError && good != "" {
		method, at = http.MethodHead, good
	}
	if at == req.URL.String() {
		return false // this is what it has just failed to answer
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
	_, _ = io.CopyN(io.Discard, res.Body, 16<<10) // so that the connection can serve again
	return res.StatusCode < http.StatusInternalServerError && res.StatusCode != http.StatusTooManyRequests
}

// leaveAlone holds a host that fails, or has enough of us, for longer each time, and returns for how long.
func (p *politeness) leaveAlone(ctx context.Context, host, how string) time.Duration {
	d := p.breaker.trip(host, how, p.now())
	p.log.DebugContext(ctx, "host held", "host", host, "for", d, "reason", how)
	p.hold(ctx, host, p.now().Add(d))
	return d
}

// hold tells all crawlers. One that cannot be told asks the host once more, and finds out for itself.
func (p *politeness) hold(ctx context.Context, host string, until time.Time) {
	if err := p.turns.Hold(ctx, host, until); err != nil {
		p.log.WarnContext(ctx, "other crawlers cannot be told to leave a host alone", "host", host, "error", err)
	}
}
