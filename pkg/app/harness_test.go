package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	local "github.com/sluice/sluice/tools/local/engines"
)

// childVariable is the environment variable that makes the test binary run a process of the given shape, so that tests
// can kill that process.
const childVariable = "APP_TEST_CHILD"

func TestMain(m *testing.M) {
	extract.RunChildIfAsked()
	local.RunChildIfAsked()
	if shape := os.Getenv(childVariable); shape != "" {
		h := faultHooks(os.Getenv(pointVariable))
		h.now = wrongClock(os.Getenv(clockVariable))
		signal.Ignore(syscall.SIGXFSZ) // tests limit file sizes to simulate a full disk; this keeps the process alive when it hits the limit
		os.Exit(mainWith(h, Shape(shape), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	}
	moreAtOnce()
	os.Exit(local.Stopping(m).Run())
}

// moreAtOnce runs twice as many tests in parallel as there are CPUs, unless -parallel is set. The tests spend three
// quarters of their time waiting for processes, engines and time-outs.
func moreAtOnce() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // cannot happen, because the value is a number
	}
}

const testKey = "sk_test_0123456789abcdef0123456789abcdef"

// program is a Sluice process with its own data directory. The directory outlives the process.
type program struct {
	t     testing.TB
	shape Shape
	dir   string
	addr  string
	env   []string
	wrap  []string // command that runs the process; if empty, it is started directly

	cmd    *exec.Cmd
	exited chan error
	stderr *lockedBuffer
}

func newProgram(t testing.TB, env ...string) *program {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := &program{t: t, shape: API, dir: t.TempDir(), addr: l.Addr().String(), env: env}
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill()
		}
		if t.Failed() && p.stderr != nil {
			t.Logf("the program's log ends with:\n%s", tail(p.stderr.String(), 6000))
		}
	})
	return p
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// lockedBuffer is a buffer written by the process and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (p *program) launch(args ...string) {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	whole := append(append(slices.Clone(p.wrap), self), args...)
	p.cmd = exec.Command(whole[0], whole[1:]...)
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(p.shape), "SLUICE_ADDR="+p.addr, "SLUICE_DATA_DIR="+p.dir, "SLUICE_API_KEY="+testKey,
		"SLUICE_LOG_LEVEL=warn",
		"SLUICE_ADMISSION_WAIT=1m", "SLUICE_LIMIT_DISK=0") // the machine may be busy and its disk nearly full
	p.cmd.Env = append(p.cmd.Env, p.env...)
	p.stderr = &lockedBuffer{}
	p.cmd.Stdout, p.cmd.Stderr = p.stderr, p.stderr
	p.exited = make(chan error, 1)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd, exited := p.cmd, p.exited
	go func() { exited <- cmd.Wait() }()
}

// start launches the process, waits until it is ready and returns how long that took.
func (p *program) start() time.Duration {
	p.t.Helper()
	began := time.Now()
	p.launch()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case err := <-p.exited:
			p.exited <- err
			p.t.Fatalf("the program ended: %v\n%s", err, p.stderr)
		case <-deadline:
			p.t.Fatalf("the program is not ready after 30 s\n%s", p.stderr)
		case <-poll.C:
		}
		if resp, err := http.Get("http://" + p.addr + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Since(began)
			}
		}
	}
}

// kill kills the process at once, as kill -9 does.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // the process may have exited already
	<-p.exited
	p.exited <- nil
}

// terminate asks the process to stop and returns its exit error.
func (p *program) terminate() error {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.exited:
		p.exited <- nil
		return err
	case <-time.After(20 * time.Second):
		p.t.Fatalf("the program did not stop\n%s", p.stderr)
		return nil
	}
}

// errRefused reports a response with a status other than 2xx.
type errRefused struct {
	status int
	body   string
}

func (e errRefused) Error() string { return fmt.Sprintf("%d: %s", e.status, e.body) }

