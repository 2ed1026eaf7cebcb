package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/loadtest"
)

// Minimum service that a tenant must get while another tenant is attacking.
const (
	victimRate    = 5    // requests per second
	victimServed  = 0.99 // as a share of all requests
	victimSlowest = 3    // as a multiple of the 99th percentile without an attack
	// A 99th percentile below this value, in milliseconds, is always acceptable, because the machine's noise dominates
	// at that level.
	victimFloor = 10.0
)

// tenant is a workspace in a program, with a datastore that contains documents.
type tenant struct {
	*program
	key    string
	store  string
	client *http.Client
}

func (p *program) tenant(workspace string) *tenant {
	p.t.Helper()
	t := &tenant{program: p, key: p.key(workspace), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	p.t.Cleanup(t.client.CloseIdleConnections)
	var store struct{ ID string }
	status, raw := t.do(p.t.Context(), http.MethodPost, "/datastores", "application/json", []byte(`{"name":"store"}`))
	if status != http.StatusCreated {
		p.t.Fatalf("%d %s", status, raw)
	}
	p.must(json.Unmarshal(raw, &store))
	t.store = store.ID
	t.must(t.json(p.t.Context(), "/datastores/upsert/"+t.store, overloadContent(0, 100)))
	t.settled(5 * time.Minute)
	return t
}

// do sends a request and returns the response's status, or 0 if there is no response.
func (t *tenant) do(ctx context.Context, method, path, contentType string, body []byte) (int, []byte) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+t.addr+path, bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	req.Header.Set("Authorization", "Bearer "+t.key)
	req.Header.Set("Content-Type", contentType)
	res, err := t.client.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return res.StatusCode, raw
}

func (t *tenant) json(ctx context.Context, path string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if status, raw := t.do(ctx, http.MethodPost, path, "application/json", raw); status/100 != 2 {
		return fmt.Errorf("%s: %d %.300s", path, status, raw)
	}
	return nil
}

func (t *tenant) search(ctx context.Context, query string, topK int) error {
	return t.json(ctx, "/datastores/"+t.store+"/query", map[string]any{"query": query, "topK": topK})
}

func (t *tenant) file(ctx context.Context, name string, content []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for k, v := range map[string]string{"type": "file", "datastoreId": t.store, "fileName": name} {
		_ = form.WriteField(k, v) // cannot fail, because it writes to memory
	}
	part, _ := form.CreateFormFile("file", name)
	_, _ = part.Write(content)
	_ = form.Close()
	if status, raw := t.do(ctx, http.MethodPost, "/datasources", form.FormDataContentType(), body.Bytes()); status/100 != 2 {
		return fmt.Errorf("%d %.300s", status, raw)
	}
	return nil
}

// statuses counts the tenant's datasources by status.
func (t *tenant) statuses() map[string]int {
	t.t.Helper()
	count := map[string]int{}
	for cursor := ""; ; {
		path := "/datasources?limit=200&datastoreId=" + t.store
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		status, raw := t.do(t.t.Context(), http.MethodGet, path, "", nil)
		var page struct {
			Data       []source
			NextCursor *string
		}
		if status != http.StatusOK {
			t.t.Fatalf("listing datasources: %d %.300s", status, raw)
		}
		t.must(json.Unmarshal(raw, &page))
		for _, s := range page.Data {
			count[s.Status]++
		}
		if page.NextCursor == nil {
			return count
		}
		cursor = *page.NextCursor
	}
}

// waiting returns the number of unfinished datasources.
func (t *tenant) waiting() int {
	n := 0
	for status, count := range t.statuses() {
		if status != "synched" && status != "error" {
			n += count
		}
	}
	return n
}

func (t *tenant) settled(timeout time.Duration) {
	t.t.Helper()
	t.eventually(timeout, "a tenant's content is not finished", func() bool { return t.waiting() == 0 })
}

