package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/datadir"
)

// api runs a command as if on another machine, with the service's address and a key.
func (p *program) api(ctx context.Context, args ...string) (out, errs string, exit cli.Exit) {
	return runAt(ctx, "http://"+p.addr, args...)
}

func runAt(ctx context.Context, address string, args ...string) (out, errs string, exit cli.Exit) {
	var stdout, stderr lockedBuffer
	line := newCommandLine(hooks{}, API, []string{"SLUICE_URL=" + address, "SLUICE_API_KEY=" + testKey}, &stdout, &stderr)
	err := line.run(ctx, args)
	if err != nil {
		cli.Report(&stderr, API.command(), err, line.JSON)
	}
	return stdout.String(), stderr.String(), cli.ExitOf(err)
}

// brought is the JSON output of the commands ingest and import.
type brought struct {
	Datastore                                                 struct{ ID, Name string }
	Found, Unchanged, Sent, Synched, Failed, Deleted, LeftOut int64
	Documents                                                 []struct{ Name, ID, Status, Error string }
	Failures, Left                                            []struct{ Name, Error string }
	Warnings                                                  []struct{ Name, Warning string }
	Verified                                                  *verified
}

// verified is the result of comparing an imported account with its datastore.
type verified struct{ Files, Stored, Searchable int64 }

// bring runs ingest or import with --json. It fails the test if the exit code is not `want`.
func (p *program) bring(want cli.Exit, args ...string) (b brought) {
	p.t.Helper()
	out, errs, exit := p.api(p.t.Context(), append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &b); err != nil || exit != want {
		p.t.Fatalf("%v: exit code %d, want %d, %v\n%s\n%s", args, exit, want, err, out, errs)
	}
	return b
}

func (b brought) counts() string {
	return fmt.Sprintf("found %d, unchanged %d, sent %d, synched %d, failed %d, deleted %d, left out %d", b.Found, b.Unchanged, b.Sent, b.Synched, b.Failed,
		b.Deleted, b.LeftOut)
}

// inFolder writes files to a new folder. The map's keys are the files' paths, and its values are their contents.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(2 * time.Minute); !is(); {
		select {
		case <-deadline:
			t.Fatalf("after two minutes there is still not %s", what)
		case <-poll.C:
		}
	}
}

