package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
)

// sender writes a request in several steps. Tests ignore its error and check only the response, because the server may
// close the connection before it has received the whole request.
type sender func(w io.Writer) error

func all(text string) sender {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// hostile sends an invalid request over a new connection, reading the response while it sends. It returns nil if the
// connection is closed without a response.
func (s *service) hostile(t *testing.T, send sender) *response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = send(conn) // see sender
	}()
	defer func() { conn.Close(); <-sent }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body) // net/http may truncate its own responses if clients keep sending; a truncated API response fails later as invalid JSON
	return &response{T: t, status: res.StatusCode, header: res.Header, body: body}
}

func (s *service) post(path, contentType, more string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n%s\r\n", path, s.key, contentType, more)
}

func length(n int) string { return "Content-Length: " + strconv.Itoa(n) + "\r\n" }

func repeated(w io.Writer, text string, n int) error {
	block := strings.Repeat(text, 1+64<<10/len(text))
	for left := n * len(text); left > 0; {
		piece := block[:min(len(block), left)]
		if _, err := io.WriteString(w, piece); err != nil {
			return err
		}
		left -= len(piece)
	}
	return nil
}

func zipped(write func(w io.Writer)) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	write(z)
	_ = z.Close() // cannot fail, because it writes to memory
	return b.Bytes()
}

