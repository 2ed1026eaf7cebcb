package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/testdata/site"
)

const documents = "../../testdata/documents"

func TestDocumentsAndASiteBecomeFragmentsAndACitedAnswer(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(site.Handler())
	defer pages.Close()
	p := newProgram(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_CRAWL_DELAY=1ms")
	p.start()
	store := p.newDatastore()
	files, err := os.ReadDir(documents)
	p.must(err)
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(documents, f.Name()))
		p.must(err)
		var accepted source
		p.must(p.upload(store, f.Name(), f.Name(), content, &accepted))
		if accepted.Status != "unsynched" {
			t.Errorf("%s is accepted with status %q", f.Name(), accepted.Status)
		}
	}
	var siteSource source
	p.must(p.post("/datasources", map[string]any{
		"datastoreId": store, "type": "web_site", "name": "site", "config": map[string]string{"source_url": pages.URL + "/"},
	}, &siteSource))
	children := 0
	for _, s := range p.settled(store, time.Minute) {
		if s.Status != "synched" {
			t.Errorf("%s ended with status %s: %s", s.Name, s.Status, s.Error)
		}
		if s.GroupID == siteSource.ID {
			children++
			if strings.Contains(s.Name, "private") {
				t.Errorf("%s was crawled although robots.txt forbids it", s.Name)
			}
		}
		if s.Type != "web_site" && s.Chunks == 0 {
			t.Errorf("%s has no chunks", s.Name)
		}
	}
	if children < 10 {
		t.Errorf("the site has %d pages", children)
	}
	for question, want := range map[string]string{
		"How long is the warranty of the Aurora X2 pump?":             "7 years",
		"Wie hoch ist das Tagegeld im Ausland?":                       "52 €",
		"When do the cells of the Nimbus Logger have to be replaced?": "cells",
	} {
		found := p.query(store, question, 5)
		if len(found) == 0 || !strings.Contains(found[0].Text, want) {
			t.Errorf("%q: the best fragment does not say %q: %+v", question, want, found)
		}
		for i, f := range found {
			if f.Score < 0 || f.Score > 1 || i > 0 && f.Score > found[i-1].Score {
				t.Errorf("%q: score %v at place %d", question, f.Score, i)
			}
		}
	}
	p.checkAnswer(store)
	p.checkRectangles(store)
}

// checkRectangles requests the rectangles for a fragment from a PDF whose pages measure 595 by 842 points.
func (p *program) checkRectangles(store string) {
	p.t.Helper()
	var found []struct {
		Page       int
		Rectangles []struct {
			Page                int
			X, Y, Width, Height float64
		}
	}
	p.must(p.post("/datastores/"+store+"/query", map[string]any{"query": "How long is the warranty of the Aurora X2 pump?", "topK": 1, "rectangles": true}, &found))
	if len(found) != 1 || len(found[0].Rectangles) == 0 {
		p.t.Fatalf("no rectangles: %+v", found)
	}
	for _, r := range found[0].Rectangles {
		if r.Page != found[0].Page || r.X < 72 || r.X+r.Width > 595 || r.Y < 72 || r.Y+r.Height > 842 || r.Width <= 0 || r.Height <= 0 {
			p.t.Errorf("the rectangle %+v is not in the text of page %d", r, found[0].Page)
		}
	}
}

