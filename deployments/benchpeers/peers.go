package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/deployments/local/python"
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
		program, err := python.Install(ctx, s.venv, append([]string{"numpy==2.4.6", "pyarrow==26.0.1"}, p.packages...), errs)
		if err == nil {
			r, err = p.measure(ctx, s, program, dir, errs)
		}
		if err != nil {
			r.Absent = firstLine(err.Error())
			fmt.Fprintf(errs, "%s: %v\n", p.title, err)
		}
		results = append(results, r)
	}
	return results
}

// measure has the script fill the peer in one process and ask it in another, which opens what the first has left.
func (p peer) measure(ctx context.Context, s settings, program, dir string, errs io.Writer) (result, error) {
	r := result{Name: p.title}
	for _, step := range []string{"fill", "ask"} {
		fmt.Fprintf(errs, "%s: %s …\n", p.title, step)
		args := []string{p.name, step, dir, fmt.Sprint(s.each.Seconds()), fmt.Sprint(idle.Seconds())}
		if _, err := python.Run(ctx, program, peersScript, args, &r); err != nil {
			return r, fmt.Errorf("%s: %w", step, err)
		}
	}
	return r, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 120)]
}
