// Command demo shows Sluice's main job for real: it starts the service with an empty data directory, lets it ingest the
// documents and the web site of testdata, shows their progress, asks, and prints fragments and a cited answer. It talks
// to the service as any client would, by package client, and exits 0 only when everything ended as it should. For somebody at a
// terminal it then leaves the service up, with a link that opens on the answer it has just given.
//
//	go run ./tools/demo [-api bin/sluice] [-documents testdata/documents] [-stay=false]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/testdata/site"
)

func main() {
	api := flag.String("api", "bin/sluice", "the service's binary")
	documents := flag.String("documents", "testdata/documents", "folder of documents to ingest")
	stay := flag.Bool("stay", atTerminal(), "leave the service up until Ctrl+C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *api, *documents, *stay, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// atTerminal reports whether somebody reads what is printed.
func atTerminal() bool {
	out, err := os.Stdout.Stat()
	if err != nil || out.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nowhere, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(out, nowhere)
}

func run(ctx context.Context, api, documents string, stay bool, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	service, err := start(ctx, api, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	fmt.Fprintf(out, "Service ready at %s after %d ms, data in an empty directory.\n", service.base, service.readyAfter.Milliseconds())

	pages, err := serve(ctx, site.Handler())
	if err != nil {
		return err
	}
	defer pages.close()
	fmt.Fprintf(out, "A small web site is served at %s.\n", pages.base)

	c, err := client.New(service.base, service.key)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := show(ctx, c, documents, pages.base, out)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe demo has ended as it should.")
	if stay {
		fmt.Fprintf(out, "\nThe service stays up until Ctrl+C. The last answer, in the console:\n  %s/%s?key=%s\n", service.base, answer, service.key)
		<-ctx.Done()
	}
	return nil
}

// show has the service ingest everything and asks it. It returns where the console shows the last answer.
func show(ctx context.Context, c *client.Client, documents, pages string, out io.Writer) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	l, err := newLibrary(ctx, c, "Handbooks", out)
	if err != nil {
		return "", err
	}
	if err := l.uploadAll(ctx, documents); err != nil {
		return "", err
	}
	if err := l.addSite(ctx, pages+"/"); err != nil {
		return "", err
	}
	if err := l.follow(ctx); err != nil {
		return "", err
	}
	return l.ask(ctx)
}

// server is an HTTP server of the demo's own on a free loopback port.
type server struct {
	base string
	http *http.Server
	done chan struct{}
}

func serve(ctx context.Context, h http.Handler) (*server, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("listening for the web site: %w", err)
	}
	s := &server{base: "http://" + l.Addr().String(), http: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends with close
	}()
	return s, nil
}

func (s *server) close() {
	_ = s.http.Close()
	<-s.done
}

// service is the running api process.
type service struct {
	base, key  string
	readyAfter time.Duration
	cmd        *exec.Cmd
	exited     chan error
}

const demoKey = "sk_demo_only_0123456789abcdef0123456789abcdef"

func start(ctx context.Context, api, dataDir string) (*service, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	s := &service{base: "http://" + port, key: demoKey, exited: make(chan error, 1)}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), api) // stop ends it, as an operator would, also when the demo is interrupted
	s.cmd.Env = append(os.Environ(),
		"SLUICE_ADDR="+port, "SLUICE_DATA_DIR="+dataDir, "SLUICE_API_KEY="+demoKey,
		"SLUICE_ALLOW_PRIVATE_ADDRESSES=true", // the demo's web site is on loopback
		"SLUICE_LOG_LEVEL=warn",
	)
	s.cmd.Stderr = os.Stderr
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", api, err)
	}
	go func() { s.exited <- s.cmd.Wait() }()
	for {
		select {
		case err := <-s.exited:
			return nil, fmt.Errorf("%s ended at once: %w", api, err)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), s.stop())
		case <-time.After(20 * time.Millisecond):
		}
		if ready(ctx, s.base+"/readyz") {
			s.readyAfter = time.Since(began)
			return s, nil
		}
	}
}

func ready(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop ends the service as an operator would and fails if it does not end cleanly.
func (s *service) stop() error {
	// Ctrl+C at a terminal has reached the service, too.
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the service: %w", err)
	}
	select {
	case err := <-s.exited:
		if err != nil {
			return fmt.Errorf("the service did not stop cleanly: %w", err)
		}
		return nil
	case <-time.After(15 * time.Second):
		_ = s.cmd.Process.Kill()
		return errors.New("the service did not stop within 15 s")
	}
}

func listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

func freePort(ctx context.Context) (string, error) {
	l, err := listen(ctx)
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