func (p *program) checkAnswer(store string) {
	p.t.Helper()
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "helper", "datastoreIds": []string{store}}, &agent))
	type response struct {
		Answer, ConversationID, VisitorID string
		Sources                           []struct {
			Citation int
			Source   string
		}
	}
	var first response
	p.must(p.post("/agents/"+agent.ID+"/query", map[string]any{"query": "How long is the warranty of the Aurora X2 pump?"}, &first))
	if !strings.Contains(first.Answer, "7 years") || !strings.Contains(first.Answer, "[1]") {
		p.t.Errorf("the answer is %q", first.Answer)
	}
	if len(first.Sources) == 0 || first.Sources[0].Citation != 1 || first.Sources[0].Source != "aurora-x2-manual.pdf#page=1" {
		p.t.Errorf("the sources are %+v", first.Sources)
	}
	if first.ConversationID == "" || first.VisitorID == "" {
		p.t.Errorf("no conversation: %+v", first)
	}
	var next response
	p.must(p.post("/agents/"+agent.ID+"/query", map[string]any{
		"query": "And how heavy is it?", "conversationId": first.ConversationID, "visitorId": first.VisitorID,
	}, &next))
	if next.ConversationID != first.ConversationID || next.VisitorID != first.VisitorID {
		p.t.Errorf("the conversation did not go on: %+v", next)
	}
	var nothing response
	p.must(p.post("/agents/"+agent.ID+"/query", map[string]any{"query": "Who won the chess olympiad in Batumi?"}, &nothing))
	if len(nothing.Sources) != 0 {
		p.t.Errorf("a question that the documents do not answer has sources: %+v", nothing)
	}
	var talk struct{ Messages []struct{ Role, Text string } }
	p.must(p.get("/conversations/"+first.ConversationID, &talk))
	if len(talk.Messages) != 4 {
		p.t.Errorf("the conversation has %d messages, want 4", len(talk.Messages))
	}
}

func TestAModelServerEmbedsAndAnswers(t *testing.T) {
	t.Parallel()
	models := newModelServer(t)
	p := newProgram(t, "OPENAI_BASE_URL="+models.URL+"/v1", "OPENAI_API_KEY=secret-key-of-the-model-server", "SLUICE_CHAT_MODEL=chatty", "SLUICE_EMBED_MODEL=letters")
	p.start()
	store := p.newDatastore()
	var ids struct{ IDs []string }
	p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": []any{
		map[string]any{"text": "Koalas sleep twenty hours a day.", "name": "koala", "metadata": map[string]string{"source": "zoo"}},
	}}, &ids))
	if len(ids.IDs) != 1 {
		t.Fatalf("ids: %v", ids)
	}
	if s := p.settled(store, time.Minute); s[0].Status != "synched" {
		t.Fatalf("ended with %+v", s)
	}
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "zoo", "datastoreIds": []string{store}}, &agent))
	const want = "Zeile \"eins\"\n\n  zwei 🐨 日本語 [1]."
	var whole struct {
		Answer  string
		Sources []fragment
	}
	p.must(p.post("/agents/"+agent.ID+"/query", map[string]any{"query": "How long do koalas sleep?"}, &whole))
	if whole.Answer != want || len(whole.Sources) != 1 || whole.Sources[0].Source != "zoo" {
		t.Errorf("answer %q, sources %+v", whole.Answer, whole.Sources)
	}
	answer, end := p.stream("/agents/"+agent.ID+"/query", map[string]any{"query": "How long do koalas sleep?", "streaming": true})
	if answer != want || !strings.Contains(end, `"sources"`) {
		t.Errorf("streamed answer %q, end %q", answer, end)
	}
	models.Close()
	err := p.post("/agents/"+agent.ID+"/query", map[string]any{"query": "Are you there, koalas?"}, nil)
	if !refusedWith(err, http.StatusServiceUnavailable) {
		t.Errorf("without its model server the service answers %v", err)
	}
	if log := p.stderr.String(); strings.Contains(log, "secret-key") {
		t.Error("the log shows the model server's key")
	}
}

// stream reads an agent's streamed answer as the chat interface does.
func (p *program) stream(path string, body any) (answer, end string) {
	p.t.Helper()
	b, err := json.Marshal(body)
	p.must(err)
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+path, bytes.NewReader(b))
	p.must(err)
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(req)
	p.must(err)
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream; charset=utf-8" {
		p.t.Fatalf("status %d, content type %q", resp.StatusCode, got)
	}
	name, data := "", []string(nil)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		case lines.Text() == "" && data != nil:
			text := strings.Join(data, "\n")
			if text == "[DONE]" {
				return answer, end
			}
			if name == "answer" {
				answer += text
			} else {
				end += text
			}
			name, data = "", nil
		}
	}
	p.t.Fatalf("the stream ended without [DONE]: %v", lines.Err())
	return "", ""
}

func TestASecondProcessOnTheSameDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	second := &program{t: t, shape: API, dir: p.dir, addr: "127.0.0.1:0"}
	second.launch()
	if err := <-second.exited; err == nil {
		t.Fatal("the second process ended well")
	}
	if out := second.stderr.String(); !strings.Contains(out, "is in use by another process (process ") || strings.Count(out, "\n") != 1 {
		t.Errorf("the second process says %q", out)
	}
}

func TestACrawlerProcessOfItsOwnFetchesPages(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(site.Handler())
	defer pages.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nats := l.Addr().String()
	l.Close()
	p := newProgram(t, "SLUICE_WORKERS=false", "SLUICE_NATS_LISTEN="+nats, "SLUICE_NATS_TOKEN=token-of-the-test")
	p.start()
	store := p.newDatastore()
	var page source
	p.must(p.post("/datasources", map[string]any{
		"datastoreId": store, "type": "web_page", "name": "about", "config": map[string]string{"source_url": pages.URL + "/about.html"},
	}, &page))
	crawler := newProgram(t, "NATS_URL=nats://"+nats, "SLUICE_NATS_TOKEN=token-of-the-test", "SLUICE_ALLOW_PRIVATE_ADDRESSES=true")
	crawler.shape = Crawler
	crawler.launch()
	// The api process ingests content for the embedded index itself, whichever process crawled it.
	for deadline := time.After(30 * time.Second); ; {
		var now struct {
			Status, Error string
		}
		p.must(p.get("/datasources/"+page.ID, &now))
		if now.Status == "synched" {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("the page is not there: %+v\n%s", now, crawler.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := crawler.terminate(); err != nil {
		t.Errorf("the crawler did not stop cleanly: %v\n%s", err, crawler.stderr)
	}
}

func TestTheFirstStartCreatesAKeyAndShowsItOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "SLUICE_API_KEY=")
	p.start()
	if !strings.Contains(p.stderr.String(), "your API key is sk_") {
		t.Fatalf("the first start says %q", p.stderr)
	}
	kept, err := os.ReadFile(filepath.Join(p.dir, datadir.APIKey))
	p.must(err)
	info, err := os.Stat(filepath.Join(p.dir, datadir.APIKey))
	p.must(err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %v", info.Mode())
	}
	if err := p.terminate(); err != nil {
		t.Fatalf("stopping: %v", err)
	}
	p.start()
	if out := p.stderr.String(); strings.Contains(out, "sk_") {
		t.Errorf("the second start shows a key: %q", out)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.addr+"/datastores", nil)
	p.must(err)
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(kept)))
	resp, err := http.DefaultClient.Do(req)
	p.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the kept key gets status %d", resp.StatusCode)
	}
}

func TestAStopInTheMiddleOfWorkIsCleanAndLosesNothing(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 30)
	for _, d := range docs {
		var accepted source
		p.must(p.upload(store, d.name, d.customID, d.content, &accepted))
		d.id = accepted.ID
	}
	began := time.Now()
	if err := p.terminate(); err != nil {
		t.Fatalf("stopping: %v\n%s", err, p.stderr)
	}
	t.Logf("stopped in %v", time.Since(began))
	p.start()
	p.checkSources(docs, p.settled(store, time.Minute))
	p.checkQueries(store, docs)
	p.must(p.terminate())
	checkRows(t, p.dir, store)
}

