// Package faultproxy implements a TCP proxy that simulates faults. Tests put it between the service and a server it
// depends on, to see how requests behave while that server is down, silent, slow or flapping.
//
// It works with any protocol over TCP, such as those of NATS, PostgreSQL, Milvus and model servers.
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

type kind int

const (
	pass kind = iota
	refuse
	blackhole
	slow
	cut
)

// Mode says how the proxy treats existing and new connections. The zero value passes all data.
type Mode struct {
	kind     kind
	latency  time.Duration
	rate     int           // bytes per second; 0 means no limit
	after    int64         // bytes after which a connection is reset
	up, down time.Duration // lengths of a flapping mode's phases
}

// Pass passes all data.
func Pass() Mode { return Mode{} }

// Refuse resets existing and new connections, as if the server were down.
func Refuse() Mode { return Mode{kind: refuse} }

// Blackhole accepts connections but passes no data in either direction, like a hung server or a network that drops
// packets. The withheld data is forwarded once another mode is set.
func Blackhole() Mode { return Mode{kind: blackhole} }

// Slow delays all data by the given latency and limits each direction of a connection to `rate` bytes per second. A
// rate of 0 means no limit.
func Slow(latency time.Duration, rate int) Mode {
	return Mode{kind: slow, latency: latency, rate: rate}
}

// CutAfter resets each connection after it has passed the given number of further bytes, counted over both directions.
func CutAfter(bytes int64) Mode { return Mode{kind: cut, after: bytes} }

// Flap alternates between two modes: Refuse for the duration `down`, and then Pass for the duration `up`.
func Flap(up, down time.Duration) Mode { return Mode{kind: refuse, up: up, down: down} }

// Proxy forwards connections to a server. It is safe for concurrent use.
type Proxy struct {
	to       string
	listener net.Listener
	ctx      context.Context // done when Close is called
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	mode    Mode
	changed chan struct{} // closed when `mode` changes
	links   map[*link]bool
}

// link is a connection through the proxy.
type link struct {
	client net.Conn
	ended  context.Context
	end    context.CancelFunc

	mu   sync.Mutex
	left int64 // bytes that may still pass before the connection is reset
}

const dialTimeout = 5 * time.Second

// Start listens on a loopback port and forwards connections to the address `to` until Close is called.
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

// Addr returns the host and port the proxy listens on.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the mode.
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

// flap alternates between refusing and passing connections until another mode is set.
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

// Close closes all connections and waits for the proxy's goroutines. It may be called twice.
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

// carry forwards data in both directions until the connection ends.
func (p *Proxy) carry(client net.Conn) {
	l := &link{client: client}
	l.ended, l.end = context.WithCancel(p.ctx)
	defer func() {
		l.end()
		client.Close() // no-op after a reset; otherwise data in flight still arrives
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
	if n, _ := p.delay(l, 0); n < 0 {
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

// pipe forwards one direction of a connection.
func (p *Proxy) pipe(l *link, to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			allowed, last := p.delay(l, n)
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
				_ = half.CloseWrite() // fails if the connection is already closed
				return
			}
			l.reset()
			return
		}
	}
}

// delay waits for as long as the current mode delays n bytes. It returns how many of these bytes may pass, or -1 if the
// connection ends before any of them may. If `last` is true, the connection must be ended after the allowed bytes have
// passed.
func (p *Proxy) delay(l *link, n int) (allowed int, last bool) {
	for {
		p.mu.Lock()
		mode, changed := p.mode, p.changed
		p.mu.Unlock()
		switch mode.kind {
		case refuse:
			return -1, true
		case blackhole:
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

// reset resets the connection like a crashing server: no more data is sent, and the peer notices at once.
func (l *link) reset() {
	l.end()
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails if the connection is already closed
	}
	l.client.Close()
}