func TestTheCommandLineAddsDocumentsAndAsks(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	dir := inFolder(t, map[string]string{
		"pump.md": "# Pump\n\n" + manuals["pump"], "deep/valve.txt": manuals["valve"], "deep/picture.png": "x", "empty.txt": "", ".hidden/secret.txt": "secret",
	})

	out, errs, exit := p.api(t.Context(), "ingest", dir, "--datastore", "Manuals")
	if exit != cli.NotFound || !strings.Contains(errs, "add --create to create it") || out != "" {
		t.Errorf("without a datastore: exit code %d, %q, %q", exit, out, errs)
	}
	first := p.bring(cli.OK, "ingest", dir, "--datastore", "Manuals", "--create", "--metadata", "team=pumps", "--metadata", "year=2025")
	if got := first.counts(); got != "found 2, unchanged 0, sent 2, synched 2, failed 0, deleted 0, left out 2" {
		t.Errorf("the first time: %s", got)
	}
	args := []string{"ingest", dir, "--datastore", "manuals", "--metadata", "team=pumps", "--metadata", "year=2025"}
	if got := p.bring(cli.OK, args...).counts(); got != "found 2, unchanged 2, sent 0, synched 0, failed 0, deleted 0, left out 2" {
		t.Errorf("a second time, by the name in other letters: %s", got)
	}

	writeFile(t, filepath.Join(dir, "deep/valve.txt"), "Tarnholm valves are opened by turning the green wheel.")
	writeFile(t, filepath.Join(dir, "new.md"), manuals["logger"])
	if got := p.bring(cli.OK, args...).counts(); got != "found 3, unchanged 1, sent 2, synched 2, failed 0, deleted 1, left out 2" {
		t.Errorf("with a file that is new and one that has changed: %s", got)
	}
	if all, err := p.sources(first.Datastore.ID, ""); err != nil || len(all) != 3 {
		t.Errorf("the datastore has %v, %v", all, err)
	}
	if err := os.Remove(filepath.Join(dir, "new.md")); err != nil {
		t.Fatal(err)
	}
	if got := p.bring(cli.OK, append(args, "--delete")...).Deleted; got != 1 {
		t.Errorf("%d files were deleted with one that is gone", got)
	}
	pattern := filepath.Join(dir, "**", "*.txt")
	if got := p.bring(cli.OK, "ingest", pattern, "--datastore", "Manuals", "--exclude", "empty.*"); got.Found != 1 || got.Unchanged != 1 {
		t.Errorf("by a pattern: %s", got.counts())
	}

	t.Run("query", func(t *testing.T) {
		out, errs, exit := p.api(t.Context(), "query", "how", "are", "valves", "opened", "--datastore", "Manuals", "--top-k", "1", "--filter", "team=pumps", "--filter", "year=2025")
		if exit != cli.OK || !strings.HasPrefix(out, "RANK  SCORE  SOURCE\n   1  0.") || !strings.Contains(out, "green wheel") {
			t.Errorf("exit code %d\n%s%s", exit, out, errs)
		}
		out, errs, exit = p.api(t.Context(), "query", "valves", "-filter", "team=nobody", "-json") // the only datastore doesn't have to be named
		if exit != cli.OK || out != "[]\n" {
			t.Errorf("for nobody: exit code %d\n%s%s", exit, out, errs)
		}
	})
	t.Run("ask", func(t *testing.T) {
		// Questions that can't be answered must not create an agent, so the agent created at the end is the first one.
		for _, test := range []struct {
			says string
			args []string
		}{
			{"matches the question and all filters", []string{"--filter", "team=nobody"}},
			{"no conversation to continue", []string{"--conversation", "01a1ff5b-9089-711a-a298-ac51be28ff37"}},
		} {
			out, errs, exit := p.api(t.Context(), append([]string{"ask", "How long is the warranty of the Aurora pump?", "--datastore", "Manuals"}, test.args...)...)
			if exit != cli.NotFound || out != "" || !strings.Contains(errs, test.says) || strings.Contains(errs, "Created agent") {
				t.Errorf("ask %v: exit code %d\n%s%s", test.args, exit, out, errs)
			}
		}
		out, errs, exit := p.api(t.Context(), "ask", "How long is the warranty of the Aurora pump?")
		if exit != cli.OK || !strings.Contains(out, "thirty months") || !strings.Contains(out, "\n[1] pump.md") || !strings.Contains(errs, `Created agent "Manuals"`) {
			t.Errorf("exit code %d\n%s%s", exit, out, errs)
		}
		out, errs, exit = p.api(t.Context(), "ask", "How long is the warranty of the Aurora pump?", "--agent", "manuals", "--json")
		var answer struct {
			AgentID, ConversationID, Answer string
			Sources                         []struct{ Citation int }
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil || exit != cli.OK || errs != "" || len(answer.Sources) == 0 || answer.ConversationID == "" {
			t.Errorf("exit code %d, %v\n%s%s", exit, err, out, errs)
		}
	})
	t.Run("datastores", func(t *testing.T) {
		made, _, exit := p.api(t.Context(), "datastores", "create", "Other", "--description", "more", "--json")
		var store struct{ ID, Name, Description string }
		if err := json.Unmarshal([]byte(made), &store); err != nil || exit != cli.OK || store.Name != "Other" || store.Description != "more" {
			t.Errorf("exit code %d, %v, %s", exit, err, made)
		}
		out, errs, exit := p.api(t.Context(), "ask", "How long is it?", "--datastore", "Other")
		if exit != cli.NotFound || out != "" || !strings.Contains(errs, `datastore "Other" is empty: add documents with sluice ingest`) {
			t.Errorf("of an empty datastore: exit code %d\n%s%s", exit, out, errs)
		}
		if _, errs, _ := p.api(t.Context(), "ask", "How long is it?", "--agent", "Other"); !strings.Contains(errs, `agent "Other" does not exist`) {
			t.Errorf("an agent was made for an empty datastore: %s", errs)
		}
		if out, _, exit := p.api(t.Context(), "datastores", "list"); exit != cli.OK || !strings.Contains(out, store.ID+"  Other    embedded") {
			t.Errorf("exit code %d\n%s", exit, out)
		}
		if out, _, exit := p.api(t.Context(), "datastores", "show", "Manuals"); exit != cli.OK || !strings.Contains(out, "2 datasources: 2 synched") {
			t.Errorf("exit code %d\n%s", exit, out)
		}
		if _, errs, exit := p.api(t.Context(), "datastores", "delete", "Other"); exit != cli.Misused || !strings.Contains(errs, "add --yes") {
			t.Errorf("exit code %d, %s", exit, errs)
		}
		if out, _, exit := p.api(t.Context(), "datastores", "delete", "Other", "--yes"); exit != cli.OK || !strings.Contains(out, "deleted "+store.ID) {
			t.Errorf("exit code %d, %s", exit, out)
		}
	})
}

func TestFailuresHaveAMessageAndAnExitCode(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	p.must(p.post("/datastores", map[string]string{"name": "Twins"}, nil))
	p.must(p.post("/datastores", map[string]string{"name": "Twins"}, nil))
	dir := inFolder(t, map[string]string{"good.txt": "What is good.", "bad.pdf": "%PDF-1.7\nand then nothing of one"})
	b := p.bring(cli.Partly, "ingest", filepath.Join(dir, "good.txt"), filepath.Join(dir, "bad.pdf"), "--datastore", "Mixed", "--create")
	if b.Synched != 1 || b.Failed != 1 || len(b.Failures) != 1 || !strings.HasSuffix(b.Failures[0].Name, "bad.pdf") || b.Failures[0].Error == "" {
		t.Errorf("a good file and a bad one: %+v", b)
	}
	if b = p.bring(cli.Partly, "ingest", dir, "--datastore", "Mixed"); b.Unchanged != 1 || b.Failed != 1 {
		t.Errorf("once more: %+v", b)
	}
	if all := p.settled(b.Datastore.ID, time.Minute); len(all) != 2 {
		t.Errorf("the datastore has %+v", all)
	}
	if out, _, _ := p.api(t.Context(), "datastores", "show", "Mixed"); !strings.Contains(out, "1 failed") || !strings.Contains(out, "  failed: bad.pdf: ") {
		t.Errorf("show says\n%s", out)
	}

	stopped, stop := context.WithCancel(t.Context())
	stop()
	none := httptest.NewServer(http.NotFoundHandler())
	none.Close()
	for name, test := range map[string]struct {
		ctx     context.Context
		address string
		args    []string
		exit    cli.Exit
		says    string
	}{
		"no command like it":            {args: []string{"qurey"}, exit: cli.Misused, says: `unknown command "qurey"; did you mean query?`},
		"no flag like it":               {args: []string{"query", "x", "--datastor", "y"}, exit: cli.Misused, says: "unknown flag --datastor; did you mean --datastore?"},
		"no question":                   {args: []string{"ask"}, exit: cli.Misused, says: "the question is empty; usage: sluice ask"},
		"no datastore named":            {args: []string{"query", "x"}, exit: cli.Misused, says: "specify a datastore: set --datastore to"},
		"two datastores of a name":      {args: []string{"query", "x", "--datastore", "Twins"}, exit: cli.Misused, says: `there are 2 datastores named "Twins"`},
		"a datastore that is not there": {args: []string{"query", "x", "--datastore", "Nope"}, exit: cli.NotFound, says: `datastore "Nope" does not exist; existing ones:`},
		"an agent that is not there":    {args: []string{"ask", "x", "--agent", "Nope"}, exit: cli.NotFound, says: `agent "Nope" does not exist`},
		"an id that is not there":       {args: []string{"datastores", "show", "01a1ff5b-9089-711a-a298-ac51be28ff37"}, exit: cli.NotFound, says: "NOT_FOUND"},
		"a filter that is none":         {args: []string{"query", "x", "--datastore", "Mixed", "--filter", "team"}, exit: cli.Misused, says: "must be key=value"},
		"a mode that is none":           {args: []string{"query", "x", "--datastore", "Mixed", "--mode", "fast"}, exit: cli.Failed, says: "mode"},
		"a key that is not valid":       {args: []string{"datastores", "list", "--key", "sk_wrong"}, exit: cli.Forbidden, says: "set the API key with SLUICE_API_KEY or --key"},
		"nobody there":                  {address: none.URL, args: []string{"datastores", "list"}, exit: cli.Unavailable, says: "check that the service is running"},
		"an address that is none":       {args: []string{"datastores", "list", "--url", "here"}, exit: cli.Misused, says: "is not the address of a service"},
		"a file that is not there":      {args: []string{"ingest", "/no/such/file", "--datastore", "Mixed"}, exit: cli.NotFound, says: "file or folder"},
		"a site that is a file":         {args: []string{"ingest", dir, "--site", "--datastore", "Mixed"}, exit: cli.Misused, says: "--site needs a web address"},
		"a file to watch":               {args: []string{"ingest", filepath.Join(dir, "good.txt"), "--watch", "--datastore", "Mixed"}, exit: cli.Misused, says: "work with folders"},
		"an import that is none":        {args: []string{"import", filepath.Join(dir, "good.txt"), "--datastore", "Mixed"}, exit: cli.Misused, says: "has neither JSON objects nor web addresses"},
		"who leaves":                    {ctx: stopped, args: []string{"datastores", "list"}, exit: cli.Stopped, says: "stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := test.ctx, test.address
			if ctx == nil {
				ctx = t.Context()
			}
			if address == "" {
				address = "http://" + p.addr
			}
			out, errs, exit := runAt(ctx, address, test.args...)
			if exit != test.exit || !strings.Contains(errs, test.says) || strings.Count(errs, "\n") != 1 || out != "" {
				t.Errorf("exit code %d, want %d; it says %q, want one line with %q", exit, test.exit, errs, test.says)
			}
			_, errs, _ = runAt(ctx, address, append(test.args, "--json")...)
			var told struct {
				Error struct {
					Code, Message string
					Exit          cli.Exit
				}
			}
			if err := json.Unmarshal([]byte(errs), &told); err != nil || told.Error.Exit != test.exit || told.Error.Code == "" {
				t.Errorf("with --json: %v, %s", err, errs)
			}
		})
	}
}

