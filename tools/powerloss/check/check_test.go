package check

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/powerloss/load"
)

// stored is a document as the service has it.
type stored struct {
	id, customID, status, original string
	chunks                         []string
}

func text(n load.Name, version int) stored {
	content := n.Content(version)
	return stored{"id-" + n.CustomID, n.CustomID, "synched", content, []string{content}}
}

// service answers a check's requests.
func service(t *testing.T, isLost bool, has []stored, searchable []string) *client.Client {
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /datastores/store", func(w http.ResponseWriter, _ *http.Request) {
		if isLost {
			w.WriteHeader(http.StatusNotFound)
			answer(w, map[string]string{"error": "NOT_FOUND"})
			return
		}
		answer(w, map[string]string{"id": "store"})
	})
	mux.HandleFunc("GET /datastores/store/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /datastores/store/counts", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]int{"synched": len(has)}) })
	mux.HandleFunc("GET /datasources", func(w http.ResponseWriter, _ *http.Request) {
		data := []map[string]any{}
		for _, s := range has {
			data = append(data, map[string]any{"id": s.id, "customId": s.customID, "status": s.status, "chunks": len(s.chunks)})
		}
		answer(w, map[string]any{"data": data})
	})
	one := func(r *http.Request) stored {
		return has[slices.IndexFunc(has, func(s stored) bool { return s.id == r.PathValue("id") })]
	}
	mux.HandleFunc("GET /datasources/{id}/original", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, one(r).original) })
	mux.HandleFunc("GET /datasources/{id}/chunks", func(w http.ResponseWriter, r *http.Request) {
		data := []map[string]any{}
		for i, c := range one(r).chunks {
			data = append(data, map[string]any{"id": fmt.Sprint(i), "text": c})
		}
		answer(w, map[string]any{"data": data})
	})
	mux.HandleFunc("POST /datastores/store/query", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Query string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		found := []map[string]any{}
		for _, s := range searchable {
			if strings.Contains(s, body.Query) {
				found = append(found, map[string]any{"text": s})
			}
		}
		answer(w, found)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "key", client.WithAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestEveryKindOfLossIsFound(t *testing.T) {
	t.Parallel()
	name := load.Name{CustomID: "text-0-1"}
	file := load.Name{CustomID: "file-0-1", IsFile: true}
	v1, v2 := text(name, 1), text(name, 2)
	halves := func(s stored) stored {
		s.chunks = []string{s.original[:len(s.original)/2], s.original[len(s.original)/2:]}
		return s
	}
	with := func(s stored, change func(*stored)) stored {
		change(&s)
		return s
	}
	acknowledged := func(n load.Name, s load.State, sent ...load.State) load.Expectation {
		e := load.Expectation{Name: n, Acknowledged: s}
		if len(sent) > 0 {
			e.Sent = &sent[0]
		}
		return e
	}
	first, second, gone := load.State{Version: 1}, load.State{Version: 2}, load.State{Version: 2, Gone: true}
	for title, test := range map[string]struct {
		expect     load.Expectation
		has        []stored
		searchable []string // in addition to the chunks
		hidden     bool     // chunks are not searchable
		lost       bool     // the datastore
		want       string   // in the only finding; "" for none
	}{
		"the acknowledged version":                 {expect: acknowledged(name, first), has: []stored{v1}},
		"only the acknowledged version":            {expect: acknowledged(name, first, second), has: []stored{v1}},
		"a sent version":                           {expect: acknowledged(name, first, second), has: []stored{v2}},
		"a sent deletion":                          {expect: acknowledged(name, second, gone)},
		"a deleted document":                       {expect: acknowledged(name, gone)},
		"a file in chunks":                         {expect: acknowledged(file, first), has: []stored{halves(text(file, 1))}},
		"a document that does not exist":           {expect: acknowledged(name, first), want: "does not exist"},
		"an earlier version":                       {expect: acknowledged(name, second), has: []stored{v1}, want: "another original"},
		"a deleted document that is back":          {expect: acknowledged(name, gone), has: []stored{v2}, want: "version 2): exists"},
		"a document twice":                         {expect: acknowledged(name, first), has: []stored{v1, with(v1, func(s *stored) { s.id = "other" })}, want: "exists 2 times"},
		"an error":                                 {expect: acknowledged(name, first), has: []stored{with(v1, func(s *stored) { s.status = "error" })}, want: "status error"},
		"a changed byte of the original":           {expect: acknowledged(name, first), has: []stored{with(v1, func(s *stored) { s.original += "!" })}, want: "another original"},
		"chunks of another version":                {expect: acknowledged(name, second), has: []stored{with(v2, func(s *stored) { s.chunks = v1.chunks })}, want: "another text"},
		"no chunks":                                {expect: acknowledged(name, first), has: []stored{with(v1, func(s *stored) { s.chunks = nil })}, want: "0 of its 0 chunks"},
		"a file without its last chunk":            {expect: acknowledged(file, first), has: []stored{with(halves(text(file, 1)), func(s *stored) { s.chunks = s.chunks[:1] })}, want: "not the whole"},
		"a file with a chunk of another":           {expect: acknowledged(file, first), has: []stored{with(halves(text(file, 1)), func(s *stored) { s.chunks[1] = "other" })}, want: "not part of it"},
		"a document that nobody created":           {expect: acknowledged(name, gone), has: []stored{text(load.Name{CustomID: "x"}, 1)}, want: `custom_id "x" exist`},
		"a document that cannot be searched":       {expect: acknowledged(name, first), has: []stored{v1}, hidden: true, want: "is not found by its word"},
		"a replaced version that can be searched":  {expect: acknowledged(name, second), has: []stored{v2}, searchable: v1.chunks, want: "no longer exists is found"},
		"a deleted document that can be searched":  {expect: acknowledged(name, gone), searchable: v2.chunks, want: "no longer exists is found"},
		"a datastore that does not exist any more": {expect: acknowledged(name, first), lost: true, want: "the datastore is lost"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			searchable := slices.Clone(test.searchable)
			for _, s := range test.has {
				if !test.hidden {
					searchable = append(searchable, s.chunks...)
				}
			}
			c := service(t, test.lost, test.has, searchable)
			e := load.Expected{Datastore: "store", Documents: []load.Expectation{test.expect}}
			got, err := Documents(t.Context(), c, e, rand.New(rand.NewPCG(1, 1)))
			if err != nil || got.Documents != 1 {
				t.Fatalf("%d documents checked: %v", got.Documents, err)
			}
			switch {
			case test.want == "" && len(got.Findings) > 0:
				t.Errorf("found %q, want nothing", got.Findings)
			case test.want != "" && (len(got.Findings) != 1 || !strings.Contains(got.Findings[0], test.want)):
				t.Errorf("found %q, want %q", got.Findings, test.want)
			case got.Lost > 1 || got.Lost == 1 && test.want == "":
				t.Errorf("%d documents are lost", got.Lost)
			}
		})
	}
}

func TestNothingIsExpectedBeforeTheDatastore(t *testing.T) {
	t.Parallel()
	got, err := Documents(t.Context(), nil, load.Expected{}, nil)
	if err != nil || got.Documents != 0 || len(got.Findings) > 0 {
		t.Errorf("found %+v: %v", got, err)
	}
}

func TestOnlyStraysMayBeFoundOnce(t *testing.T) {
	for said, want := range map[string]bool{
		"3 datasources checked: stray rows: 128":                                                 true,
		"3 datasources checked: stray originals: 2":                                              true,
		"3 datasources checked: stray rows: 1, stray originals: 2":                               true,
		"3 datasources checked: 1 to be indexed again, stray rows: 128":                          false,
		"3 datasources checked: 1 deleted":                                                       false,
		"3 datasources checked: stray rows: 1; still being processed and possibly incomplete: 1": false,
	} {
		if got := strays.MatchString(said); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}