// explodingPDF returns a small file whose only page draws a form, which draws a second form ten times, which draws a
// third form ten times, and so on. `number` makes the content unique.
func explodingPDF(number int) []byte {
	const levels = 24
	form := func(next int) string { return fmt.Sprintf("/Resources << /XObject << /N %d 0 R >> >>", next) }
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R " + form(5) + " >>",
		extracttest.Stream("", fmt.Sprintf("%% %d\n/N Do\n", number)),
	}
	for level := range levels {
		objects = append(objects, extracttest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 300 300] "+form(6+level), strings.Repeat("/N Do ", 10)))
	}
	objects = append(objects, extracttest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 300 300]", "0 0 1 1 re f"))
	return extracttest.PDF(objects...)
}

func smallPDF(text string) []byte {
	return extracttest.PDFPages(extracttest.At("F1", 12, 72, 700, text))
}

// attack keeps a service busy until ctx ends.
type attack func(ctx context.Context, by *tenant)

// attacks lists the ways in which one tenant might block the others.
var attacks = map[string]attack{
	"streams":       openStreams,
	"slow uploads":  func(ctx context.Context, by *tenant) { drip(ctx, by, 70, uploadHead(by)) },
	"slow upserts":  func(ctx context.Context, by *tenant) { drip(ctx, by, 70, upsertHead(by)) },
	"searches":      func(ctx context.Context, by *tenant) { searchAlways(ctx, by, 16, dearQuery) },
	"normalisation": func(ctx context.Context, by *tenant) { searchAlways(ctx, by, 16, strings.Repeat("\uFDFA", 8000)) },
	"readers":       uploadExploding,
	"requests": func(ctx context.Context, by *tenant) {
		atOnce(ctx, 64, func(int) { by.do(ctx, http.MethodGet, "/datasources?limit=200", "", nil) })
	},
}

// dearQuery is nearly the most expensive query allowed.
var dearQuery = strings.Repeat("harbour lighthouse orchard railway cathedral mill quarry garden bridge observatory ", 90)

// atOnce calls f repeatedly from n goroutines until ctx ends.
func atOnce(ctx context.Context, n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				f(i)
			}
		})
	}
	all.Wait()
}

func searchAlways(ctx context.Context, by *tenant, clients int, query string) {
	atOnce(ctx, clients, func(int) { _ = by.search(ctx, query, 100) })
}

// openStreams opens as many event streams as possible and keeps them open.
func openStreams(ctx context.Context, by *tenant) {
	var all sync.WaitGroup
	for range 4096 {
		conn, status := by.stream(ctx)
		if conn == nil {
			break
		}
		if status != http.StatusOK {
			conn.Close()
			break
		}
		all.Go(func() { <-ctx.Done(); conn.Close() })
	}
	all.Wait()
}

// stream opens an event stream on a new connection and returns the response's status.
func (t *tenant) stream(ctx context.Context) (net.Conn, int) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, 0
	}
	_, _ = fmt.Fprintf(conn, "GET /datastores/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", t.store, t.addr, t.key)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil) // does not wait for the body, an endless stream
	if err != nil {
		conn.Close()
		return nil, 0
	}
	return conn, res.StatusCode
}

func uploadHead(t *tenant) string {
	return fmt.Sprintf("POST /datasources HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 90000\r\n\r\n"+
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n", t.addr, t.key)
}

func upsertHead(t *tenant) string {
	return fmt.Sprintf("POST /datastores/upsert/%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n", t.store, t.addr, t.key)
}

// drip sends a request header over many connections, followed by a single byte now and then.
func drip(ctx context.Context, by *tenant, connections int, head string) {
	atOnce(ctx, connections, func(int) {
		conn, err := net.Dial("tcp", by.addr)
		if err != nil {
			return
		}
		defer conn.Close()
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		defer stop()
		_, err = io.WriteString(conn, head)
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for err == nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, err = io.WriteString(conn, "x")
			}
		}
	})
}