func TestTheLocalKeyIsFoundAndNotSentToOtherServices(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	writeFile(t, filepath.Join(p.dir, datadir.APIKey), testKey+"\n")
	list := func(args ...string) (string, cli.Exit) {
		var out, errs lockedBuffer
		err := run(t.Context(), API, append([]string{"datastores", "list"}, args...), []string{"SLUICE_DATA_DIR=" + p.dir, "SLUICE_ADDR=" + p.addr}, &out, &errs)
		return fmt.Sprint(out.String(), err), cli.ExitOf(err)
	}
	if said, exit := list(); exit != cli.OK {
		t.Errorf("at the service's own address: %s", said)
	}
	if said, exit := list("--data-dir", t.TempDir()); exit != cli.Forbidden || !strings.Contains(said, "sluice keys create") {
		t.Errorf("without a key: exit code %d, %s", exit, said)
	}
	if said, exit := list("--url", "http://192.0.2.1:8080"); exit != cli.Forbidden || !strings.Contains(said, "no API key for http://192.0.2.1:8080") {
		t.Errorf("elsewhere: exit code %d, %s", exit, said)
	}
}

func TestKeysOfAWorkspaceAreCreatedAndListed(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	for name, c := range map[string]struct {
		args []string
		exit cli.Exit
		want string
	}{
		"a mistyped name":            {[]string{"create", "--workspace", "team one!"}, cli.Misused, "--workspace"},
		"an unknown limit":           {[]string{"create", "--limits", "bytes=5"}, cli.Misused, "--limits"},
		"a limit that is no number":  {[]string{"create", "--limits", "queries=many"}, cli.Misused, "--limits"},
		"a limit of nothing":         {[]string{"create", "--limits", "queries=0"}, cli.Misused, "--limits"},
		"a workspace that is absent": {[]string{"list", "--workspace", "nosuch"}, cli.NotFound, "--all"},
	} {
		out, faults, code := p.command(append([]string{"keys"}, c.args...)...)
		if code != int(c.exit) || !strings.Contains(faults, c.want) || out != "" {
			t.Errorf("%s: exit code %d, %s%s; want %d and %s", name, code, out, faults, c.exit, c.want)
		}
	}
	out, faults, code := p.command("keys", "create", "--workspace", "acme", "--limits", "queries=2, requests_per_second=100")
	if code != 0 || !strings.Contains(out, "new workspace acme") {
		t.Fatalf("exit code %d: %s%s", code, out, faults)
	}
	limited := client{p, strings.SplitN(out, "\n", 2)[0]}
	if err := limited.post("/keys", map[string]any{"name": "free"}, nil); err == nil || !strings.Contains(err.Error(), "has limits") {
		t.Errorf("a limited key creates a key: %v", err)
	}
	if out, _, _ := p.command("keys", "create", "--workspace", "acme"); strings.Contains(out, "new workspace") {
		t.Errorf("a known workspace is new: %s", out)
	}
	if out, _, code := p.command("keys", "list", "--all"); code != 0 || strings.Count(out, "acme") != 2 || !strings.Contains(out, "default") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestAWatchedFolderIsFollowed(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	dir := inFolder(t, map[string]string{"one.txt": "The first document."})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan cli.Exit, 1)
	go func() {
		_, _, exit := p.api(ctx, "ingest", dir, "--datastore", "Watched", "--create", "--watch", "--json")
		ended <- exit
	}()
	var store string
	names := func() string {
		if store == "" {
			var all struct{ Data []struct{ ID string } }
			p.must(p.get("/datastores", &all))
			if len(all.Data) == 0 {
				return ""
			}
			store = all.Data[0].ID
		}
		sources, err := p.sources(store, "")
		p.must(err)
		var list []string
		for _, s := range sources {
			if s.Status != "synched" {
				return ""
			}
			list = append(list, strings.TrimPrefix(s.CustomID, filepath.ToSlash(dir)+"/"))
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	until(t, "the first file", func() bool { return names() == "one.txt" })
	writeFile(t, filepath.Join(dir, "two.txt"), "The second document.")
	writeFile(t, filepath.Join(dir, "sub/three.txt"), "The third document.")
	until(t, "new files", func() bool { return names() == "one.txt sub/three.txt two.txt" })
	writeFile(t, filepath.Join(dir, "one.txt"), "The first document speaks of albatrosses.")
	until(t, "the changed file", func() bool {
		found := p.query(store, "albatrosses", 1)
		return len(found) == 1 && strings.Contains(found[0].Text, "albatrosses") && names() == "one.txt sub/three.txt two.txt"
	})
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "two.txt"), filepath.Join(dir, "zwei.txt")); err != nil {
		t.Fatal(err)
	}
	until(t, "what is left", func() bool { return names() == "one.txt zwei.txt" })
	stop()
	if exit := <-ended; exit != cli.OK {
		t.Errorf("the watching ended with %d", exit)
	}
}

