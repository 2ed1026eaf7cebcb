// Package started runs the service as a program of its own on loopback, for programs that measure it from outside.
package started

import (
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
	startPatience = 5 * time.Minute // until the service is ready: it may have a large index to open
	stopPatience  = time.Minute
)

// Service is a service that runs.
type Service struct {
	*service.Service
	cmd    *exec.Cmd
	exited chan error
	used   time.Duration
}

// Start starts the program api in a data directory and waits until it is ready. Only env, beside where it listens and what
// it is asked with, configures it. Close must be called, also when Start fails.
func Start(ctx context.Context, api, dir string, env ...string) (*Service, error) {
	s := &Service{exited: make(chan error, 1)}
	addr, err := freePort(ctx)
	if err != nil {
		return s, err
	}
	key, err := keyOf(dir)
	if err != nil {
		return s, err
	}
	s.cmd = exec.CommandContext(ctx, api)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopPatience / 2
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"SLUICE_ADDR=" + addr, "SLUICE_DATA_DIR=" + dir, "SLUICE_API_KEY=" + key, "SLUICE_LOG_LEVEL=warn",
	}, env...)
	s.cmd.Stderr = os.Stderr
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
	if s.Service, err = service.New("http://"+addr, key); err != nil {
		return s, err
	}
	return s, s.ready(ctx, "http://"+addr+"/readyz")
}

// keyOf is the API key of a data directory, which is made with a new one if it is not there.
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

// Used is the processor time that the service has used with the children that it has waited for; 0 before Close.
func (s *Service) Used() time.Duration { return s.used }

// PID is the number of the service's process.
func (s *Service) PID() int { return s.cmd.Process.Pid }

func (s *Service) ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
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
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
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

// Close stops the service.
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
	case <-time.After(stopPatience):
		faults = append(faults, errors.New("the service did not stop within a minute"), s.cmd.Process.Kill())
	}
	s.cmd = nil
	return errors.Join(faults...)
}

func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
