package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/client"
)

// waits records the client's pauses instead of waiting.
type waits struct {
	mu   sync.Mutex
	took []time.Duration
}

func (w *waits) option() client.Option {
	return client.WithWait(func(ctx context.Context, d time.Duration) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.took = append(w.took, d)
		return ctx.Err()
	})
}

// lossyServer starts a proxy for the service. If `lose` returns true for a request, the service processes it, but the
// proxy drops the connection instead of responding.
func lossyServer(t *testing.T, lose func(*http.Request) bool) string {
	t.Helper()
	behind, err := url.Parse(os.Getenv("SLUICE_URL"))
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	transport := &http.Transport{}
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !lose(r) {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

// first returns a function that returns true only for the first request that has the given method.
func first(method string) func(*http.Request) bool {
	var seen atomic.Bool
	return func(r *http.Request) bool { return r.Method == method && seen.CompareAndSwap(false, true) }
}

func TestARequestWithALostResponseIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx, direct, w := t.Context(), open(t), &waits{}
	through := func(method string) *client.Client {
		return openAt(t, lossyServer(t, first(method)), testKey, w.option())
	}
	store := newStore(t, direct)

	t.Run("an upload", func(t *testing.T) {
		made, err := through("POST").Upload(ctx, store, client.File{Name: "pump.txt", Content: strings.NewReader(pump)})
		must(t, err)
		var ids []string
		for d, err := range direct.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &store}) {
			must(t, err)
			ids = append(ids, d.Id)
		}
		if len(ids) != 1 || ids[0] != made.Id {
			t.Errorf("%s was made, and there are %v", made.Id, ids)
		}
	})
	t.Run("an upload that can be read but once", func(t *testing.T) {
		_, err := through("POST").Upload(ctx, store, client.File{Name: "pump.txt", Content: onlyReader{strings.NewReader(pump)}})
		if err == nil || !strings.Contains(err.Error(), "can be read only once") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a creation under a key of one's own", func(t *testing.T) {
		own := client.WithIdempotencyKey(ctx, t.Name())
		d := client.DatastoreCreate{Name: "once"}
		made, err := through("POST").CreateDatastore(own, d)
		must(t, err)
		again, err := direct.CreateDatastore(own, d)
		must(t, err)
		if made.Id != again.Id {
			t.Errorf("made %s and %s", made.Id, again.Id)
		}
	})
	t.Run("a deletion", func(t *testing.T) {
		gone := newStore(t, direct)
		must(t, through("DELETE").DeleteDatastore(ctx, gone))
		if err := direct.DeleteDatastore(ctx, gone); client.CodeOf(err) != client.CodeNotFound {
			t.Errorf("deleting what was gone before: %v", err)
		}
	})
	t.Run("a streamed question", func(t *testing.T) {
		agent, err := direct.CreateAgent(ctx, client.AgentCreate{Name: "Once", DatastoreIds: &[]string{store}})
		must(t, err)
		_, err = through("POST").StreamAgent(ctx, agent.Id, client.AgentQuery{Query: "What?"}, func(string) error { return nil })
		if err == nil {
			t.Error("the lost response was not reported")
		}
		talks := 0
		for _, err := range direct.ListConversations(ctx, &client.ListConversationsParams{AgentId: &agent.Id}) {
			must(t, err)
			talks++
		}
		if talks > 1 {
			t.Errorf("%d conversations", talks)
		}
	})
}

func TestASearchIsRepeatedWithoutAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, own := t.Context(), "mine"
	search := func(ctx context.Context, c *client.Client) error {
		_, err := c.QueryDatastore(ctx, "d", client.DatastoreQuery{Query: "What?"})
		return err
	}
	explained := func(ctx context.Context, c *client.Client) error {
		_, err := c.ExplainQuery(ctx, "d", client.DatastoreQuery{Query: "What?"})
		return err
	}
	for name, test := range map[string]struct {
		ask    func(context.Context, *client.Client) error
		ctx    context.Context
		answer string
		keys   []string
	}{
		"fragments":              {search, ctx, "[]", []string{"", ""}},
		"explained":              {explained, ctx, "{}", []string{"", ""}},
		"with the caller's own":  {search, client.WithIdempotencyKey(ctx, own), "[]", []string{own, own}},
		"explained, with theirs": {explained, client.WithIdempotencyKey(ctx, own), "{}", []string{own, own}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var keys []string
			noted := func(next http.HandlerFunc) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					keys = append(keys, r.Header.Get("Idempotency-Key"))
					next(w, r)
				}
			}
			w := &waits{}
			lost := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
			must(t, test.ask(test.ctx, openAt(t, serve(t, noted(lost), noted(fixedHandler("application/json", test.answer))), "", w.option())))
			if !slices.Equal(keys, test.keys) {
				t.Errorf("asked with keys %q, want %q", keys, test.keys)
			}
		})
	}
}