// cutting starts a proxy in front of the service and returns the proxy's address. The proxy counts the requests that
// add documents. Once the service has processed request number `after`, the proxy calls `cut` and stops forwarding
// requests.
func cutting(t *testing.T, p *program, after int64, cut func()) string {
	t.Helper()
	target, err := url.Parse("http://" + p.addr)
	p.must(err)
	var changed atomic.Int64
	over := make(chan struct{}) // closed after calling cut
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		if !errors.Is(err, context.Canceled) {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/datastores/upsert/") || r.Method == http.MethodPost && r.URL.Path == "/datasources" {
			switch n := changed.Add(1); {
			case n > after: // wait for the response to the last request
				<-over
				return
			case n == after:
				// The client disconnects before it gets the response, but the service must still process this request.
				r = r.WithContext(context.WithoutCancel(r.Context()))
				defer close(over)
				defer cut()
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestAnImportReportsEachRejectedAndEachCleanedDocument imports documents that all fit in one request.
func TestAnImportReportsEachRejectedAndEachCleanedDocument(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	export := writeLines(t, "notes.jsonl", `{"id": "good", "text": "The pump is blue."}`,
		`{"id": "large", "text": "The pump is red.", "metadata": {"k": "`+strings.Repeat("v", 17<<10)+`"}}`,
		`{"id": "cleaned", "text": "The pump is green.", "metadata": {"k": "a\u0000b"}}`)
	b := p.bring(cli.Partly, "import", export, "--datastore", "Notes", "--create")
	if b.Found != 3 || b.Synched != 2 || len(b.Failures) != 1 || b.Failures[0].Name != "large" || !strings.Contains(b.Failures[0].Error, "the limit is 16 KiB") {
		t.Errorf("%s: %+v", b.counts(), b.Failures)
	}
	if len(b.Warnings) != 1 || b.Warnings[0].Name != "cleaned" || !strings.Contains(b.Warnings[0].Warning, "metadata.k: contained NUL characters") {
		t.Errorf("the warnings are %+v", b.Warnings)
	}
}

func TestAnInterruptedImportContinues(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	const documents = 450
	var lines []string
	for i := range documents {
		lines = append(lines, fmt.Sprintf(`{"id": %d, "title": "Note %d", "body": {"plain": "Note %d is about subject s%d."}, "metadata": {"part": %d, "nothing": null}}`, i, i, i, i, i%7))
	}
	export := writeLines(t, "notes.jsonl", lines...)
	args := []string{"import", export, "--datastore", "Notes", "--create", "--text-field", "body.plain", "--parallel", "2"}
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	if out, errs, exit := runAt(ctx, cutting(t, p, 2, cut), args...); exit != cli.Stopped || !strings.Contains(errs, "run the command again to continue") {
		t.Fatalf("the run that was cut off ended with %d\n%s%s", exit, out, errs)
	}
	b := p.bring(cli.OK, args...)
	if b.Found != documents || b.Unchanged+b.Sent != documents || b.Unchanged == 0 || b.Sent == 0 {
		t.Errorf("the second run: %s", b.counts())
	}
	all := p.settled(b.Datastore.ID, time.Minute)
	ids := map[string]bool{}
	for _, s := range all {
		ids[s.CustomID] = true
	}
	if len(all) != documents || len(ids) != documents {
		t.Errorf("there are %d datasources with %d ids, of %d documents", len(all), len(ids), documents)
	}
	if b = p.bring(cli.OK, args...); b.Unchanged != documents || b.Sent != 0 {
		t.Errorf("the third run: %s", b.counts())
	}
	lines[7] = `{"id": 7, "title": "Note 7", "body": {"plain": "Note 7 is about albatrosses."}}`
	b = p.bring(cli.OK, "import", writeLines(t, "notes.jsonl", lines...), "--datastore", "Notes", "--text-field", "body.plain")
	if b.Unchanged != documents-1 || b.Sent != 1 || b.Synched != 1 {
		t.Errorf("with one that has changed: %s", b.counts())
	}
	if found := p.query(b.Datastore.ID, "albatrosses", 1); len(found) != 1 || !strings.Contains(found[0].Text, "albatrosses") {
		t.Errorf("the changed text is not found: %+v", found)
	}
}

func TestInterruptedUploadsAreNotDuplicated(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("Document %d of many.", i)
	}
	dir := inFolder(t, files)
	for after := range int64(3) { // interrupt each run a little later than the previous one
		ctx, cut := context.WithCancel(t.Context())
		_, _, exit := runAt(ctx, cutting(t, p, 5+4*after, cut), "ingest", dir, "--datastore", "Files", "--create", "--parallel", "4")
		cut()
		if exit != cli.Stopped {
			t.Fatalf("the run that was cut off ended with %d", exit)
		}
	}
	b := p.bring(cli.OK, "ingest", dir, "--datastore", "Files")
	if all := p.settled(b.Datastore.ID, time.Minute); len(all) != len(files) || b.Found != int64(len(files)) {
		t.Errorf("there are %d datasources of %d files; %s", len(all), len(files), b.counts())
	}
}

func TestAFileDeletedInTheServiceIsSentAgain(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	dir := inFolder(t, map[string]string{"a.txt": "What a says."})
	b := p.bring(cli.OK, "ingest", dir, "--datastore", "Again", "--create")
	p.must(p.delete("/datasources/" + b.Documents[0].ID))
	if b = p.bring(cli.OK, "ingest", dir, "--datastore", "Again"); b.Sent != 1 || b.Synched != 1 {
		t.Errorf("the second time: %s", b.counts())
	}
	if all := p.settled(b.Datastore.ID, time.Minute); len(all) != 1 || all[0].Status != "synched" {
		t.Errorf("there is %+v", all)
	}
}

func TestPagesAndSitesAreAddedOnce(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/", "/page":
			fmt.Fprintf(w, `<title>%s</title><p>What the page %s says about albatrosses, at some length.</p><a href="/page">more</a><a href="/gone">gone</a>`, r.URL.Path, r.URL.Path)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	p := newProgram(t, crawlerSettings()...)
	p.start()
	list := writeLines(t, "list.txt", "# what to read", web.URL+"/page # with a remark", "", "ftp://nowhere")
	b := p.bring(cli.Partly, "import", list, "--datastore", "Web", "--create")
	if b.Synched != 1 || b.Failed != 1 || b.Failures[0].Name != "line 4" {
		t.Errorf("a list: %+v", b)
	}
	if b = p.bring(cli.OK, "ingest", web.URL+"/page", "--datastore", "Web"); b.Unchanged != 1 || b.Sent != 0 {
		t.Errorf("a page of it once more: %s", b.counts())
	}
	if b = p.bring(cli.OK, "ingest", web.URL, "--site", "--datastore", "Site", "--create", "--max-pages", "10"); b.Synched != 1 {
		t.Errorf("a site: %+v", b)
	}
	if b = p.bring(cli.OK, "ingest", web.URL, "--site", "--datastore", "Site", "--max-pages", "10"); b.Unchanged != 1 || b.Sent != 0 {
		t.Errorf("the site once more: %+v", b)
	}
	if b = p.bring(cli.OK, "ingest", web.URL+"/page", "--refetch", "--datastore", "Web"); b.Sent != 1 || b.Synched != 1 {
		t.Errorf("fetched again: %s", b.counts())
	}
}

func TestAnEmptyServicePrintsTheNextSteps(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	for _, part := range []string{"There are no datastores yet", "export SLUICE_URL=http://" + p.addr, "ingest FOLDER --datastore Handbook --create", "query", "ask"} {
		// The program becomes ready slightly before it prints the next steps.
		p.eventually(20*time.Second, fmt.Sprintf("%q is not said", part), func() bool { return strings.Contains(p.stderr.String(), part) })
	}
	p.newDatastore()
	p.must(p.terminate())
	p.start()
	if strings.Contains(p.stderr.String(), "nothing in it") {
		t.Errorf("a service with a datastore says %q", p.stderr)
	}
}

func TestTheReferenceOfTheCommandsIsUpToDate(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != CommandReference() {
		t.Error("docs/cli.md is not what the commands say: run go generate ./pkg/app")
	}
}