func TestWrongCallsEndWithOneClearLine(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		shape Shape
		args  []string
		env   []string
		code  int
		says  string
	}{
		"an unknown setting":              {API, nil, []string{"SLUICE_PORT=1"}, 2, "SLUICE_PORT is not a setting"},
		"an unknown command":              {API, []string{"sevre"}, nil, 2, `unknown command "sevre"`},
		"a key that can be guessed":       {API, nil, []string{"SLUICE_API_KEY=short", "SLUICE_ADDR=127.0.0.1:0"}, 2, "use at least 16"},
		"a model without a server":        {API, nil, []string{"SLUICE_EMBED_MODEL=m"}, 1, "no model server is configured"},
		"an ingestor without an engine":   {Ingestor, nil, []string{"NATS_URL=nats://127.0.0.1:1"}, 1, "cannot use the embedded index"},
		"an ingestor without NATS":        {Ingestor, nil, nil, 1, "needs NATS_URL"},
		"a crawler without NATS":          {Crawler, nil, nil, 1, "needs NATS_URL"},
		"a port without a host":           {API, nil, []string{"SLUICE_ADDR=8099"}, 2, "must be host:port: write 127.0.0.1:8099"},
		"an address with a scheme":        {API, nil, []string{"SLUICE_ADDR=http://127.0.0.1:80"}, 2, "must be host:port"},
		"the flag of other servers":       {API, []string{"--port", "8099"}, nil, 2, "unknown setting --port; did you mean --addr 127.0.0.1:8080?"},
		"a flag of one letter":            {API, []string{"-p", "8099"}, nil, 2, "sluice: unknown setting -p; did you mean --addr 127.0.0.1:8080?"},
		"a setting with a typo":           {API, []string{"--adr", ":1"}, nil, 2, "did you mean --addr?"},
		"a key in quotes":                 {API, nil, []string{`SLUICE_API_KEY="sk_0123456789abcdef"`}, 2, `SLUICE_API_KEY (--api-key): is in quotes ("…"): remove them`},
		"a port in use":                   {API, nil, []string{"SLUICE_ADDR=" + taken.Addr().String()}, 1, "another program already listens on " + taken.Addr().String()},
		"a data directory that is a file": {API, []string{"--data-dir", file}, nil, 1, "data directory " + file + " is a file"},
		"a data directory below a file":   {API, []string{"--data-dir", file + "/below"}, nil, 1, "is a file or inside one: set SLUICE_DATA_DIR"},
		"an open NATS port without token": {API, nil, []string{"SLUICE_NATS_LISTEN=127.0.0.1:0"}, 2, "needs SLUICE_NATS_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := Main(test.shape, test.args, append(test.env, "SLUICE_DATA_DIR="+t.TempDir()), &out, &errs)
			if code != test.code || !strings.Contains(errs.String(), test.says) {
				t.Errorf("exit code %d, says %q", code, errs.String())
			}
		})
	}
}

func TestKeysAreManagedDuringARunningService(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	keys := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := Main(API, append([]string{"keys"}, args...), []string{"SLUICE_DATA_DIR=" + p.dir}, &out, &errs); code != 0 {
			t.Fatalf("keys %v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	secret, rest, _ := strings.Cut(keys("create", "--name", "reader", "--scopes", "read"), "\n")
	id := strings.TrimSuffix(strings.Fields(rest)[1], ",")
	status := func(method, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.addr+path, strings.NewReader(`{"name":"x"}`))
		p.must(err)
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(req)
		p.must(err)
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(http.MethodGet, "/datastores"); got != http.StatusOK {
		t.Errorf("reading with the key: %d", got)
	}
	if got := status(http.MethodPost, "/datastores"); got != http.StatusForbidden {
		t.Errorf("writing with a key for reading: %d", got)
	}
	if list := keys("list"); !strings.Contains(list, "reader") || strings.Contains(list, secret) {
		t.Errorf("the list is %q", list)
	}
	keys("revoke", id)
	if list := keys("list"); strings.Contains(list, "reader") {
		t.Errorf("after revoking, the list is %q", list)
	}
}
