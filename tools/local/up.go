package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// up starts the directory's keeper, waits until the engines are ready and prints the settings.
func up(ctx context.Context, dir string, stdout, stderr io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	s, alive, err := readState(dir)
	if err != nil {
		return err
	}
	if alive && len(s.Settings) > 0 {
		printSettings(stdout, s)
		return nil
	}
	if alive {
		return fmt.Errorf("the engines of %s are starting or stopping now: try again later", dir)
	}
	fmt.Fprintln(stderr, "starting PostgreSQL, Milvus and three NATS servers; the first time they are downloaded")
	logPath := filepath.Join(dir, "keeper.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	exe := "/proc/self/exe"                            // works even after `go run` has deleted the file
	cmd := exec.Command(exe, commandKeep, "-dir", dir) //nolint:noctx // it continues after this command exits
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the keeper: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			return errors.Join(ctx.Err(), <-ended)
		case err := <-ended:
			text, _ := os.ReadFile(logPath)
			return fmt.Errorf("the engines did not start: %w\n%s", err, text)
		case <-tick.C:
			s, _, err := readState(dir)
			if err != nil {
				return err
			}
			if s.PID == cmd.Process.Pid && len(s.Settings) > 0 {
				printSettings(stdout, s)
				return nil
			}
		}
	}
}

func printSettings(w io.Writer, s state) {
	for _, setting := range slices.Sorted(slices.Values(s.Settings)) {
		fmt.Fprintf(w, "export %s\n", setting)
	}
}

// Timeout for stopping all engines.
const downTimeout = time.Minute

// down stops the directory's engines and waits until they have exited.
func down(ctx context.Context, dir string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for told := false; ; {
		s, alive, err := readState(dir)
		if err != nil {
			return err
		}
		if !alive {
			fmt.Fprintln(stdout, "down")
			return nil
		}
		if s.PID > 0 && !told {
			if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
				return fmt.Errorf("stopping the keeper (process %d): %w", s.PID, err)
			}
			told = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the keeper (process %d) to stop: %w", s.PID, ctx.Err())
		case <-tick.C:
		}
	}
}

// status prints whether the directory's engines are running, and their settings.
func status(dir string, stdout io.Writer) error {
	s, alive, err := readState(dir)
	switch {
	case err != nil:
		return err
	case !alive:
		fmt.Fprintln(stdout, "down")
	case len(s.Settings) == 0:
		fmt.Fprintln(stdout, "starting or stopping")
	default:
		fmt.Fprintln(stdout, "up")
		printSettings(stdout, s)
	}
	return nil
}
