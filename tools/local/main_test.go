//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/sluice/sluice/tools/local/engines"
)

func TestMain(m *testing.M) {
	engines.RunChildIfAsked()
	if len(os.Args) > 1 && os.Args[1] == commandKeep { // `up` starts this program as the keeper
		// A keeper outlives the process that started it, but should not outlive an interrupted test run.
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
			panic(err)
		}
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestUpLeavesEnginesThatStatusShowsAndDownEnds(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "local")
	command := func(name string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(context.Background(), []string{name, "-dir", dir}, &out, io.Discard); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out.String()
	}
	if got := command("status"); got != "down\n" {
		t.Errorf("before the start: %q", got)
	}
	settings := command("up")
	t.Cleanup(func() { command("down") })
	for _, name := range []string{"DATABASE_URL=postgres://", "MILVUS_ADDR=127.0.0.1:", "NATS_URL=nats://127.0.0.1:"} {
		if !strings.Contains(settings, "export "+name) {
			t.Errorf("no %s in %q", name, settings)
		}
	}
	if again := command("up"); again != settings {
		t.Errorf("the second up says %q, the first %q", again, settings)
	}
	if got := command("status"); got != "up\n"+settings {
		t.Errorf("while they run: %q", got)
	}
	if got := command("down"); got != "down\n" {
		t.Errorf("down says %q", got)
	}
	if again := command("up"); again != settings {
		t.Errorf("after down and up the settings are %q, before %q", again, settings)
	}
}

func TestUpSaysWhyAnEngineDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "postgresql"), nil, 0o600); err != nil { // in place of a directory
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"up", "-dir", dir}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "postgresql")) {
		t.Errorf("up says %v", err)
	}
	if _, alive, err := readState(dir); alive || err != nil {
		t.Errorf("a keeper is left: %v, %v", alive, err)
	}
}

func TestExecReturnsTheCommandsExitCode(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"exec", "--", "sh", "-c", "test -S $" + engines.EnvBroker + " && echo served; exit 7"}, &out, os.Stderr)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exitCode(exit) != 7 {
		t.Errorf("the command ends with 7, exec with %v", err)
	}
	if out.String() != "served\n" {
		t.Errorf("the command found no engines: %q", out.String())
	}
}

func TestTheCommandLineIsChecked(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no command":                     nil,
		"an unknown command":             {"begin"},
		"an argument where none belongs": {"up", "now"},
		"exec without a command":         {"exec", "--"},
		"an unknown flag":                {"down", "-force"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
				t.Errorf("%q is taken", args)
			}
		})
	}
}
