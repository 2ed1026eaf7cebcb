package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Timeout for installing packages or running a peer.
const peerTimeout = 30 * time.Minute

// InstallPython returns the path to the Python in the virtual environment `dir`. Unless the same packages were installed
// there before, it writes a line to `errs`, creates the environment if necessary and installs the packages. It doesn't
// check an existing installation.
func InstallPython(ctx context.Context, dir string, packages []string, errs io.Writer) (program string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "bin", "python")
	name := fnv.New64a()
	fmt.Fprint(name, packages)
	filled := filepath.Join(dir, fmt.Sprintf("filled-%x", name.Sum64()))
	if _, err := os.Stat(filled); err == nil {
		return program, nil
	}
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	fmt.Fprintf(errs, "installing %s in %s, once …\n", strings.Join(packages, ", "), dir)
	steps := [][]string{append([]string{program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)}
	if _, err := os.Stat(program); err != nil {
		steps = append([][]string{{"python3", "-m", "venv", dir}}, steps...)
	}
	for _, args := range steps {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("not installed: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	return program, os.WriteFile(filled, nil, 0o644)
}

// RunPython runs a Python script, whose text is `script`, with the Python at `program`. It decodes the output like
// RunPeer.
func RunPython(ctx context.Context, program string, script []byte, args []string, into any) (*os.ProcessState, error) {
	dir, err := os.MkdirTemp("", "peer-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "peer.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, err
	}
	return RunPeer(ctx, program, append([]string{path}, args...), into)
}

// RunPeer runs a program and decodes the last line of its output as JSON. The returned state is nil if the program
// didn't start.
func RunPeer(ctx context.Context, program string, args []string, into any) (*os.ProcessState, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = 10 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return cmd.ProcessState, fmt.Errorf("%w: %s", err, lastLine(complaint.Bytes()))
	}
	// Libraries may print other output before the last line.
	if err := json.Unmarshal(lastLine(out.Bytes()), into); err != nil {
		return cmd.ProcessState, fmt.Errorf("reading its output: %w", err)
	}
	return cmd.ProcessState, nil
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