func uploadExploding(ctx context.Context, by *tenant) {
	for n := range 40 {
		_ = by.file(ctx, fmt.Sprintf("form%d.pdf", n), explodingPDF(n))
	}
	<-ctx.Done()
}

// victim sends one of the attacked tenant's requests: a search, a list or a small upload.
func (t *tenant) victim(ctx context.Context, n int, take *loadtest.Times) error {
	defer take.Since("answered")
	switch n % victimRate {
	case 0:
		return t.json(ctx, "/datastores/upsert/"+t.store, map[string]any{"documents": []map[string]any{{"text": fmt.Sprintf("Note %d about the harbour.", n)}}})
	case 1:
		status, raw := t.do(ctx, http.MethodGet, "/datasources?limit=10", "", nil)
		if status != http.StatusOK {
			return fmt.Errorf("%d %.300s", status, raw)
		}
		return nil
	}
	return t.search(ctx, fmt.Sprintf("Which harbour of district %d keeps records about the mill?", n%37), 5)
}

// TestFairness measures how well a tenant is served without an attack, during each attack by another tenant, and during
// all attacks together. TEST_FAIRNESS is the duration of each measurement.
func TestFairness(t *testing.T) {
	span := timeOf(t, "TEST_FAIRNESS")
	names := []string{"streams", "slow uploads", "slow upserts", "searches", "normalisation", "readers", "requests", "all"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t, "SLUICE_ADMISSION_WAIT=25ms")
			p.start()
			attacker, victim := p.tenant("attacker"), p.tenant("victim")
			measure := func() (served float64, slowest float64) {
				t.Helper()
				r, err := loadtest.Run(t.Context(), loadtest.Load{Rate: victimRate, Clients: 256, Warmup: span / 5, For: span, Grace: 30 * time.Second}, victim.victim)
				p.must(err)
				for _, m := range r.Measures {
					slowest = max(slowest, m.P99)
				}
				t.Logf("%d requests, failed: %d %v; p99 %.1f ms", r.Sent, r.Failed, r.Failures, slowest)
				return 1 - float64(r.Failed)/float64(max(r.Sent, 1)), slowest
			}
			_, quiet := measure()
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			for _, other := range names {
				if a := attacks[other]; a != nil && (other == name || name == "all") {
					all.Go(func() { a(ctx, attacker) })
				}
			}
			served, slowest := measure()
			if served < victimServed {
				t.Errorf("%.2f%% of the requests were served", 100*served)
			}
			if slowest > victimSlowest*max(quiet, victimFloor) {
				t.Errorf("1%% of the requests took more than %.1f ms, without the attack %.1f ms", slowest, quiet)
			}
			p.must(victim.file(t.Context(), "small.pdf", smallPDF("The keeper of the lighthouse writes.")))
			began := time.Now()
			victim.settled(time.Minute)
			t.Logf("the victim's content was searchable after %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// TestAWorkspaceLeavesAProcessor takes as many slots for computed queries as one workspace can get. If there is more
// than one CPU, one must be left to other workspaces.
func TestAWorkspaceLeavesAProcessor(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]int{1: 1, 2: 1, 3: 2, 8: 7, 64: 63} {
		gate := admission.New(admission.Options{Limit: computedPerProcessor * count, Share: computedShare(count, computedPerProcessor, count-1)})
		for range computedPerProcessor * count {
			gate.Enter(t.Context(), "one")
		}
		if got := gate.Held("one"); got != want {
			t.Errorf("with %d processors, one workspace has %d slots, want %d", count, got, want)
		}
	}
}

// TestStreamsOfOneTenant opens as many event streams as one tenant can get. Another tenant must still get streams, and
// both tenants' requests must be served.
func TestStreamsOfOneTenant(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "SLUICE_LIMIT_OPEN=30")
	p.start()
	attacker, victim := p.tenant("attacker"), p.tenant("victim")
	open := func(by *tenant) (n int) {
		for range 40 {
			conn, status := by.stream(t.Context())
			if conn == nil {
				t.Fatal("no response")
			}
			t.Cleanup(func() { conn.Close() })
			if status != http.StatusOK {
				return n
			}
			n++
		}
		return n
	}
	if n := open(attacker); n != 10 {
		t.Errorf("one key has %d of 30 streams, want a third", n)
	}
	p.must(victim.search(t.Context(), "harbour", 5))
	p.must(attacker.search(t.Context(), "harbour", 5))
	if n := open(victim); n < 5 {
		t.Errorf("the other tenant gets only %d streams", n)
	}
}

