//go:build unix

package render

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/lockdir"
	"github.com/sluice/sluice/tools/local/engines"
)

// running starts a Chromium with full network access, as an operator would, and returns its WebSocket address.
func running(t *testing.T, switches ...string) string {
	t.Helper()
	path := engines.ChromiumForTest(t)
	own, err := lockdir.Make("", "render-test-*")
	if err != nil {
		t.Fatal(err)
	}
	dir := own.Path()
	args := []string{"--headless", "--remote-debugging-port=0", "--user-data-dir=" + dir, "--disable-gpu", "--disable-dev-shm-usage"}
	args = append(args, switches...)
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killGroup(cmd.Process)
		_ = cmd.Wait()
		if err := own.Remove(); err != nil {
			t.Error(err)
		}
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if socket, ok := strings.CutPrefix(lines.Text(), "DevTools listening on "); ok {
			go func() { // runs until Chromium is killed; Chromium would block if its output were not read
				for lines.Scan() {
				}
			}()
			return socket
		}
		said.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("the browser does not listen: %s", &said)
	return ""
}

func TestARunningBrowserIsLeftUnchanged(t *testing.T) {
	t.Parallel()
	socket := running(t)
	u, err := url.Parse(socket)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, map[string]string{"/": `<p></p><script>document.querySelector('p').textContent = 'cookies: ' + document.cookie + ';'; document.cookie = 'kept=1; max-age=1000'</script>`}, nil)
	for name, address := range map[string]string{
		"by the address of its WebSocket":  socket,
		"by its host and port":             "http://" + u.Host,
		"by its name":                      "http://localhost:" + u.Port() + "/",
		"by its host and port, with ws://": "ws://" + u.Host + "/",
	} {
		t.Run(name, func(t *testing.T) {
			b, err := New(Options{URL: address, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for range 2 {
				wantText(t, render(t, b, via(t), s.URL+"/"), "cookies: ;")
			}
			// The page is cancelled before its response arrives. That must not leave a tab open.
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := b.Render(ctx, s.URL+"/", via(t)); err == nil {
				t.Error("a cancelled page is rendered")
			}
		})
	}
	t.Run("and has no tabs of ours in the end", func(t *testing.T) {
		within(t, 30*time.Second, "all tabs are closed", func() bool {
			res, err := http.Get("http://" + u.Host + "/json/list")
			if err != nil {
				t.Fatal(err)
			}
			defer http.DefaultClient.CloseIdleConnections()
			defer res.Body.Close()
			list, err := read(res, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			return !strings.Contains(string(list), s.URL)
		})
	})
}

// failOn is a log handler that fails the test on every warning or error.
type failOn struct{ t *testing.T }

func (f failOn) Enabled(_ context.Context, l slog.Level) bool  { return l >= slog.LevelWarn }
func (f failOn) Handle(_ context.Context, r slog.Record) error { f.t.Error(r.Message); return nil }
func (f failOn) WithAttrs([]slog.Attr) slog.Handler            { return f }
func (f failOn) WithGroup(string) slog.Handler                 { return f }

func TestARunningBrowserThatLacksASwitchIsReported(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b, err := New(Options{URL: running(t), Timeout: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, map[string]string{"/": shell}, nil)
	render(t, b, via(t), s.URL+"/")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), udpPolicy) {
		t.Errorf("the log says %q", &log)
	}
}

func TestNothingReachesTheNetworkOfARunningBrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about pages, not about goroutines")
	}
	b, err := New(Options{URL: running(t, udpPolicy), Timeout: time.Minute, Log: slog.New(failOn{t})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() }) // after the subtests below
	for name, script := range reaching {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reach(t, b, script)
		})
	}
}
