package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/api"
)

// Like most clients, this one sends the whole body before it reads the response. The server rejects the request before
// it has received the body and then closes the connection. The client must still be able to read the error.
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

// The file exceeds the limit and is also larger than what the server drains for a client without a key.
func TestAClientWithATooLargeFileReadsTheError(t *testing.T) {
	t.Parallel()
	const size = 80 << 20
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.MaxUploadBytes = size - 1<<20 })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer conn.Close()
	start := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
	_, err = fmt.Fprintf(conn, "POST /datasources HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), s.key, size, start)
	must(t, err)
	if _, err := io.CopyN(conn, endless{}, size-int64(len(start))); err != nil {
		t.Fatalf("sending: %v", err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413") || !strings.Contains(string(answer), "the file is larger than the limit of 79 MiB (SLUICE_LIMIT_UPLOAD); send a smaller file, or several") {
		t.Errorf("got %.300q, %v", answer, err)
	}
}

func TestARejectedUploadHoldsNoSlot(t *testing.T) {
	t.Parallel()
	gate := closedLoop()
	s := newService(t, limits, func(o *api.Options, _ *api.Deps) { o.Admission.Uploads = gate })
	chunk := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n" + strings.Repeat("a", 3000)
	_, res := s.dial(fmt.Sprintf("POST /datasources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", s.key, len(chunk), chunk))
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
	// The server is still draining the first file.
	s.upload(part{name: "datastoreId", text: s.newDatastore()}, part{"file", "b.txt", "b"}).want(201)
}

// endless yields spaces forever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
