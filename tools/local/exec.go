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

// execute runs the command with a set of engines behind it, and returns the command's *exec.ExitError if it fails.
// An engine starts when the first test asks for it; what is missing of its programs is downloaded meanwhile.
func execute(ctx context.Context, command []string, stdout, stderr io.Writer) (err error) {
	if len(command) == 0 {
		return errors.New("exec needs a command after the dashes: local exec -- COMMAND")
	}
	set, err := engines.NewSet(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Stop()) }()
	// Of its own, not of the set: everybody who can open it can do everything in the engines.
	dir, err := os.MkdirTemp("", "sluice-local-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "engines")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("opening the socket at which tests ask for engines: %w", err)
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
		_ = engines.Prepare(download) // who asks for the engine that cannot be had is told why
	}()
	defer func() {
		cancel()
		<-prepared
	}()

	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), engines.EnvBroker+"="+socket, engines.EnvRequireChromium+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	// A terminal's Ctrl-C has reached the command as well; a stop sent to this process alone has not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}
