package milvus

import (
	"io"
	"net"
	"sync"
	"testing"
)

// testGate forwards connections to a server. Shut it to simulate an outage.
type testGate struct {
	net.Listener
	server string

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newGate(t *testing.T, server string) *testGate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &testGate{Listener: l, server: server, conns: make(map[net.Conn]bool)}
	g.wg.Go(g.run)
	t.Cleanup(func() {
		_ = l.Close()
		g.set(true)
		g.wg.Wait()
	})
	return g
}

func (g *testGate) run() {
	for {
		in, err := g.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.server)
		if err != nil || !g.addConn(in, out) {
			_ = in.Close()
			continue
		}
		for _, c := range [][2]net.Conn{{in, out}, {out, in}} {
			g.wg.Go(func() {
				_, _ = io.Copy(c[0], c[1])
				_, _ = c[0].Close(), c[1].Close()
			})
		}
	}
}

func (g *testGate) addConn(in, out net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		_ = out.Close()
		return false
	}
	g.conns[in], g.conns[out] = true, true
	return true
}

// set opens the gate, or shuts it and drops all connections.
func (g *testGate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	if shut {
		for c := range g.conns {
			_ = c.Close()
		}
		clear(g.conns)
	}
}
