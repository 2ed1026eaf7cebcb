package crawl

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
)

// transport sends requests. net/http rejects a whole response because of a single malformed header line, which browsers
// ignore. In that case, transport retries the request over a connection that drops malformed lines.
type transport struct {
	*http.Transport
	tolerant func() *http.Transport
	check    func(*http.Request, *http.Response) error // checks each response; if it refuses one, it closes the body
}

func newTolerant(t *http.Transport, check func(*http.Request, *http.Response) error) *transport {
	return &transport{Transport: t, check: check, tolerant: sync.OnceValue(func() *http.Transport { return newTolerantTransport(t) })}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.Transport.RoundTrip(req)
	var broken textproto.ProtocolError
	if !errors.As(err, &broken) || !strings.Contains(broken.Error(), "MIME header") || req.Method != http.MethodGet && req.Method != http.MethodHead {
		return t.checked(req, res, err)
	}
	res, err = t.tolerant().RoundTrip(req)
	return t.checked(req, res, err)
}

func (t *transport) checked(req *http.Request, res *http.Response, err error) (*http.Response, error) {
	if err == nil {
		err = t.check(req, res)
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// newTolerantTransport returns a copy of a transport whose connections drop malformed header lines. Each connection
// serves only one response, because the code that drops lines cannot tell where a body ends. The copy uses HTTP/1.1,
// because later versions have no header lines.
func newTolerantTransport(of *http.Transport) *http.Transport {
	t := of.Clone()
	t.DisableKeepAlives = true
	t.ForceAttemptHTTP2 = false
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	dial := of.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newCleanConn(c), nil
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		cfg := of.TLSClientConfig.Clone()
		if cfg == nil {
			cfg = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if cfg.NextProtos = nil; cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(address)
		}
		secure := tls.Client(c, cfg)
		ctx, cancel := context.WithTimeout(ctx, of.TLSHandshakeTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return newCleanConn(secure), nil
	}
	return t
}

// cleanConn drops malformed lines from the header of the single response it reads.
type cleanConn struct {
	net.Conn
	in    *bufio.Reader
	ready []byte // unread part of the cleaned header
	body  bool   // the header has been read, and the body follows
	err   error  // the error that ended the header early
}

func newCleanConn(c net.Conn) *cleanConn { return &cleanConn{Conn: c, in: bufio.NewReader(c)} }

// Read implements net.Conn.
func (c *cleanConn) Read(p []byte) (int, error) {
	if !c.body {
		c.body = true
		c.ready, c.err = cleanHeader(c.in)
	}
	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.in.Read(p)
}

// cleanHeader reads the headers of a response and of any interim responses before it, dropping malformed lines. It
// fails if a header is larger than maxHeaderBytes.
func cleanHeader(in *bufio.Reader) ([]byte, error) {
	var (
		out     []byte
		dropped bool // the previous line was dropped, so its continuation is dropped too
		interim bool
		first   = true
	)
	for read := 0; read <= maxHeaderBytes; {
		line, err := readLine(in, maxHeaderBytes)
		read += len(line)
		if err != nil {
			return append(out, line...), err
		}
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if !bytes.HasPrefix(text, []byte("HTTP/")) {
				return append(out, line...), nil // not HTTP; net/http will report that
			}
			code := statusCode(text)
			interim = code >= 100 && code < 200 && code != http.StatusSwitchingProtocols
			first, dropped = false, true // the next line cannot be a continuation
		case len(text) == 0:
			out = append(out, line...)
			if !interim {
				return out, nil
			}
			first = true
			continue
		case text[0] == ' ' || text[0] == '\t':
			if dropped || hasControls(text) {
				continue
			}
		default:
			if dropped = !isHeaderLine(text); dropped {
				continue
			}
		}
		out = append(out, line...)
	}
	return nil, errors.New(headersTooLarge)
}

// readLine reads a line with its line feed. It fails if the line is much longer than `limit` bytes.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > limit {
			return line, errors.New(headersTooLarge)
		}
	}
}

func statusCode(statusLine []byte) int {
	_, rest, _ := bytes.Cut(statusLine, []byte(" "))
	code := 0
	for _, d := range rest[:min(3, len(rest))] {
		if d < '0' || d > '9' {
			return 0
		}
		code = code*10 + int(d-'0')
	}
	return code
}

// isHeaderLine reports whether net/http accepts the line as `Name: value`.
func isHeaderLine(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 || hasControls(value) {
		return false
	}
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return true
}

func hasControls(value []byte) bool {
	return bytes.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