// TestSlowUploadsOfOneTenant starts many uploads as one tenant without finishing them. Another tenant's uploads must
// still be accepted.
func TestSlowUploadsOfOneTenant(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "SLUICE_LIMIT_UPLOADS=4")
	p.start()
	attacker, victim := p.tenant("attacker"), p.tenant("victim")
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, head := range []string{uploadHead(attacker), upsertHead(attacker)} {
		all.Go(func() { drip(ctx, attacker, 6, head) })
	}
	// The attacker has used up its share once one of its own requests must wait.
	p.eventually(time.Minute, "the slow uploads do not arrive", func() bool {
		waits, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer stop()
		return attacker.json(waits, "/datastores/upsert/"+attacker.store, overloadContent(0, 1)) != nil
	})
	for n := range 5 {
		p.must(victim.json(t.Context(), "/datastores/upsert/"+victim.store, overloadContent(n, 1)))
		p.must(victim.file(t.Context(), "note.txt", []byte("The lighthouse.")))
	}
}

// TestSearchesOfOneTenant lets one tenant search constantly from 64 goroutines. Another tenant's searches must all be
// answered, and must overtake most of the first tenant's waiting searches.
func TestSearchesOfOneTenant(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	attacker, victim := p.tenant("attacker"), p.tenant("victim")
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	var answered atomic.Int64
	all.Go(func() {
		atOnce(ctx, 64, func(int) {
			if attacker.search(ctx, dearQuery, 100) == nil {
				answered.Add(1)
			}
		})
	})
	p.eventually(time.Minute, "the attacker is not served", func() bool { return answered.Load() > 64 })
	var overtaken []int64
	for n := range 26 {
		before := answered.Load()
		if err := victim.search(t.Context(), fmt.Sprintf("harbour of district %d", n), 5); err != nil {
			t.Error(err)
		}
		overtaken = append(overtaken, answered.Load()-before)
	}
	// If tenants did not share the slots fairly, each search would be answered after about 64 of the attacker's.
	slices.Sort(overtaken)
	if median := overtaken[len(overtaken)/2]; median > 24 {
		t.Errorf("before half of the searches, %d or more of the other tenant were answered: %v", median, overtaken)
	}
}

// TestReadersOfOneTenant lets one tenant upload PDFs that take a long time to read. Another tenant's files must become
// searchable before all of these PDFs have been read.
func TestReadersOfOneTenant(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "SLUICE_WINDOW=16")
	p.start()
	attacker, victim := p.tenant("attacker"), p.tenant("victim")
	const files = 40
	for n := range files {
		p.must(attacker.file(t.Context(), fmt.Sprintf("form%d.pdf", n), explodingPDF(n)))
	}
	p.eventually(time.Minute, "the files are not read", func() bool { return attacker.statuses()["running"] > 0 })
	for n := range 3 {
		p.must(victim.file(t.Context(), fmt.Sprintf("note%d.txt", n), []byte("The lighthouse.")))
		p.must(victim.file(t.Context(), fmt.Sprintf("page%d.pdf", n), smallPDF(fmt.Sprintf("The keeper of lighthouse %d.", n))))
	}
	victim.settled(3 * time.Minute)
	if n := victim.statuses()["error"]; n > 0 {
		t.Errorf("%d files of the victim could not be read", n)
	}
	if n := attacker.waiting(); n < files/2 {
		t.Errorf("the victim's files were finished after %d of %d files of the attacker", files-n, files)
	}
}
