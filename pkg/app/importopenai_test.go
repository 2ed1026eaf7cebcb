package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/cli"
)

// hostedAccount is a server that implements OpenAI's files and vector stores API.
type hostedAccount struct {
	*httptest.Server
	mu         sync.Mutex
	downloads  map[string]int // by file id
	failsAfter int            // number of downloads after which the key becomes invalid; 0 means never
	total      int            // file count that the store reports; 0 means the true count
}

type hostedFile struct {
	id, name, content, status, attributes string
	chunks                                []string // the vector store's text for a file that cannot be downloaded
}

var hostedFiles = []hostedFile{
	{id: "file-pump", name: "pump.md", content: "# Pump\n\n" + manuals["pump"], status: "completed", attributes: `{"team":"pumps","year":2025,"public":true,"custom_id":"p-1"}`},
	{id: "file-valve", name: "../valve?.txt", content: manuals["valve"], status: "completed", attributes: `{}`},
	{id: "file-text", name: "hidden.pdf", status: "completed", attributes: `null`, chunks: []string{
		"The Zephyr fan hums at night. Its blades are made of oak and brass.", "Its blades are made of oak and brass. It is oiled every spring.",
	}},
	{id: "file-bad", name: "bad.xyz", status: "failed", attributes: `{}`},
}

