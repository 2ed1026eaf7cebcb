//go:build unix

package render

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/tools/local/engines"
)

// members returns the ids of a group's running processes.
func members(t testing.TB, group int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("this system has no /proc")
	}
	var pids []int
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the process has exited
		}
		// The format is "pid (name) state parent group …". The name may contain any characters.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(group) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAKilledBrowserIsRestarted(t *testing.T) {
	t.Parallel()
	b := start(t)
	hanging := make(chan struct{}, 1)
	s := serve(t, map[string]string{"/": shell}, map[string]http.HandlerFunc{"/hang": func(_ http.ResponseWriter, r *http.Request) {
		hanging <- struct{}{}
		<-r.Context().Done()
	}})
	pid := 0
	for range 3 {
		wantText(t, render(t, b, via(t), s.URL+"/"), "begun;")
		now := pidOf(b)
		if now == pid {
			t.Fatal("the killed browser still runs")
		}
		pid = now
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	wantText(t, render(t, b, via(t), s.URL+"/"), "begun;")
	failed := make(chan error, 1)
	go func() {
		_, err := b.Render(context.Background(), s.URL+"/hang", via(t))
		failed <- err
	}()
	<-hanging
	if err := syscall.Kill(pidOf(b), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := wantError(t, <-failed); e.Permanent || !strings.Contains(e.Message, "the browser failed") {
		t.Errorf("killed in the middle of a page: %+v", e)
	}
	wantText(t, render(t, b, via(t), s.URL+"/"), "begun;")
}

func TestManyPagesAtOnceAreKeptApart(t *testing.T) {
	t.Parallel()
	b := start(t, func(o *Options) { o.Concurrency = 4 })
	s := serve(t, nil, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<!doctype html><p></p><script>const n = '%s'; const was = document.cookie; document.cookie = 'n=' + n;
			fetch('/data?' + n).then(r => r.text()).then(x => document.querySelector('p').textContent = 'page ' + n + ' data ' + x + ' was [' + was + ']')</script>`, r.URL.RawQuery)
	}, "/data": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.RawQuery) }})
	var all sync.WaitGroup
	for n := range 12 {
		all.Go(func() {
			r, err := b.Render(context.Background(), fmt.Sprintf("%s/?%d", s.URL, n), via(t))
			if err != nil {
				t.Error(err)
				return
			}
			wantText(t, r, fmt.Sprintf("page %d data %d was []", n, n))
		})
	}
	all.Wait()
}

func TestCloseEndsPagesAndProcesses(t *testing.T) {
	t.Parallel()
	b := start(t)
	hanging := make(chan struct{}, 1)
	s := serve(t, map[string]string{"/": shell + `<script>fetch('/hang')</script>`}, map[string]http.HandlerFunc{"/hang": func(_ http.ResponseWriter, r *http.Request) {
		hanging <- struct{}{}
		<-r.Context().Done()
	}})
	failed := make(chan error, 1)
	go func() {
		_, err := b.Render(context.Background(), s.URL+"/", via(t))
		failed <- err
	}()
	<-hanging
	group := pidOf(b)
	if len(members(t, group)) < 2 {
		t.Error("the browser's processes are not in its group")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("the page ends with %v, want %v", err, ErrClosed)
	}
	within(t, 30*time.Second, "all processes have ended", func() bool { return len(members(t, group)) == 0 })
	if _, err := b.Render(context.Background(), s.URL+"/", via(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want %v", err, ErrClosed)
	}
}

func TestACancelledPageEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := serve(t, map[string]string{"/": shell}, map[string]http.HandlerFunc{"/hang": func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}})
	if _, err := b.Render(ctx, s.URL+"/hang", via(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	wantText(t, render(t, b, via(t), s.URL+"/"), "begun;")
}

func TestTheBrowserEndsWithAKilledProcess(t *testing.T) {
	t.Parallel()
	path := engines.ChromiumForTest(t)
	s := serve(t, map[string]string{"/": shell}, nil)
	dir, err := os.MkdirTemp("", "render-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // a killed process leaves its profile behind
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+s.URL+"/", victim+"_PATH="+path, "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	var group int
	if _, err := fmt.Sscanf(said, "rendered %d", &group); err != nil {
		t.Fatalf("the process says %q", said)
	}
	within(t, 30*time.Second, "the browser's processes have ended", func() bool { return len(members(t, group)) == 0 })
}

func TestABrowserThatCannotBeStartedIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no display today\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no such program":              {Path: filepath.Join(dir, "none")},
		"a program that is no browser": {Path: script},
		"nobody at the address":        {URL: "http://127.0.0.1:9"},
		"no browser at the address":    {URL: serve(t, map[string]string{"/json/version": "{}"}, nil).URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.TempDir = t.TempDir()
			b, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for range 2 {
				_, err = b.Render(context.Background(), "http://127.0.0.1/", http.DefaultTransport)
				if e := wantError(t, err); e.Permanent || !strings.Contains(e.Message, "the browser failed") {
					t.Errorf("got %+v", e)
				}
			}
			if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no browser":                   {},
		"two browsers":                 {URL: "http://127.0.0.1:9222", Path: "/usr/bin/chromium"},
		"an address of another kind":   {URL: "ftp://127.0.0.1"},
		"an address without a host":    {URL: "http://"},
		"an address that is none":      {URL: "http://[::1"},
		"a limit of less than nothing": {Path: "/usr/bin/chromium", Timeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if b, err := New(o); err == nil {
				b.Close()
				t.Error("the flags are accepted")
			}
		})
	}
}

func TestOnlyWebAddressesAreRendered(t *testing.T) {
	t.Parallel()
	b, err := New(Options{Path: "/nonexistent"}) // the browser is never started
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, address := range []string{"file:///etc/passwd", "data:text/html,x", "chrome://version", "javascript:1", "about:blank", "http://", "x", "", "view-source:http://127.0.0.1/"} {
		_, err := b.Render(context.Background(), address, http.DefaultTransport)
		if e := wantError(t, err); !e.Permanent {
			t.Errorf("%s: %v", address, e)
		}
	}
}
