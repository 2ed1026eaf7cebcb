package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sluice/sluice/pkg/eval/service"
)

const (
	startTimeout = 5 * time.Minute // for the service to become ready, possibly with a large index
	stopTimeout  = time.Minute
)

// Service is a Sluice service running as a separate process that listens on loopback.
type Service struct {
	*service.Service
	Address string // http://127.0.0.1:PORT
	Key     string // API key with all permissions

	cmd    *exec.Cmd
	exited chan error
	used   time.Duration
}

// Options configures a service.
type Options struct {
	Program string   // path to the service's program
	Dir     string   // data directory
	Key     string   // API key; "" means the one in the data directory
	Log     *os.File // for the service's log; nil means this process's standard error
	Env     []string // besides the address, the directory and the key
}

// Start starts the service's program with a data directory and waits until it is ready. Its only settings are `env`,
// the address, the data directory and the key. The caller must call Close even on an error.
func Start(ctx context.Context, program, dir string, env ...string) (*Service, error) {
	return StartWith(ctx, Options{Program: program, Dir: dir, Env: env})
}

// StartWith is like Start but has more options.
func StartWith(ctx context.Context, o Options) (*Service, error) {
	s := &Service{exited: make(chan error, 1)}
	l, err := listen(ctx)
	if err != nil {
		return s, err
	}
	addr := l.Addr().String()
	l.Close()
	s.Address = "http://" + addr
	if s.Key = o.Key; s.Key == "" {
		if s.Key, err = keyOf(o.Dir); err != nil {
			return s, err
		}
	}
	s.cmd = exec.CommandContext(ctx, o.Program)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopTimeout / 2
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"SLUICE_EMBEDDED_INDEX=true", "SLUICE_AUDIT_EVERY=24h", "SLUICE_LOG_LEVEL=warn",
	}, o.Env...)
	s.cmd.Env = append(s.cmd.Env, "SLUICE_ADDR="+addr, "SLUICE_DATA_DIR="+o.Dir, "SLUICE_API_KEY="+s.Key)
	s.cmd.Stderr = cmp.Or(o.Log, os.Stderr)
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return s, fmt.Errorf("starting the service: %w; make build builds it", err)
	}
	cmd := s.cmd
	go func() {
		err := cmd.Wait()
		s.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		s.exited <- err
	}()
	if s.Service, err = service.New(s.Address, s.Key); err != nil {
		return s, err
	}
	return s, s.ready(ctx)
}

// keyOf returns a data directory's API key, creating the directory and the key if necessary.
func keyOf(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bench-key")
	kept, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(kept)), nil
	}
	key := "sk_bench_" + strings.ToLower(rand.Text())
	return key, os.WriteFile(path, []byte(key+"\n"), 0o600)
}

// Used returns the service's CPU time, including child processes that have exited. It is 0 until Close.
func (s *Service) Used() time.Duration { return s.used }

// PID returns the service's process id.
func (s *Service) PID() int { return s.cmd.Process.Pid }

func (s *Service) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case err := <-s.exited:
			s.cmd = nil
			return fmt.Errorf("the service ended at once: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for the service to be ready: %w", ctx.Err())
		case <-poll.C:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Address+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// Close stops the service as an operator would, and returns an error if the service doesn't exit cleanly.
func (s *Service) Close() error {
	if s.Service != nil {
		s.Service.Close()
	}
	if s.cmd == nil {
		return nil
	}
	var faults []error
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		faults = append(faults, fmt.Errorf("stopping the service: %w", err))
	}
	select {
	case err := <-s.exited:
		if err != nil && !errors.Is(err, context.Canceled) {
			faults = append(faults, fmt.Errorf("the service did not stop cleanly: %w", err))
		}
	case <-time.After(stopTimeout):
		faults = append(faults, errors.New("the service did not stop within a minute"), s.cmd.Process.Kill())
	}
	s.cmd = nil
	return errors.Join(faults...)
}

// Directory returns `kept`, or a new temporary directory if `kept` is "". The returned function deletes only the
// temporary directory.
func Directory(kept string) (dir string, remove func() error, err error) {
	if kept != "" {
		return kept, func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "bench-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// Server is an HTTP server on loopback in this process.
type Server struct {
	Address string // http://127.0.0.1:PORT
	http    *http.Server
	done    chan error
}

// Serve starts a server.
func Serve(ctx context.Context, h http.Handler) (*Server, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: "http://" + l.Addr().String(), http: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, done: make(chan error, 1)}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// Close stops the server.
func (s *Server) Close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func listen(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	return l, nil
}
