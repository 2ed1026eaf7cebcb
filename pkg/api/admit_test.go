package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/domain"
)

// closedLoop returns a gate that admits one request at a time and has no queue.
func closedLoop() *admission.Gate { return admission.New(admission.Options{Limit: 1}) }

// requireRefused checks that the request was rejected by a concurrency limit.
func requireRefused(t *testing.T, a *response) {
	t.Helper()
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.status != http.StatusServiceUnavailable || err != nil || seconds < 1 || seconds > 3 || a.header.Get("X-Request-Id") == "" {
		t.Errorf("answered %d, Retry-After %q, request %q: %s", a.status, a.header.Get("Retry-After"), a.header.Get("X-Request-Id"), a.body)
	}
}

// TestExcessRequestsAreRefusedByClass fills one class's gate at a time. Requests in that class must be rejected before
// their key is checked, with an error in their protocol's format. Requests in the other classes must be served.
func TestExcessRequestsAreRefusedByClass(t *testing.T) {
	t.Parallel()
	gates := map[string]*admission.Gate{"search": closedLoop(), "answer": closedLoop(), "upload": closedLoop(), "other": closedLoop()}
	s := newService(t, func(o *api.Options, _ *api.Deps) {
		o.Admission = admit.Options{Searches: gates["search"], Answers: gates["answer"], Uploads: gates["upload"], Others: gates["other"]}
	})
	requests := map[string][]string{
		"search": {"POST /datastores/x/query", "POST /api/datastores/x/query/", "POST /datastores/query/x"},
		"answer": {"POST /agents/x/query", "POST /agents/query/x", "POST /v1/chat/completions", "POST /api/v1/chat/completions", "POST /mcp"},
		"upload": {"POST /datasources", "POST /api/datasources/", "POST /datastores/upsert/x", "POST /datastores/update/x"},
		"other":  {"GET /agents", "HEAD /agents", "POST /agents", "GET /datasources", "DELETE /datasources/x", "GET /nowhere", "DROP /agents", "GET /docs"},
		"":       {"GET /healthz", "HEAD /readyz", "GET /api/metrics"},
	}
	s.key = "" // requests are rejected before the key is checked
	for full, gate := range gates {
		slot, ok := gate.Enter(t.Context(), "other")
		if !ok {
			t.Fatalf("the gate of %s is not open", full)
		}
		for class, all := range requests {
			for _, request := range all {
				method, path, _ := strings.Cut(request, " ")
				a := s.call(method, path, nil)
				refused := a.status == http.StatusServiceUnavailable
				if refused != (class == full) {
					t.Errorf("while there are too many of %q, %s is answered %d: %s", full, request, a.status, a.body)
				}
				if !refused || method == http.MethodHead {
					continue
				}
				requireRefused(t, a)
				switch {
				case strings.HasSuffix(path, "/mcp"):
					if !strings.Contains(string(a.body), `"jsonrpc":"2.0"`) {
						t.Errorf("%s: not an error of JSON-RPC: %s", request, a.body)
					}
				case strings.Contains(path, "/v1/"):
					if a.openAIError(503).Type != "server_error" {
						t.Errorf("%s: %s", request, a.body)
					}
				default:
					if p := a.problem(503); p.Error != "UNAVAILABLE" || p.Instance != a.header.Get("X-Request-Id") {
						t.Errorf("%s: %s", request, a.body)
					}
				}
			}
		}
		slot.Leave()
	}
	metrics := string(s.call("GET", "/metrics", nil).body)
	for class, all := range requests {
		if class == "" {
			continue
		}
		if want := fmt.Sprintf("sluice_http_refused_total{cause=\"busy\",class=%q} %d\n", class, len(all)); !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestStreamsDoNotBlockOtherRequests opens as many streams as a key may have, then as many as its workspace may have.
// Requests that are not streams are still served, and so are other workspaces' streams.
func TestStreamsDoNotBlockOtherRequests(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(o *api.Options, _ *api.Deps) {
		o.Admission = admit.Options{Others: closedLoop(), MaxOpen: 12}
	})
	s.watcher.watch = func(context.Context, string) (<-chan string, error) { return make(chan string), nil }
	path := "/datastores/" + s.datastore + "/events"
	stream := func(s *service, path string) {
		t.Helper()
		res := s.open("GET", path, "")
		if res.StatusCode != http.StatusOK {
			t.Fatalf("a stream is answered %d", res.StatusCode)
		}
		_, err := res.Body.Read(make([]byte, 1))
		must(t, err)
	}
	refused := func(s *service, path, reason string) {
		t.Helper()
		a := s.call("GET", path, nil)
		if requireRefused(t, a); !strings.Contains(a.problem(503).Detail, reason) {
			t.Errorf("the answer is %s", a.body)
		}
	}
	for range 4 { // a third of all streams
		stream(s.service, path)
	}
	refused(s.service, path, "this key already has 4 open streams, its share of the limit of 12 (SLUICE_LIMIT_OPEN)")
	second := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	for range 2 { // half of all streams, together with the first key's
		stream(second, path)
	}
	refused(second, path, "this workspace already has 6 open streams")
	s.call("GET", "/agents", nil).want(200)
	s.call("GET", "/healthz", nil).want(200)
	s.call("POST", "/datastores/"+s.datastore+"/query", object{"query": "anything"}).want(200)

	other := s.stranger()
	other.call("GET", "/agents", nil).want(200)
	theirs := "/datastores/" + other.newDatastore() + "/events"
	for range 2 { // a third of the remaining streams
		stream(other, theirs)
	}
	refused(other, theirs, "this key already has 2 open streams")
}

// TestAClosedStreamIsNotCounted opens and closes streams one after another, more in total than may be open at once.
func TestAClosedStreamIsNotCounted(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(o *api.Options, _ *api.Deps) { o.Admission = admit.Options{MaxOpen: 1} })
	s.watcher.watch = func(context.Context, string) (<-chan string, error) {
		ended := make(chan string)
		close(ended)
		return ended, nil
	}
	for range 5 {
		s.call("GET", "/datastores/"+s.datastore+"/events", nil).want(200)
	}
}

