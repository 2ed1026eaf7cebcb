package main

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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluice/sluice/deployments/local/engines"
	"github.com/sluice/sluice/pkg/eval/service"
)

// startPatience is how long the service may take until it is ready: it may have a large index to open.
const startPatience = 5 * time.Minute

// bench is the service that is measured, and what it needs beside it.
type bench struct {
	*service.Service
	cmd     *exec.Cmd
	exited  chan error
	closers []func() error // in the order of opening
}

// start starts the service, with a data directory that ends with it unless one is to be kept, and Milvus Lite where that
// engine is measured. Only what is written here configures it.
func start(ctx context.Context, s settings) (b *bench, err error) {
	b = &bench{exited: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	dir := s.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "benchretrieval-"); err != nil {
			return b, err
		}
		b.closers = append(b.closers, func() error { return os.RemoveAll(dir) })
	}
	addr, err := freePort(ctx)
	if err != nil {
		return b, err
	}
	key, err := keyOf(dir)
	if err != nil {
		return b, err
	}
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"SLUICE_ADDR=" + addr, "SLUICE_DATA_DIR=" + dir, "SLUICE_API_KEY=" + key, "SLUICE_LOG_LEVEL=warn",
		"SLUICE_EMBEDDED_INDEX=true", "SLUICE_AUDIT_EVERY=24h",
	}
	if s.model != "" {
		environ = append(environ, "SLUICE_EMBED_DIR="+s.model)
	}
	if slices.Contains(s.engines, "milvus") {
		milvus, err := engines.StartMilvusLite(ctx, filepath.Join(dir, "milvus-lite"), engines.MilvusLiteOptions{})
		if err != nil {
			return b, fmt.Errorf("starting Milvus Lite (-engines embedded does without it): %w", err)
		}
		b.closers = append(b.closers, milvus.Stop)
		environ = append(environ, "MILVUS_ADDR="+milvus.Addr())
	}
	b.cmd = exec.CommandContext(ctx, s.api)
	b.cmd.Cancel = func() error { return b.cmd.Process.Signal(syscall.SIGTERM) }
	b.cmd.WaitDelay = 30 * time.Second
	b.cmd.Env, b.cmd.Stderr = environ, os.Stderr
	if err := b.cmd.Start(); err != nil {
		b.cmd = nil
		return b, fmt.Errorf("starting the service: %w; make build builds it", err)
	}
	go func() { b.exited <- b.cmd.Wait() }()
	if b.Service, err = service.New("http://"+addr, key); err != nil {
		return b, err
	}
	return b, b.ready(ctx, "http://"+addr+"/readyz")
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

func (b *bench) ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case err := <-b.exited:
			b.cmd = nil
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

// close stops the service and what was started beside it.
func (b *bench) close() error {
	var faults []error
	if b.Service != nil {
		b.Close()
	}
	if b.cmd != nil {
		if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			faults = append(faults, fmt.Errorf("stopping the service: %w", err))
		}
		select {
		case err := <-b.exited:
			if err != nil && !errors.Is(err, context.Canceled) {
				faults = append(faults, fmt.Errorf("the service did not stop cleanly: %w", err))
			}
		case <-time.After(time.Minute):
			faults = append(faults, errors.New("the service did not stop within a minute"), b.cmd.Process.Kill())
		}
	}
	for _, c := range slices.Backward(b.closers) {
		faults = append(faults, c())
	}
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
