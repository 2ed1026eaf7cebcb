package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluice/sluice/tools/local/engines"
)

// execute runs the command with a set of engines and returns the command's *exec.ExitError if it fails. Engines start
// on first use by a test, and missing programs are downloaded in the background.
func execute(ctx context.Context, command []string, stdout, stderr io.Writer) (err error) {
	if len(command) == 0 {
		return errors.New("exec needs a command after the dashes: local exec -- COMMAND")
	}
	set, err := engines.NewSet(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Stop()) }()
	// The socket gives full access to the engines, so put it in a directory that only this user can enter.
	dir, err := os.MkdirTemp("", "sluice-local-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "engines")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("opening the socket for engine requests of tests: %w", err)
	}
	srv := &http.Server{Handler: set.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l) // until it is closed
	}()
	defer func() {
		_ = srv.Close()
		<-served
	}()
	download, cancel := context.WithCancel(ctx)
	prepared := make(chan struct{})
	go func() {
		defer close(prepared)
		_ = engines.Prepare(download) // tests that need an engine get its error
	}()
	defer func() {
		cancel()
		<-prepared
	}()

	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), engines.EnvBroker+"="+socket, engines.EnvRequireChromium+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	// Pass signals on to the command. Ctrl-C in a terminal reaches it anyway, but a signal sent only to this process
	// doesn't.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}
