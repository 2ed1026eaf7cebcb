package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/loadtest"
)

// bench runs sluice bench in the program's data directory.
func (p *program) bench(args ...string) (out, errs string, err error) {
	var stdout, stderr bytes.Buffer
	environ := []string{"SLUICE_DATA_DIR=" + p.dir, "SLUICE_URL=http://" + p.addr, "SLUICE_API_KEY=" + testKey}
	err = run(p.t.Context(), API, append([]string{"bench"}, args...), environ, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

func TestBenchLoadsARunningService(t *testing.T) {
	t.Parallel()
	p, storeID := evaluated(t)
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "a", "datastoreIds": []string{storeID}}, &agent))

	files := t.TempDir()
	for _, name := range []string{"a.txt", "b.md", ".hidden"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte("What "+name+" says."), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args     []string
		measures string
	}{
		"with queries":         {[]string{"queries", "--datastore", "test"}, "answered"},
		"with queries by rate": {[]string{"queries", "--datastore", storeID, "--rate", "200", "--mode", "lexical", "--top-k", "2"}, "sent late, answered"},
		"with texts":           {[]string{"uploads", "--size", "500", "--clients", "2"}, "accepted, searchable"},
		"with files":           {[]string{"uploads", "--files", files}, "accepted, searchable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, err := p.bench(append(c.args, "--requests", "5", "--warmup", "0s", "--for", "1m", "--json")...)
			if err != nil {
				t.Fatal(err, errs)
			}
			var report loadtest.Report
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatal(err)
			}
			var measures []string
			for _, m := range report.Measures {
				measures = append(measures, m.Name)
			}
			if report.Succeeded != 5 || report.Failed != 0 || strings.Join(measures, ", ") != c.measures {
				t.Errorf("%s", out)
			}
		})
	}
	t.Run("with streams", func(t *testing.T) {
		t.Parallel()
		queries := writeLines(t, "q.jsonl", `{"text": "How long is the warranty of the Aurora pump?"}`)
		out, errs, err := p.bench("streams", "--agent", "a", "--queries", queries, "--requests", "3", "--warmup", "0s", "--for", "1m")
		if err != nil || !strings.HasPrefix(out, "3 requests in ") || !strings.Contains(out, "first token") || !strings.Contains(out, "end of the stream") {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
		var left struct{ Data []struct{ ID string } }
		p.must(p.get("/conversations?agentId="+agent.ID, &left))
		if len(left.Data) > 0 {
			t.Errorf("%d conversations are left", len(left.Data))
		}
	})
	t.Run("with a few requests, all of which are measured", func(t *testing.T) {
		t.Parallel()
		out, errs, err := p.bench("queries", "--datastore", storeID, "--requests", "3", "--for", "1m")
		if err != nil || !strings.HasPrefix(out, "3 requests in ") {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
	})
	t.Run("and leaves no datastore behind", func(t *testing.T) {
		var before, after struct{ Data []struct{ ID string } }
		p.must(p.get("/datastores", &before))
		if _, errs, err := p.bench("uploads", "--requests", "1", "--for", "1m"); err != nil {
			t.Fatal(err, errs)
		}
		p.must(p.get("/datastores", &after))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBenchReportsErrors(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	storeID := p.newDatastore()
	for name, c := range map[string]struct {
		args  []string
		want  string
		usage bool
	}{
		"nothing to load":        {nil, "specify the load", true},
		"an unknown load":        {[]string{"deletes"}, "specify the load", true},
		"no datastore":           {[]string{"queries"}, "bench queries needs --datastore", true},
		"no agent":               {[]string{"streams"}, "bench streams needs --agent", true},
		"another load's flag":    {[]string{"queries", "--datastore", "x", "--keep"}, "--keep does not apply to queries", true},
		"no time":                {[]string{"uploads", "--for", "0s"}, "the duration is 0s", true},
		"too small a text":       {[]string{"uploads", "--size", "3"}, "--size 3: must be between 64 and 1000000 bytes", true},
		"a size that is none":    {[]string{"uploads", "--size", "1.5KB"}, `"1.5KB" for "--size" flag: must be a size`, true},
		"files and a size":       {[]string{"uploads", "--size", "300", "--files", "."}, "cannot be combined", true},
		"an unknown datastore":   {[]string{"queries", "--datastore", "nope"}, `datastore "nope" does not exist`, false},
		"an unknown agent":       {[]string{"streams", "--agent", "nope"}, `agent "nope" does not exist`, false},
		"an empty datastore":     {[]string{"queries", "--datastore", storeID}, "has no content to generate questions from", false},
		"a folder without files": {[]string{"uploads", "--files", t.TempDir()}, "the folder has no files", false},
		"an unknown engine":      {[]string{"uploads", "--engine", "abacus"}, "abacus", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := p.bench(c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) || (cli.ExitOf(err) == cli.Misused) != c.usage {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestBenchReportsResultsDespiteAFailedCleanup(t *testing.T) {
	t.Parallel()
	const agent = "01a1ff5b-9089-711a-a298-ac51be28ff37"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /agents/" + agent:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"`+agent+`"}`)
		case "POST /agents/" + agent + "/query":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: answer\ndata: Six\n\nevent: endpoint_response\ndata: {\"conversationId\":\"c\"}\n\ndata: [DONE]\n\n")
		default:
			http.Error(w, `{"detail":"the disk is full"}`, http.StatusInternalServerError)
		}
	}))
	defer service.Close()
	questions := writeLines(t, "q.jsonl", `{"text": "When?"}`)
	var out bytes.Buffer
	err := run(t.Context(), API, []string{"bench", "streams", "--agent", agent, "--queries", questions, "--requests", "2", "--warmup", "0s"},
		[]string{"SLUICE_URL=" + service.URL, "SLUICE_API_KEY=" + testKey, "SLUICE_DATA_DIR=" + t.TempDir()}, &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "deleting the benchmark's conversations") || !strings.HasPrefix(out.String(), "2 requests in ") {
		t.Errorf("%v\n%s", err, &out)
	}
}
