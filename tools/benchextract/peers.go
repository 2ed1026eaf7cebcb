package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/tools/internal/bench"
)

//go:embed peers.py
var peersScript []byte

// peerPackages are the Python packages to install: the other extractors, and a library for the scorer.
var peerPackages = []string{"pymupdf", "pypdf", "pdfminer.six", "markitdown[docx,pptx,xlsx]", "rapidfuzz"}

// pythonEnvironment installs peerPackages into the virtual environment in `dir` and returns the path to its Python. If
// that fails, it writes the reason to `errs` and returns "", which skips the Python peers.
func pythonEnvironment(ctx context.Context, dir string, errs io.Writer) string {
	program, err := bench.InstallPython(ctx, dir, peerPackages, errs)
	if err != nil {
		fmt.Fprintf(errs, "Peers in Python are passed over: %v\n", err)
		return ""
	}
	return program
}

// timing is how long a tool took.
type timing struct {
	tool   string
	read   map[string]cost // by file, without unreadable ones
	peak   int64           // of the largest process, in bytes; 0 if not measured
	absent string          // why the tool was not run, or ""
}

// cost is the wall-clock and CPU time for reading one or more files.
type cost struct{ wall, cpu time.Duration }

// totalCost returns the total cost of reading `files`.
func (t timing) totalCost(files []string) cost {
	var sum cost
	for _, f := range files {
		sum.wall += t.read[f].wall
		sum.cpu += t.read[f].cpu
	}
	return sum
}

// runPeer reads all files with a Python library in one process.
func runPeer(ctx context.Context, program, tool string, files []string) timing {
	t := timing{tool: tool, read: map[string]cost{}}
	if program == "" {
		t.absent = "no Python environment"
		return t
	}
	dir, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		t.absent = err.Error()
		return t
	}
	defer os.RemoveAll(dir)
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")), 0o600); err != nil {
		t.absent = err.Error()
		return t
	}
	var answer []struct {
		File      string
		Wall, CPU float64
	}
	state, err := bench.RunPython(ctx, program, peersScript, []string{tool, list}, &answer)
	if err != nil {
		t.absent = fmt.Sprintf("%.200v", err)
		return t
	}
	for _, a := range answer {
		t.read[a.File] = cost{seconds(a.Wall), seconds(a.CPU)}
	}
	t.peak = peakOf(state)
	return t
}

// runEach starts a process per file.
func runEach(ctx context.Context, tool string, files []string, command func(file string) []string) timing {
	t := timing{tool: tool, read: map[string]cost{}}
	if _, err := exec.LookPath(command("")[0]); err != nil {
		t.absent = "not installed"
		return t
	}
	for _, f := range files {
		start := time.Now()
		state, err := runOne(ctx, command(f), io.Discard, io.Discard)
		if state != nil {
			t.peak = max(t.peak, peakOf(state))
		}
		if err == nil {
			t.read[f] = cost{time.Since(start), state.UserTime() + state.SystemTime()}
		}
	}
	return t
}

// runOne runs a program with a two-minute timeout.
func runOne(ctx context.Context, command []string, out, errs io.Writer) (*os.ProcessState, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	return cmd.ProcessState, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
