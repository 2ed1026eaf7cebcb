package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
)

// dial sends the text unchanged over a new connection.
func (s *service) dial(text string) (net.Conn, *http.Response) {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(s.T, err)
	s.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, text)
	must(s.T, err)
	must(s.T, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(s.T, err)
	s.Cleanup(func() { _ = res.Body.Close() })
	return conn, res
}

func TestClientsThatStopSendingAreDisconnected(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	s := newService(t, func(o *api.Options, _ *api.Deps) {
		o.ReadTimeout, o.TempDir = 50*time.Millisecond, temp
	})
	upload := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nthe beginning"
	for path, c := range map[string]struct{ contentType, body string }{
		"/agents":      {"application/json", `{"name": "a`},
		"/datasources": {"multipart/form-data; boundary=x", upload},
	} {
		_, res := s.dial(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n%s", path, s.key, c.contentType, c.body))
		body, err := io.ReadAll(res.Body)
		must(t, err)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "send it without pauses longer than 50ms") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	_, res := s.dial("POST /agents HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	if res.StatusCode != http.StatusForbidden { // the service rejects a missing key without waiting for the body
		t.Errorf("without a key: %d", res.StatusCode)
	}
	left, err := os.ReadDir(temp)
	must(t, err)
	if len(left) != 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestATooLargeBodyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, limits)
	for path, contentType := range map[string]string{"/agents": "application/json", "/datasources": "multipart/form-data; boundary=x"} {
		_, res := s.dial(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 100000000\r\n\r\n", path, s.key, contentType))
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// TestADrippingClientIsDisconnected trickles its body. No pause exceeds the time-out, but the service must respond long
// before the body is complete.
func TestADrippingClientIsDisconnected(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.ReadTimeout = 200 * time.Millisecond })
	for path, contentType := range map[string]string{"/agents": "application/json", "/datastores/upsert/x": "application/json", "/datasources": "multipart/form-data; boundary=x"} {
		const length = 1_000_000
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		must(t, err)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, s.key, contentType, length)
		must(t, err)
		sent := make(chan int)
		go func() {
			n := 0
			for ; n < length; n++ {
				if _, err := io.WriteString(conn, " "); err != nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			sent <- n
		}()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		body, err := io.ReadAll(res.Body)
		must(t, err)
		_ = conn.Close()
		if n := <-sent; n == length {
			t.Errorf("%s: the whole body was read", path)
		}
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "at least 8 KiB per second") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}
