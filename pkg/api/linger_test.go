package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Like most clients, the client in this test sends the whole body before it reads the response. The server rejects the
// request early and closes the connection.
func TestAClientWithALargeBodyReadsTheError(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for name, c := range map[string]struct {
		path, key string
		chunked   bool
		status    int
	}{
		"a body that is too large":             {"/agents", s.key, false, 413},
		"one of which the length was not told": {"/agents", s.key, true, 413},
		"a message that is too large":          {"/mcp", s.key, false, 413},
		"a key that is not valid":              {"/agents", "sk_wrong", false, 403},
		"an endpoint that is not there":        {"/nowhere", s.key, false, 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			must(t, err)
			defer conn.Close()
			const size = 12 << 20
			length := fmt.Sprintf("Content-Length: %d", size)
			if c.chunked {
				length = "Transfer-Encoding: chunked"
			}
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", c.path, conn.RemoteAddr(), c.key, length)
			must(t, err)
			if c.chunked {
				_, err = fmt.Fprintf(conn, "%x\r\n", size)
				must(t, err)
			}
			if _, err := io.CopyN(conn, endless{}, size); err != nil {
				t.Fatalf("sending: %v", err)
			}
			if c.chunked {
				_, err = io.WriteString(conn, "\r\n0\r\n\r\n")
				must(t, err)
			}
			answer, err := io.ReadAll(conn)
			if want := fmt.Sprintf("HTTP/1.1 %d %s", c.status, http.StatusText(c.status)); err != nil || !strings.HasPrefix(string(answer), want) {
				t.Errorf("got %.200q, %v", answer, err)
			}
		})
	}
}

// endless is an endless sequence of spaces.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