// TestStreamsOfVisitorsAreCounted queries a public agent without a key. It opens as many streams as one address may
// have; the next one must be rejected.
func TestStreamsOfVisitorsAreCounted(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(o *api.Options, _ *api.Deps) { o.Admission = admit.Options{MaxOpen: 4} })
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.answerer.answer = func(ctx context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		if err := emit("so"); err != nil {
			return answer.Answer{}, err
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return answer.Answer{}, ctx.Err()
	}
	agent := s.newAgent(object{"visibility": "public"})
	visitor := s.as("")
	for range 2 {
		_, err := visitor.open("POST", "/agents/"+agent+"/query", `{"query":"what?","streaming":true}`).Body.Read(make([]byte, 1))
		must(t, err)
	}
	a := visitor.call("POST", "/agents/"+agent+"/query", object{"query": "what?", "streaming": true})
	if requireRefused(t, a); !strings.Contains(a.problem(503).Detail, "this address already has 2 open streams") {
		t.Errorf("the answer is %s", a.body)
	}
	s.call("GET", "/agents", nil).want(200)
}

// TestASlowBodyHoldsNoPermit sends one search's body slowly while only one search may run at a time. A second search
// must not have to wait for it, and both must succeed.
func TestASlowBodyHoldsNoPermit(t *testing.T) {
	t.Parallel()
	gate := admission.New(admission.Options{Limit: 1, Waiting: 10, OverloadTimeout: time.Minute})
	s := newScene(t, func(o *api.Options, _ *api.Deps) { o.Admission = admit.Options{Searches: gate} })
	path, body := "/datastores/"+s.datastore+"/query", `{"query":"anything"}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, s.post(path, "application/json", length(len(body)))+body[:5])
	must(t, err)
	s.call("POST", path, object{"query": "another"}).want(200) // waits until the slow request has given up its slot
	answered := make(chan *response, 1)
	go func() { answered <- readAnswer(t, conn) }()
	_, err = io.WriteString(conn, body[5:])
	must(t, err)
	(<-answered).want(200)
	if _, ok := gate.Enter(t.Context(), "other"); !ok {
		t.Error("a place was lost")
	}
}

func readAnswer(t *testing.T, conn net.Conn) *response {
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return &response{T: t}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return &response{T: t, status: res.StatusCode, header: res.Header, body: body}
}

// TestUploadsAreRefusedWithoutStorage uploads while storage is full. The error must say what is full, and clients must
// be able to read it even while they're still sending.
func TestUploadsAreRefusedWithoutStorage(t *testing.T) {
	t.Parallel()
	full := errors.New("1,000 documents wait already; try again when some are done")
	var isFull atomic.Bool
	s := newScene(t, func(o *api.Options, _ *api.Deps) {
		o.Admission.CheckStorage = func(context.Context) error {
			if isFull.Load() {
				return full
			}
			return nil
		}
	})
	isFull.Store(true)
	a := s.call("POST", "/datastores/upsert/"+s.datastore, object{"documents": []object{{"text": "a"}}})
	if requireRefused(t, a); a.problem(503).Detail != full.Error() {
		t.Errorf("the answer is %s", a.body)
	}
	large := s.hostile(t, func(w io.Writer) error {
		if _, err := io.WriteString(w, s.post("/datasources", "multipart/form-data; boundary=x", length(20<<20))); err != nil {
			return err
		}
		return repeated(w, "a", 20<<20)
	})
	if large == nil {
		t.Fatal("a client that sends a large body gets no error")
	}
	requireRefused(t, large)
	s.call("GET", "/agents", nil).want(200)
	s.call("POST", "/datastores/"+s.datastore+"/query", object{"query": "anything"}).want(200)
	if metrics := string(s.call("GET", "/metrics", nil).body); !strings.Contains(metrics, `sluice_http_refused_total{cause="room",class="upload"} 2`) {
		t.Errorf("the refusals are not counted")
	}
}
