//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
)

// become runs the program and exits with its result. On this system, the program runs with the service user's
// privileges; only its time and output are limited.
func (l launch) become() error {
	//nolint:noctx // this process has no other work, and its parent kills it
	cmd := exec.Command(l.Path, l.Args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = l.Env, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	}
	return err
}

func openNoFollow(path string) (*os.File, error) { return os.Open(path) }