// TestHostileRequests sends the kinds of requests that attackers, broken proxies and fuzzers send. None may get a 5xx
// or an error in another format, or make the service exceed its memory limits.
func TestHostileRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	const maxJSON, maxUpload = 1 << 20, 1 << 20
	s := newScene(t, func(o *api.Options, _ *api.Deps) {
		o.ReadTimeout, o.MaxJSONBytes, o.MaxUploadBytes = 300*time.Millisecond, maxJSON, maxUpload
	})
	agents := "/agents"
	withBody := func(body string) sender { return all(s.post(agents, "application/json", length(len(body))) + body) }
	chunked := func(write func(w io.Writer) error) sender {
		return func(w io.Writer) error {
			if _, err := io.WriteString(w, s.post(agents, "application/json", "Transfer-Encoding: chunked\r\n")); err != nil {
				return err
			}
			return write(w)
		}
	}
	bomb := zipped(func(w io.Writer) { _ = repeated(w, `{"name":"a"} `, 4<<20) }) // about 50 MiB
	upload := "--x\r\nContent-Disposition: form-data; name=\"datastoreId\"\r\n\r\n" + s.datastore +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
	var many strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&many, `,"f%d":%d`, n, n)
	}
	for name, c := range map[string]struct {
		send   sender
		status []int // expected statuses; nil means any 4xx status or a closed connection
	}{
		"a body of a gigabyte, as announced": {all(s.post(agents, "application/json", length(1<<30)) + "{"), []int{413}},
		"a body of a gigabyte, by and by": {chunked(func(w io.Writer) error {
			if _, err := io.WriteString(w, "40000000\r\n"); err != nil {
				return err
			}
			return repeated(w, "a", 1<<30)
		}), []int{413}},
		"an upload of a gigabyte, by and by": {func(w io.Writer) error {
			head := s.post("/datasources", "multipart/form-data; boundary=x", "Transfer-Encoding: chunked\r\n")
			if _, err := io.WriteString(w, head+fmt.Sprintf("%x\r\n%s\r\n40000000\r\n", len(upload), upload)); err != nil {
				return err
			}
			return repeated(w, "a", 1<<30)
		}, []int{413}},
		"a negative length":                 {all(s.post(agents, "application/json", "Content-Length: -1\r\n") + "{}"), []int{400}},
		"a length beyond all bounds":        {all(s.post(agents, "application/json", "Content-Length: 99999999999999999999\r\n") + "{}"), []int{400}},
		"two lengths":                       {all(s.post(agents, "application/json", length(2)+length(12)) + `{"name":"ab"}`), []int{400}},
		"a length, and chunks":              {all(s.post(agents, "application/json", length(4)+"Transfer-Encoding: chunked\r\n") + "0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"), []int{400}},
		"chunks of a size that is none":     {chunked(func(w io.Writer) error { _, err := io.WriteString(w, "xyz\r\n{}\r\n0\r\n\r\n"); return err }), []int{400}},
		"chunks that never end":             {chunked(func(w io.Writer) error { _, err := io.WriteString(w, "2\r\n{}\r\n"); return err }), []int{400}},
		"an encoding that there is not":     {all(s.post(agents, "application/json", "Transfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n"), []int{400, 501}},
		"deeper than anything":              {withBody(`{"name":` + strings.Repeat("[", 500_000)), []int{400}},
		"deep, and whole":                   {withBody(`{"name":"a","x":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}"), []int{400}},
		"100,000 fields":                    {withBody(`{"name":"a"` + many.String() + "}"), []int{400, 413}},
		"100,000 faults":                    {withBody(`{"name":"a","datastoreIds":[1` + strings.Repeat(",1", 100_000) + "]}"), []int{400}},
		"keys that stand twice, many times": {withBody(`{"name":"a"` + strings.Repeat(`,"name":"b"`, 50_000) + "}"), []int{400}},
		"a body cut short":                  {all(s.post(agents, "application/json", length(1000)) + `{"name":"a`), []int{400}},
		"NaN":                               {withBody(`{"name":"a","temperature":NaN}`), []int{400}},
		"Infinity":                          {withBody(`{"name":"a","temperature":-Infinity}`), []int{400}},
		"a number of a million digits":      {withBody(`{"name":"a","temperature":1` + strings.Repeat("0", 1_000_000) + "}"), []int{400, 413}},
		"half a surrogate":                  {withBody(`{"name":"a\ud800"}`), []int{201, 400}}, // decoded as U+FFFD
		"surrogates the wrong way round":    {withBody(`{"name":"\udc00\ud800"}`), []int{201, 400}},
		"NUL":                               {withBody(`{"name":"a\u0000b"}`), []int{400}},
		"NUL as it is":                      {withBody("{\"name\":\"a\x00b\"}"), []int{400}},
		"bytes that are no UTF-8":           {withBody("{\"name\":\"\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\"}"), []int{400}},
		"UTF-16":                            {withBody("\xff\xfe{\x00\"\x00n\x00"), []int{400}},
		"a gzip bomb": {func(w io.Writer) error {
			return all(s.post(agents, "application/json", length(len(bomb))+"Content-Encoding: gzip\r\n") + string(bomb))(w)
		}, []int{415}},
		"a gzip bomb as an upload": {func(w io.Writer) error {
			body := upload + string(bomb) + "\r\n--x--\r\n"
			return all(s.post("/datasources", "multipart/form-data; boundary=x", length(len(body))+"Content-Encoding: gzip\r\n") + body)(w)
		}, []int{201, 400, 415}}, // accepted as an ordinary file; only the extractor reads its content
		"a boundary of a megabyte":   {all(s.post("/datasources", "multipart/form-data; boundary="+strings.Repeat("x", 1<<20), length(2)) + "--"), []int{400, 431}},
		"a form of 100,000 parts":    {all(s.post("/datasources", "multipart/form-data; boundary=x", length(100_000*62)) + strings.Repeat("--x\r\nContent-Disposition: form-data; name=\"p\"\r\n\r\nvalue....\r\n", 100_000)), []int{400, 413}},
		"a part with a huge header":  {all(s.post("/datasources", "multipart/form-data; boundary=x", length(600_000)) + "--x\r\nX: " + strings.Repeat("h", 500_000)), []int{400, 413}},
		"a form without an end":      {all(s.post("/datasources", "multipart/form-data; boundary=x", length(len(upload)+3)) + upload + "abc"), []int{400}},
		"headers without an end":     {func(w io.Writer) error { return repeated(w, "GET / HTTP/1.1\r\nA: b\r\n", 1<<20) }, nil},
		"a header of ten megabytes":  {all("GET /agents HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("h", 10<<20) + "\r\n\r\n"), nil},
		"an address of a megabyte":   {all("GET /agents/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n"), nil},
		"an address with everything": {all("GET /agents/%00%ff%2f..%5c'\"<>;--%0d%0aX:y HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.service.key + "\r\n\r\n"), []int{400, 404}},
		"a cookie of ten megabytes":  {all("GET /agents HTTP/1.1\r\nHost: x\r\nCookie: a=" + strings.Repeat("c", 10<<20) + "\r\n\r\n"), nil},
		"250,000 headers":            {all("GET /agents HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: b\r\n", 250_000) + "\r\n"), nil},
		"requests one upon another":  {all(strings.Repeat("GET /agents HTTP/1.1\r\nHost: x\r\n\r\n", 1000)), []int{403}},
		"no HTTP":                    {all("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 100) + "\r\n\r\n"), nil},
		"HTTP/2 at once":             {all("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), nil},
		"a method of its own":        {all("DROP /agents HTTP/1.1\r\nHost: x\r\n\r\n"), []int{405}},
		"two hosts":                  {all("GET /agents HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"), []int{400}},
		"10,000 parameters":          {all("GET /agents?" + strings.Repeat("limit=1&", 8_000) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.service.key + "\r\n\r\n"), []int{400}},
	} {
		t.Run(name, func(t *testing.T) {
			held, allocated := heap()
			a := s.hostile(t, c.send)
			nowHeld, nowAllocated := heap()
			if held, allocated := int64(nowHeld-held)>>20, int64(nowAllocated-allocated)>>20; held > 40 || allocated > 300 {
				t.Errorf("the service allocated %d MiB and still holds %d MiB", allocated, held)
			}
			if a == nil {
				if c.status != nil {
					t.Error("nothing was answered")
				}
				return
			}
			checkHostile(t, a, c.status)
		})
	}
	s.call("GET", "/agents", nil).want(200)
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the service has failed: %s", log)
	}
}

// checkHostile checks a response's status and error format. net/http reports errors in plain text if it can't parse a
// request.
func checkHostile(t *testing.T, a *response, statuses []int) {
	t.Helper()
	right := statuses == nil && a.status >= 400 && a.status < 500
	for _, status := range statuses {
		right = right || a.status == status
	}
	if !right {
		t.Errorf("answered %d, which is none of %v: %.300s", a.status, statuses, a.body)
	}
	if kind := a.header.Get("Content-Type"); a.status < 400 || strings.HasPrefix(kind, "text/plain") {
		return
	}
	if len(a.body) > 64<<10 {
		t.Errorf("the answer has %d bytes", len(a.body))
	}
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != a.status || p.Error == "" || p.Instance == "" {
		t.Errorf("not an error of the one shape: %v: %.300s", err, a.body)
	}
}

// heap returns the live heap's size and the total bytes allocated so far.
func heap() (held, allocated uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.TotalAlloc
}

// TestManySlowClientsAreDisconnected opens many connections that trickle their requests. Each must be closed within its
// time limit, and other clients must still be served.
func TestManySlowClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.ReadTimeout = 200 * time.Millisecond })
	const clients = 100
	ended := make(chan time.Duration, clients)
	for range clients {
		go func() {
			began := time.Now()
			_ = s.hostile(t, func(w io.Writer) error {
				if _, err := io.WriteString(w, s.post("/agents", "application/json", length(1000))+"{"); err != nil {
					return err
				}
				drip := time.NewTicker(20 * time.Millisecond)
				defer drip.Stop()
				for range 1000 {
					if _, err := io.WriteString(w, " "); err != nil {
						return err
					}
					<-drip.C
				}
				return nil
			})
			ended <- time.Since(began)
		}()
	}
	s.call("GET", "/agents", nil).want(200)
	for range clients {
		if took := <-ended; took > 15*time.Second {
			t.Errorf("a slow client was held for %v", took)
		}
	}
}
