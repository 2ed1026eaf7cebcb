package crawl

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// zone maps each name, including its trailing dot, to the responses of the test's DNS server. Each response is a list
// of records. The first query of a type gets the first response, the second query gets the second, and so on. Once all
// have been used, the last one is repeated. A record is an IP address, or a name for a CNAME. The record "truncated"
// truncates the response over UDP, which forces a retry over TCP.
type zone map[string][][]string

// names is a DNS server for UDP and TCP.
type names struct {
	zone zone

	mu    sync.Mutex
	asked map[string]int // number of queries by name and type
}

// dnsServer starts a DNS server for the zone and returns a resolver that uses only that server.
func dnsServer(t *testing.T, z zone) *net.Resolver {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n := &names{zone: z, asked: make(map[string]int)}
	var serving sync.WaitGroup
	serving.Go(func() { n.serveUDP(udp) })
	serving.Go(func() { n.serveTCP(tcp) })
	t.Cleanup(func() { _, _ = udp.Close(), tcp.Close(); serving.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, tcp.Addr().String())
	}}
}

func (n *names) serveUDP(conn net.PacketConn) {
	buf := make([]byte, 1_500)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if out, err := n.answer(buf[:size], true); err == nil {
			_, _ = conn.WriteTo(out, from)
		}
	}
}

func (n *names) serveTCP(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err == nil {
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(conn, query); err == nil {
				if out, err := n.answer(query, false); err == nil {
					_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
				}
			}
		}
		_ = conn.Close()
	}
}

func (n *names) answer(query []byte, udp bool) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	q := m.Questions[0]
	name := strings.ToLower(q.Name.String())
	if n.zone[name] == nil {
		m.RCode = dnsmessage.RCodeNameError
		return m.Pack()
	}
	n.add(&m, q, name, udp, 0)
	return m.Pack()
}

func (n *names) add(m *dnsmessage.Message, q dnsmessage.Question, name string, udp bool, depth int) {
	if depth > 5 {
		return
	}
	n.mu.Lock()
	key := name + q.Type.String()
	slots := n.zone[name]
	i := min(n.asked[key], len(slots)-1)
	if len(slots) > 0 && (!udp || slots[i][0] != "truncated") {
		n.asked[key]++
	}
	n.mu.Unlock()
	if i < 0 {
		return
	}
	h := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET, TTL: 1}
	for _, record := range slots[i] {
		ip, err := netip.ParseAddr(record)
		switch {
		case record == "truncated":
			if udp {
				m.Truncated = true
				return
			}
		case err != nil:
			h.Type = dnsmessage.TypeCNAME
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(record)}})
			n.add(m, q, record, udp, depth+1)
		case q.Type == dnsmessage.TypeA && ip.Is4():
			h.Type = q.Type
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
		case q.Type == dnsmessage.TypeAAAA && ip.Is6():
			h.Type = q.Type
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
}

// errOutside blocks connections that the guard let through to other machines.
var errOutside = errors.New("no test connects to the outside")

// fence lets no connection reach another machine. If the guard allows such a connection, fence makes it fail and
// increments `passed`.
func fence(c *Crawler, resolver *net.Resolver, passed *atomic.Int32) {
	c.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := c.guard.Dialer(address, 5*time.Second, resolver)
		check := d.ControlContext
		d.ControlContext = func(ctx context.Context, network, address string, conn syscall.RawConn) error {
			if err := check(ctx, network, address, conn); err != nil {
				return err
			}
			if ip := netip.MustParseAddrPort(address).Addr().Unmap(); !ip.IsLoopback() && !ip.IsUnspecified() {
				passed.Add(1)
				return errOutside
			}
			return nil
		}
		return d.DialContext(ctx, network, address)
	}
}
