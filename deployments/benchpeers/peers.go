package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peers.py
var peersScript []byte

// peer is a store of Python, and the packages that it is.
type peer struct {
	name     string // of the script's part
	title    string
	packages []string
}

// peers are pinned: figures of another day are of the same programs.
var peers = []peer{
	{"chroma", "Chroma 1.5.9 (HNSW)", []string{"chromadb==1.5.9"}},
	{"qdrant", "Qdrant, local mode of its client 1.20.0", []string{"qdrant-client==1.20.0"}},
	{"lancedb", "LanceDB 0.40.0 (no index)", []string{"lancedb==0.40.0"}},
	{"milvus", "Milvus Lite 3.2.2", []string{"pymilvus==3.0.2", "milvus-lite==3.2.2"}},
	{"bm25s", "bm25s 0.3.16", []string{"bm25s==0.3.16"}},
	{"tantivy", "Tantivy 0.27.0", []string{"tantivy==0.27.0"}},
	{"fts5", "SQLite FTS5", nil},
}

func peerNames() []string {
	var names []string
	for _, p := range peers {
		names = append(names, p.name)
	}
	return names
}

// peerPatience is how long a peer may take to be installed, to be filled, or to be asked.
const peerPatience = 30 * time.Minute

// measurePeers has every peer that is asked for filled and asked. One that cannot be is reported as such.
func measurePeers(ctx context.Context, s settings, dir string, errs io.Writer) []result {
	var results []result
	for _, p := range peers {
		wanted := false
		for _, name := range s.peers {
			wanted = wanted || name == p.name
		}
		if !wanted {
			continue
		}
		r := result{Name: p.title}
		python, err := install(ctx, s.venv, p, errs)
		if err == nil {
			r, err = p.measure(ctx, s, python, dir, errs)
		}
		if err != nil {
			r.Absent = firstLine(err.Error())
			fmt.Fprintf(errs, "%s: %v\n", p.title, err)
		}
		results = append(results, r)
	}
	return results
}

// install returns the Python of the environment in dir, which it makes where it is not there, with the peer's packages in it.
func install(ctx context.Context, dir string, p peer, errs io.Writer) (python string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	python = filepath.Join(dir, "bin", "python")
	filled := filepath.Join(dir, "filled-"+strings.Join(append([]string{p.name}, p.packages...), "-"))
	if _, err := os.Stat(filled); err == nil {
		return python, nil
	}
	ctx, cancel := context.WithTimeout(ctx, peerPatience)
	defer cancel()
	fmt.Fprintf(errs, "%s: installing in %s, once …\n", p.title, dir)
	steps := [][]string{{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy==2.4.6", "pyarrow==26.0.1"}}
	steps[0] = append(steps[0], p.packages...)
	if _, err := os.Stat(python); err != nil {
		steps = append([][]string{{"python3", "-m", "venv", dir}}, steps...)
	}
	for _, args := range steps {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("not installed: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	return python, os.WriteFile(filled, nil, 0o644)
}

// measure has the script fill the peer in one process and ask it in another, which opens what the first has left.
func (p peer) measure(ctx context.Context, s settings, python, dir string, errs io.Writer) (result, error) {
	script := filepath.Join(dir, "peers.py")
	if err := os.WriteFile(script, peersScript, 0o600); err != nil {
		return result{Name: p.title}, err
	}
	r := result{Name: p.title}
	for _, step := range []string{"fill", "ask"} {
		fmt.Fprintf(errs, "%s: %s …\n", p.title, step)
		if err := runScript(ctx, python, []string{script, p.name, step, dir, fmt.Sprint(s.each.Seconds()), fmt.Sprint(idle.Seconds())}, &r); err != nil {
			return r, fmt.Errorf("%s: %w", step, err)
		}
	}
	return r, nil
}

// runScript runs the script and reads what it says last into r.
func runScript(ctx context.Context, python string, args []string, r *result) error {
	ctx, cancel := context.WithTimeout(ctx, peerPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.WaitDelay = 10 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	// Libraries print what they please before the last line.
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], r); err != nil {
		return fmt.Errorf("reading what it measured: %w", err)
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 120)]
}
