package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice/sluice/pkg/extract/sandbox"
)

// programMarker is the environment variable that turns this test binary into a program started by sandbox.Run.
const programMarker = "EXTRACT_TEST_PROGRAM"

// programIfAsked does nothing unless TestAProgramHasFewRights started this process.
func programIfAsked() {
	switch task := os.Getenv(programMarker); task {
	case "":
		return
	case "rights":
		if _, err := os.ReadFile("/etc/passwd"); err == nil {
			fmt.Println("it can read other files")
		}
		if err := os.WriteFile("written", []byte("x"), 0o600); err == nil {
			fmt.Println("it can write files")
		}
		dialer := net.Dialer{Timeout: time.Second}
		if _, err := dialer.DialContext(context.Background(), "udp", "127.0.0.1:9"); err == nil {
			fmt.Println("it can use the network")
		}
		if err := exec.CommandContext(context.Background(), os.Args[0]).Start(); err == nil {
			fmt.Println("it can start programs")
		}
		if len(os.Environ()) != 1 {
			fmt.Println("its environment is", os.Environ())
		}
	case "copy":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "write":
		for {
			if _, err := os.Stdout.Write(make([]byte, 1<<16)); err != nil {
				os.Exit(0)
			}
		}
	case "fail":
		fmt.Fprintln(os.Stderr, "the reason")
		os.Exit(3)
	default: // wait until it is stopped
		time.Sleep(time.Hour)
	}
	os.Exit(0)
}

// program returns a sandbox.Program that runs this test binary, which then performs `task`; see programIfAsked.
func program(t *testing.T, task string) sandbox.Program {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Program{
		Path: exe, Env: []string{programMarker + "=" + task}, Dir: t.TempDir(),
		Memory: 4 << 30, CPU: time.Minute, Timeout: time.Minute, MaxOutput: 1 << 20,
	}
}

func TestAProgramHasFewRights(t *testing.T) {
	t.Parallel()
	out, err := sandbox.Run(t.Context(), program(t, "rights"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "files") && !hasLandlock() {
			continue
		}
		t.Error(line)
	}
}

func hasLandlock() bool {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0
}

func TestAProgramReadsItsInputAndIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte("some input"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if out, err := sandbox.Run(t.Context(), program(t, "copy"), in); err != nil || !bytes.Equal(out, []byte("some input")) {
		t.Errorf("it answered %q, %v", out, err)
	}
	if out, err := sandbox.Run(t.Context(), program(t, "write"), nil); !errors.Is(err, sandbox.ErrOutput) || out != nil {
		t.Errorf("after too much output, the error is %v", err)
	}
	if _, err := sandbox.Run(t.Context(), program(t, "fail"), nil); err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("a failed program's error is %v", err)
	}
	late := program(t, "wait")
	late.Timeout = 50 * time.Millisecond
	if _, err := sandbox.Run(t.Context(), late, nil); !errors.Is(err, sandbox.ErrTimeout) {
		t.Errorf("after its time limit, the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sandbox.Run(ctx, program(t, "wait"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled program's error is %v", err)
	}
	missing := program(t, "copy")
	missing.Path += "-missing"
	if _, err := sandbox.Run(t.Context(), missing, nil); err == nil {
		t.Error("a missing program was started")
	}
}
