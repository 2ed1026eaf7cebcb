// Package faultproxy is a TCP proxy that fails as it is told to: tests put it between the service and what the service
// depends on, and see what becomes of requests while a server is down, silent, slow or coming and going.
//
// It knows nothing of what it carries, so that one proxy stands before NATS, PostgreSQL, Milvus and a model server alike.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// kind is what a Mode does to connections.
type kind int

const (
	pass kind = iota
	refuse
	silent
	slow
	cut
)

// Mode is what the proxy does with connections, old and new ones. The zero value passes everything on.
type Mode struct {
	kind     kind
	latency  time.Duration
	rate     int           // bytes a second, 0: any
	after    int64         // bytes
	up, down time.Duration // of one that flaps
}

// Pass passes everything on.
func Pass() Mode { return Mode{} }

// Refuse resets connections, old and new ones: the server is down.
func Refuse() Mode { return Mode{kind: refuse} }

// Blackhole accepts connections and lets nothing through, in either direction: the server hangs, or the network drops
// what is sent. What was held back goes on when another mode is set.
func Blackhole() Mode { return Mode{kind: silent} }

// Slow lets each piece wait for the latency, and no more than rate bytes a second through in each direction of a
// connection; 0: as many as come.
func Slow(latency time.Duration, rate int) Mode {
	return Mode{kind: slow, latency: latency, rate: rate}
}

// CutAfter resets each connection once it has carried that many bytes in both directions together, counted from now on.
func CutAfter(bytes int64) Mode { return Mode{kind: cut, after: bytes} }

// Flap is in turn Pass for a time and Refuse for another, beginning with Refuse.
func Flap(up, down time.Duration) Mode { return Mode{kind: refuse, up: up, down: down} }

// Proxy carries connections to a server. It is safe for concurrent use.
type Proxy struct {
	to       string
	listener net.Listener
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	mode    Mode
	changed chan struct{} // closed when mode changes
	links   map[*link]bool
}

// link is one connection through the proxy.
type link struct {
	client net.Conn
	ended  context.Context
	end    context.CancelFunc

	mu   sync.Mutex
	left int64 // bytes until it is cut
}

// dialTimeout bounds connecting to the server.
const dialTimeout = 5 * time.Second

// Start listens on a port of loopback and carries connections to the address until Close.
func Start(to string) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", to, err)
	}
	p := &Proxy{to: to, listener: listener, changed: make(chan struct{}), links: map[*link]bool{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, host and port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set has the proxy do otherwise from now on.
func (p *Proxy) Set(m Mode) {
	changed := p.set(m)
	if m.up > 0 && m.down > 0 {
		p.running.Go(func() { p.flap(m, changed) })
	}
}

func (p *Proxy) set(m Mode) (changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.links {
		l.mu.Lock()
		l.left = m.after
		l.mu.Unlock()
		if m.kind == refuse {
			l.reset()
		}
	}
	return p.changed
}

// flap switches until somebody else sets a mode.
func (p *Proxy) flap(m Mode, changed <-chan struct{}) {
	for up := true; ; up = !up {
		phase := m.down
		if !up {
			phase = m.up
		}
		timer := time.NewTimer(phase)
		select {
		case <-timer.C:
		case <-changed:
		case <-p.ctx.Done():
		}
		timer.Stop()
		p.mu.Lock()
		mine := p.changed == changed && p.ctx.Err() == nil
		p.mu.Unlock()
		if !mine {
			return
		}
		next := Pass()
		if !up {
			next = Refuse()
		}
		changed = p.set(next)
	}
}

// Close ends all connections and waits for their goroutines. It may be called twice.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.mu.Lock()
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.carry(conn) })
	}
}

// carry is a connection's whole life.
func (p *Proxy) carry(client net.Conn) {
	l := &link{client: client}
	l.ended, l.end = context.WithCancel(p.ctx)
	defer func() {
		l.end()
		client.Close() // in peace, unless it was reset: what was sent still arrives
	}()
	p.mu.Lock()
	if p.ctx.Err() != nil || p.mode.kind == refuse {
		p.mu.Unlock()
		l.reset()
		return
	}
	l.left = p.mode.after
	p.links[l] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	if n, _ := p.admit(l, 0); n < 0 {
		l.reset()
		return
	}
	server, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(l.ended, "tcp", p.to)
	if err != nil {
		l.reset()
		return
	}
	defer server.Close()
	defer context.AfterFunc(l.ended, func() { server.Close() })()
	var both sync.WaitGroup
	both.Go(func() { p.pipe(l, server, client) })
	both.Go(func() { p.pipe(l, client, server) })
	both.Wait()
}

// pipe carries one direction.
func (p *Proxy) pipe(l *link, to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			allowed, last := p.admit(l, n)
			if allowed > 0 {
				if _, err := to.Write(buffer[:allowed]); err != nil {
					l.reset()
					return
				}
			}
			if last {
				l.reset()
				return
			}
		}
		if err != nil {
			if half, ok := to.(*net.TCPConn); ok && errors.Is(err, io.EOF) {
				_ = half.CloseWrite() // it may be closed
				return
			}
			l.reset()
			return
		}
	}
}

// admit waits as long as the mode wants n bytes to wait, and says how many may go on, -1 when the connection has ended,
// and whether they are the last.
func (p *Proxy) admit(l *link, n int) (allowed int, last bool) {
	for {
		p.mu.Lock()
		mode, changed := p.mode, p.changed
		p.mu.Unlock()
		switch mode.kind {
		case refuse:
			return -1, true
		case silent:
			select {
			case <-changed:
				continue
			case <-l.ended.Done():
				return -1, true
			}
		case slow:
			wait := mode.latency
			if mode.rate > 0 {
				wait += time.Duration(n) * time.Second / time.Duration(mode.rate)
			}
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-changed:
			case <-l.ended.Done():
				return -1, true
			}
		case cut:
			l.mu.Lock()
			defer l.mu.Unlock()
			allowed = int(min(int64(n), l.left))
			l.left -= int64(allowed)
			return allowed, l.left == 0
		}
		return n, false
	}
}

// reset ends the connection as a server does that dies: nothing more is sent, and the peer is told at once.
func (l *link) reset() {
	l.end()
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed
	}
	l.client.Close()
}