func newHostedAccount(t *testing.T) *hostedAccount {
	t.Helper()
	a := &hostedAccount{downloads: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *hostedAccount) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := 0
	for _, n := range a.downloads {
		total += n
	}
	refuse := func(status int, message string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q}}`, message)
	}
	if a.failsAfter > 0 && total >= a.failsAfter {
		refuse(http.StatusUnauthorized, "Incorrect API key provided")
		return
	}
	files := len(hostedFiles)
	if a.total > 0 {
		files = a.total
	}
	store := fmt.Sprintf(`{"id":"vs_1","object":"vector_store","name":"Manuals","file_counts":{"total":%d,"completed":3}}`, files)
	empty := `{"id":"vs_2","object":"vector_store","name":"","file_counts":{"total":0}}`
	switch r.URL.Path {
	case "/v1/vector_stores":
		fmt.Fprintf(w, `{"data":[%s,%s],"has_more":false}`, store, empty)
	case "/v1/vector_stores/vs_1":
		fmt.Fprint(w, store)
	case "/v1/vector_stores/vs_2":
		fmt.Fprint(w, empty)
	case "/v1/vector_stores/vs_2/files":
		fmt.Fprint(w, `{"data":[],"has_more":false}`)
	case "/v1/vector_stores/vs_1/files": // one file per page
		at := 0
		for i, f := range hostedFiles {
			if f.id == r.URL.Query().Get("after") {
				at = i + 1
			}
		}
		f := hostedFiles[at]
		fmt.Fprintf(w, `{"data":[{"id":%q,"status":%q,"attributes":%s,"last_error":null}],"has_more":%v}`, f.id, f.status, f.attributes, at+1 < len(hostedFiles))
	default:
		path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
		for _, f := range hostedFiles {
			switch {
			case len(path) > 1 && path[0] == "files" && path[1] != f.id, len(path) > 3 && path[0] == "vector_stores" && path[3] != f.id:
			case r.URL.Path == "/v1/files/"+f.id:
				name, _ := json.Marshal(f.name)
				fmt.Fprintf(w, `{"id":%q,"filename":%s,"bytes":%d,"purpose":"assistants"}`, f.id, name, len(f.content))
				return
			case r.URL.Path == "/v1/files/"+f.id+"/content" && f.content != "":
				a.downloads[f.id]++
				fmt.Fprint(w, f.content)
				return
			case r.URL.Path == "/v1/files/"+f.id+"/content":
				refuse(http.StatusBadRequest, "Not allowed to download files of purpose: assistants")
				return
			case r.URL.Path == "/v1/vector_stores/vs_1/files/"+f.id+"/content" && f.chunks != nil:
				a.downloads[f.id]++
				page := 0
				if r.URL.Query().Get("page") == "two" {
					page = 1
				}
				text, _ := json.Marshal(f.chunks[page])
				next := `"two"`
				if page == 1 {
					next = "null"
				}
				fmt.Fprintf(w, `{"object":"vector_store.file_content.page","data":[{"type":"text","text":%s}],"has_more":%v,"next_page":%s}`, text, page == 0, next)
				return
			}
		}
		refuse(http.StatusNotFound, "No such object")
	}
}

// set changes the account under the lock and clears the download counts.
func (a *hostedAccount) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	clear(a.downloads)
}

func TestVectorStoresOfAnAccountAreImported(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	account := newHostedAccount(t)
	from := []string{"import", "openai", "--from", account.URL + "/v1", "--parallel", "1"}
	bring := func(want cli.Exit, args ...string) brought {
		t.Helper()
		return p.bring(want, append(from, args...)...)
	}

	account.set(func() { account.failsAfter = 1 }) // the key becomes invalid after the first file
	out, errs, exit := p.api(t.Context(), append(from, "--vector-store", "vs_1")...)
	if exit != cli.Forbidden || !strings.Contains(errs, "OPENAI_API_KEY") {
		t.Fatalf("exit code %d, %s, %s", exit, out, errs)
	}
	var stores struct{ Data []struct{ ID string } }
	p.must(p.get("/datastores", &stores))
	p.settled(stores.Data[0].ID, time.Minute)
	account.set(func() { account.failsAfter = 0 })
	second := bring(cli.Partly, "--vector-store", "vs_1")
	if got := second.counts(); got != "found 4, unchanged 1, sent 2, synched 2, failed 0, deleted 0, left out 1" {
		t.Errorf("after an interruption: %s", got)
	}
	if diff := cmp.Diff(map[string]int{"file-valve": 1, "file-text": 2}, account.downloads); diff != "" {
		t.Errorf("downloads after an interruption (-want +got):\n%s", diff)
	}
	if len(second.Left) != 1 || second.Left[0].Name != "bad.xyz" || !strings.Contains(second.Left[0].Error, "purpose: assistants") {
		t.Errorf("skipped %+v", second.Left)
	}

	account.set(func() {})
	third := bring(cli.Partly, "--vector-store", "vs_1")
	if got := third.counts(); got != "found 4, unchanged 3, sent 0, synched 0, failed 0, deleted 0, left out 1" || len(account.downloads) > 0 {
		t.Errorf("nothing new: %s, downloads %v", got, account.downloads)
	}
	if third.Datastore.Name != "Manuals" || third.Verified == nil || *third.Verified != (verified{4, 3, 3}) {
		t.Errorf("datastore %+v, verified %+v", third.Datastore, third.Verified)
	}

	var listed struct {
		Data []struct {
			Name, Type string
			CustomID   string
			Metadata   map[string]any
		}
	}
	p.must(p.get("/datasources?datastoreId="+third.Datastore.ID, &listed))
	got := map[string]string{}
	for _, d := range listed.Data {
		delete(d.Metadata, "custom_id")
		metadata, err := json.Marshal(d.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		got[d.CustomID] = d.Type + " " + d.Name + " " + string(metadata)
	}
	want := map[string]string{
		"file-pump":  `file pump.md {"attribute_custom_id":"p-1","public":true,"team":"pumps","year":2025}`,
		"file-valve": "file valve_.txt {}",
		"file-text":  "text hidden.pdf {}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("datasources (-want +got):\n%s", diff)
	}
	var found []fragment
	p.must(p.post("/datastores/"+third.Datastore.ID+"/query", map[string]any{"query": "How often is the Zephyr fan oiled?", "topK": 1}, &found))
	if len(found) != 1 || found[0].Text != "The Zephyr fan hums at night. Its blades are made of oak and brass. It is oiled every spring." {
		t.Errorf("found %+v", found)
	}

	account.set(func() { account.total = 5 })
	if _, errs, exit := p.api(t.Context(), append(from, "--vector-store", "vs_1")...); exit != cli.Partly || !strings.Contains(errs, "run the command again") {
		t.Errorf("another number of files: exit code %d, %s", exit, errs)
	}
	account.set(func() { account.total = 0 })
	out, errs, exit = p.api(t.Context(), append(from, "--all")...)
	if exit != cli.Partly || !strings.Contains(out, "verified: 4 files in the vector store, 3 in the datastore, 3 searchable") || !strings.Contains(out, `in "vs_2"`) {
		t.Errorf("all: exit code %d, %s, %s", exit, out, errs)
	}
}

func TestImportsFromAnAccountNeedASource(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	account := newHostedAccount(t)
	for name, try := range map[string]struct {
		args []string
		exit cli.Exit
		says string
	}{
		"no store":            {[]string{"--from", account.URL + "/v1"}, cli.Misused, "either --vector-store"},
		"both":                {[]string{"--from", account.URL + "/v1", "--all", "--vector-store", "vs_1"}, cli.Misused, "either --vector-store"},
		"all into one":        {[]string{"--from", account.URL + "/v1", "--all", "--datastore", "One"}, cli.Misused, "--datastore"},
		"no key":              {[]string{"--all"}, cli.Misused, "OPENAI_API_KEY"},
		"an unknown store":    {[]string{"--from", account.URL + "/v1", "--vector-store", "vs_9"}, cli.NotFound, "No such object"},
		"no address":          {[]string{"--from", "account", "--all"}, cli.Misused, "--from"},
		"no datastore to use": {[]string{"--from", account.URL + "/v1", "--vector-store", "vs_1", "--datastore", "One"}, cli.NotFound, "--create"},
	} {
		out, errs, exit := p.api(t.Context(), append([]string{"import", "openai"}, try.args...)...)
		if exit != try.exit || !strings.Contains(errs, try.says) {
			t.Errorf("%s: exit code %d, %s, %s", name, exit, out, errs)
		}
	}
}