// serve starts a server that answers the nth request with the nth function in `answers`. The last function answers all
// further requests.
func serve(t *testing.T, answers ...http.HandlerFunc) string {
	t.Helper()
	var turn atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[min(int(turn.Add(1)), len(answers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func errorHandler(status int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"about:blank","title":"No","status":%d,"detail":"later","instance":"x","error":"RATE_LIMIT"}`, status)
	}
}

func fixedHandler(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

func TestABusyServiceIsRetriedAfterItsDelay(t *testing.T) {
	t.Parallel()
	ok := fixedHandler("application/json", `{"id":"a"}`)
	w := &waits{}
	got, err := openAt(t, serve(t, errorHandler(429, "3"), errorHandler(503, ""), ok), "", w.option()).GetAgent(t.Context(), "a")
	must(t, err)
	if got.Id != "a" || len(w.took) != 2 || w.took[0] != 3*time.Second ||
		w.took[1] < 250*time.Millisecond || w.took[1] > 500*time.Millisecond {
		t.Errorf("got %+v after %v", got, w.took)
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		waits  int
	}{
		"in vain":                        {errorHandler(503, "1"), 5},
		"longer than it waits":           {errorHandler(429, "3600"), 0},
		"what no repeat changes":         {errorHandler(402, ""), 0},
		"a conflict":                     {errorHandler(409, ""), 0},
		"a conflict with an earlier one": {errorHandler(409, "1"), 5},
	} {
		w := &waits{}
		_, err := openAt(t, serve(t, test.answer), "", w.option()).CreateAgent(t.Context(), client.AgentCreate{Name: "x"})
		if client.CodeOf(err) != client.CodeRateLimit || len(w.took) != test.waits {
			t.Errorf("%s: %v after %d waits", name, err, len(w.took))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w = &waits{}
	if _, err := openAt(t, serve(t, errorHandler(503, "25")), "", w.option()).GetAgent(ctx, "a"); err == nil || len(w.took) != 0 {
		t.Errorf("with less time than it takes: %v after %d waits", err, len(w.took))
	}
}

func TestAStartingServiceIsRetried(t *testing.T) {
	t.Parallel()
	address, refusals := serve(t, fixedHandler("text/event-stream", ": hello\n\n")), 0
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if refusals++; refusals < 3 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	w := &waits{}
	c := openAt(t, address, "", client.WithHTTP(&http.Client{Transport: transport}), w.option())
	if _, err := c.StreamAgent(t.Context(), "a", client.AgentQuery{}, nil); !errors.Is(err, client.ErrUnfinished) || len(w.took) != 2 {
		t.Errorf("got %v after %d waits", err, len(w.took))
	}
}

func TestAnUploadIsSentFromItsBeginningAgain(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // more than the connection's buffers can hold
	var got []byte
	var sum [32]byte
	address := serve(t, errorHandler(503, "1"), func(w http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer f.Close()
		got, _ = io.ReadAll(f)
		sum = sha256.Sum256(got)
		fixedHandler("application/json", `{"id":"d"}`)(w, r)
	})
	r := bytes.NewReader(content)
	_, err := r.Seek(7, io.SeekStart)
	must(t, err)
	_, err = openAt(t, address, "", new(waits).option()).Upload(t.Context(), "s", client.File{Name: "x", Content: r})
	must(t, err)
	if sum != sha256.Sum256(content[7:]) {
		t.Errorf("%d bytes have come of %d, or others", len(got), len(content)-7)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: more and more and more\n"); err != nil {
				return
			}
		}
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":`)
	}
	moved := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://moved.example/", http.StatusFound)
	}
	lost := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\x00such", http.StatusNotFound) }
	news := "event: newer\ndata: x\n\nevent: deleted\ndata: {\"id\":\"gone\"}\n\n"
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*client.Client) error
		says   string
	}{
		"an answer beyond the bound":     {fixedHandler("application/json", `{"name":"`+strings.Repeat("x", 2000)+`"}`), get, "longer than the limit of 1000 bytes"},
		"a page of something else":       {fixedHandler("text/html", "<p>Hello</p>"), get, "is this the address of a Sluice service?"},
		"an error of something else":     {lost, get, "Not Found"},
		"an answer that is cut":          {cut, get, "unexpected EOF"},
		"no answer":                      {silent, get, "timed out waiting for data"},
		"a redirect without the body":    {moved, create, "redirects to https://moved.example"},
		"a stream of something else":     {fixedHandler("application/json", "{}"), stream, "is this the address of a Sluice service?"},
		"an event that does not end":     {endless, stream, "reading the stream"},
		"an error within a stream":       {fixedHandler("text/event-stream", "data: [ERROR] the model is gone\n\n"), stream, "the model is gone"},
		"a stream without its end":       {fixedHandler("text/event-stream", "event: answer\ndata: half\n\n"), stream, "without its end marker"},
		"news of something that is gone": {fixedHandler("text/event-stream", news), watch, "gone, then " + client.ErrUnfinished.Error()},
	} {
		c := openAt(t, serve(t, test.answer), "", new(waits).option(), client.WithMaxBody(1000), client.WithIdleTimeout(idleTimer(name)))
		if err := test.ask(c); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirectsThatKeepTheMethodAreFollowed(t *testing.T) {
	t.Parallel()
	request := func(method, address string) *http.Request { return httptest.NewRequest(method, address, nil) }
	for name, test := range map[string]struct {
		asked, next *http.Request
		followed    bool
	}{
		"to another path":             {request("GET", "https://a.example/x"), request("GET", "https://a.example/y"), true},
		"to an encrypted one":         {request("GET", "http://a.example/x"), request("GET", "https://a.example/x"), true},
		"to one that everybody reads": {request("GET", "https://a.example/x"), request("GET", "http://a.example/x"), false},
		"without the body":            {request("POST", "http://a.example/x"), request("GET", "https://a.example/x"), false},
	} {
		if err := client.KeepMethod(test.next, []*http.Request{test.asked}); (err == nil) != test.followed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// idleTimer returns a short idle timeout for the test that expects a timeout and a long one for all other tests.
func idleTimer(name string) time.Duration {
	if name == "no answer" {
		return 20 * time.Millisecond
	}
	return 2 * time.Minute
}

func get(c *client.Client) error {
	_, err := c.GetAgent(context.Background(), "a")
	return err
}

func create(c *client.Client) error {
	_, err := c.CreateAgent(context.Background(), client.AgentCreate{})
	return err
}

func stream(c *client.Client) error {
	_, err := c.StreamAgent(context.Background(), "a", client.AgentQuery{Query: "q"}, func(string) error { return nil })
	return err
}

// watch watches a datastore. It returns an error that lists the ids of deleted datasources and wraps the error that
// ended the watch.
func watch(c *client.Client) error {
	changes, err := c.WatchDatastore(context.Background(), "s")
	if err != nil {
		return err
	}
	var gone string
	for change, err := range changes {
		if err != nil {
			return fmt.Errorf("%s, then %w", gone, err)
		}
		gone += change.DeletedID
	}
	return nil
}
