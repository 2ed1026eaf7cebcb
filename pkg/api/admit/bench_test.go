package admit

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/domain"
)

// discardWriter discards a benchmark's responses.
type discardWriter struct{ header http.Header }

func (n *discardWriter) Header() http.Header         { return n.header }
func (n *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (n *discardWriter) WriteHeader(int)             {}

// BenchmarkRefusal measures how long a full gate takes to reject a search, without the HTTP server.
func BenchmarkRefusal(b *testing.B) {
	gate := admission.New(admission.Options{Limit: 1})
	if _, ok := gate.Enter(b.Context(), "other"); !ok {
		b.Fatal("an empty gate refuses")
	}
	g, err := New(Options{Searches: gate}, Server{Metrics: prometheus.NewRegistry(), NewID: domain.NewID, FlowOf: func(*http.Request) string { return "" }}, http.NotFoundHandler())
	if err != nil {
		b.Fatal(err)
	}
	const body = `{"query":"Which harbour of district 3 keeps records about the mill?","topK":5}`
	r := httptest.NewRequest(http.MethodPost, "/datastores/01a212db-6ee9-7a94-bd82-281198b19b65/query", strings.NewReader(body))
	b.ReportAllocs()
	for b.Loop() {
		g.ServeHTTP(&discardWriter{header: http.Header{}}, r)
	}
}