// call sends one request. A broken connection is an ordinary error, because the process may have been killed.
func (p *program) call(ctx context.Context, method, path, contentType string, body io.Reader, into any) error {
	return p.callWith(ctx, method, path, contentType, body, into)
}

// callWith is like call, with additional headers given as alternating names and values.
func (p *program) callWith(ctx context.Context, method, path, contentType string, body io.Reader, into any, headers ...string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Close = true // a connection to a killed process must not be reused
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return errRefused{resp.StatusCode, string(b)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

func (p *program) post(path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.call(ctx, http.MethodPost, path, "application/json", bytes.NewReader(b), into)
}

func (p *program) get(path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.call(ctx, http.MethodGet, path, "", nil, into)
}

func (p *program) delete(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.call(ctx, http.MethodDelete, path, "application/json", strings.NewReader("{}"), nil)
}

func (p *program) upload(storeID, name, customID string, content []byte, into any) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for k, v := range map[string]string{"type": "file", "datastoreId": storeID, "fileName": name, "custom_id": customID} {
		if err := form.WriteField(k, v); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.call(ctx, http.MethodPost, "/datasources", form.FormDataContentType(), &body, into)
}

func (p *program) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

type source struct {
	ID, Name, Type, Status, Error, GroupID, CustomID string
	Chunks                                           int
}

type fragment struct {
	Text         string
	Score        float64
	Source       string
	DatasourceID string `json:"datasource_id"`
}

func (p *program) newDatastore() string {
	p.t.Helper()
	var store struct{ ID string }
	p.must(p.post("/datastores", map[string]string{"name": "test"}, &store))
	return store.ID
}

// sources returns all of a datastore's datasources, or those matching a search.
func (p *program) sources(storeID, search string) ([]source, error) {
	var all []source
	q := url.Values{"datastoreId": {storeID}, "limit": {"200"}}
	if search != "" {
		q.Set("search", search)
	}
	for {
		var page struct {
			Data       []source
			NextCursor *string
		}
		if err := p.get("/datasources?"+q.Encode(), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if page.NextCursor == nil {
			return all, nil
		}
		q.Set("cursor", *page.NextCursor)
	}
}

// settled waits until none of the datastore's datasources is waiting or being processed. It returns all of them.
func (p *program) settled(storeID string, timeout time.Duration) []source {
	p.t.Helper()
	deadline := time.After(timeout)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		all, err := p.sources(storeID, "")
		var waiting []string
		if refusedWith(err, http.StatusServiceUnavailable) { // an engine restarted a moment ago
			waiting = append(waiting, err.Error())
		} else {
			p.must(err)
		}
		for _, s := range all {
			if s.Status != "synched" && s.Status != "error" && s.Status != "skipped" {
				waiting = append(waiting, s.Name+" ("+s.Status+")")
			}
		}
		if len(waiting) == 0 {
			return all
		}
		select {
		case <-deadline:
			p.t.Fatalf("after %v %d of %d datasources still wait: %.2000s", timeout, len(waiting), len(all), strings.Join(waiting, ", "))
		case <-poll.C:
		}
	}
}

func (p *program) query(storeID, text string, topK int) []fragment {
	p.t.Helper()
	var found []fragment
	ask := func() error {
		return p.post("/datastores/"+storeID+"/query", map[string]any{"query": text, "topK": topK}, &found)
	}
	err := ask()
	// On a busy machine, Milvus may be slow and then be reported as unavailable.
	if slices.ContainsFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "MILVUS_ADDR=") }) && refusedWith(err, http.StatusServiceUnavailable) {
		p.eventually(time.Minute, "Milvus cannot be searched", func() bool {
			err = ask()
			return !refusedWith(err, http.StatusServiceUnavailable)
		})
	}
	p.must(err)
	return found
}

func refusedWith(err error, status int) bool {
	var refused errRefused
	return asRefused(err, &refused) && refused.status == status
}

func asRefused(err error, refused *errRefused) bool { return errors.As(err, refused) }
