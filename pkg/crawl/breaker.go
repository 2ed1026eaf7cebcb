package crawl

import (
	"sync"
	"time"
)

const (
	// breakerFailures is how many requests in a row must fail before the host is suspected, and not its pages.
	breakerFailures = 3
	breakerFirst    = 5 * time.Second
	breakerLongest  = 10 * time.Minute

	// A host that asks to come back later does so for a while, and its pages wait at no cost. One that has answered nothing
	// else so often, for so long, fails: its pages count their attempts, and come to an end.
	refusalsInRow   = 3
	refusalPatience = time.Hour
)

// breaker counts the failures of hosts in a row, over all fetches of the process. A host that is found to fail is left
// alone, each time for twice as long; one answer puts it right again. The breaker also remembers why a host is held,
// for the messages of the fetches that wait.
type breaker struct {
	mu    sync.Mutex
	hosts map[string]*hostHealth
}

type hostHealth struct {
	failures int
	suspect  bool          // somebody is finding out whether it is the host that fails
	pause    time.Duration // the newest one, 0 before the first
	until    time.Time     // its end, or when the host asked to come back
	why      string        // for people
	fails    bool          // it is held because it fails, and not because it has asked for that
	good     string        // the page that was answered last
	refusals int           // answers in a row that asked to come back later
	refused  time.Time     // when the first of them came
}

// fail counts a failure. It returns how long the host is held already, and whether the caller is to find out if it is
// the host that fails, and to tell by trip, answered or unsure.
func (b *breaker) fail(host string, now time.Time) (held time.Duration, suspect bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	h.failures++
	if left := h.until.Sub(now); left > 0 {
		return left, false // the request was under way when the host was first held
	}
	if h.failures < breakerFailures || h.suspect {
		return 0, false
	}
	h.suspect = true
	return 0, true
}

// trip holds a host that fails, and returns for how long.
func (b *breaker) trip(host, why string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	h.suspect = false
	if left := h.until.Sub(now); left > 0 {
		return left
	}
	h.pause = min(max(2*h.pause, breakerFirst), breakerLongest)
	h.until, h.why, h.fails = now.Add(h.pause), why, true
	return h.pause
}

// told notes that the host itself has said until when it wants to be left alone. It fails if that is all that it has said
// for long.
func (b *breaker) told(host, why string, until, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	if h.refusals++; h.refusals == 1 {
		h.refused = now
	}
	h.until, h.why = later(h.until, until), why
	h.fails = h.refusals >= refusalsInRow && now.Sub(h.refused) >= refusalPatience
}

// served notes that the host answers what it is asked for. Its robots.txt does not count: that is served to everybody.
func (b *breaker) served(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		h.refusals = 0
	}
}

// answered forgets the failures of the host. A hold that is under way stays: the answer is one to an earlier request.
// page is what was answered, "" if it was no page.
func (b *breaker) answered(host, page string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[host]
	if h == nil && page == "" {
		return
	}
	h = b.host(host, now)
	h.failures, h.pause, h.suspect = 0, 0, false
	if page != "" {
		h.good = page
	}
}

// unsure ends a suspicion that was neither confirmed nor refuted.
func (b *breaker) unsure(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		h.suspect = false
	}
}

// good is the page that the host answered last, "" if none is known.
func (b *breaker) good(host string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		return h.good
	}
	return ""
}

// held is how long the host is still to be left alone, as far as this process knows.
func (b *breaker) held(host string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		return max(h.until.Sub(now), 0)
	}
	return 0
}

// cause says why the host is held, and whether it is because it fails; "" when nothing is known of it here.
func (b *breaker) cause(host string, now time.Time) (why string, fails bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil && h.until.After(now) {
		return h.why, h.fails
	}
	return "", false
}

// host returns what is known, and makes room first. Called with mu held.
func (b *breaker) host(name string, now time.Time) *hostHealth {
	if h := b.hosts[name]; h != nil {
		return h
	}
	if len(b.hosts) >= maxHosts {
		for other, h := range b.hosts {
			if h.failures == 0 && h.refusals == 0 && !h.until.After(now) {
				delete(b.hosts, other)
			}
		}
		if len(b.hosts) >= maxHosts {
			clear(b.hosts) // they are counted anew; what is held stays so, in Turns
		}
	}
	if b.hosts == nil {
		b.hosts = make(map[string]*hostHealth)
	}
	h := &hostHealth{}
	b.hosts[name] = h
	return h
}
