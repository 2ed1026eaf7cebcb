package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"

	"github.com/sluice/sluice/tools/internal/bench"
)

//go:embed pipelines.py
var script []byte

// Versions are pinned to keep figures from different days comparable.
var peers = []struct{ name, title string }{
	{"llamaindex", "LlamaIndex 0.14.25"},
	{"haystack", "Haystack 3.4.0"},
}

// packages lists the peers, their file readers and the libraries for running a model. BeautifulSoup and others come
// with them as dependencies.
var packages = []string{
	"llama-index-core==0.14.25", "llama-index-readers-file==0.7.0", "haystack-ai==3.4.0",
	"pypdf==6.21.4", "docx2txt==0.9", "python-docx==1.2.0", "python-pptx==1.0.2", "lxml_html_clean", "openpyxl", "pandas", "tabulate",
	"trafilatura", "markdown-it-py", "mdit_plain", "python-magic",
	"onnx==1.23.2", "onnxruntime==1.31.1", "tokenizers==0.23.3", "safetensors==0.8.0",
}

// measurePeers ingests the files with every peer. If one fails, its result says why.
func measurePeers(ctx context.Context, s settings, g inputFiles, model string, errs io.Writer) []result {
	program, fault := bench.InstallPython(ctx, s.venv, packages, errs)
	var results []result
	for _, p := range peers {
		r := result{Name: p.title}
		if fault == nil {
			fmt.Fprintf(errs, "%s …\n", p.title)
			_, fault = bench.RunPython(ctx, program, script, []string{p.name, g.dir, model}, &r)
		}
		if fault == nil {
			fmt.Fprintf(errs, "%s: %.2f s, %.2f s of processor time, %d read\n", p.title, r.Took, r.Used, r.Files)
		} else {
			r.Absent = fault.Error()
			fmt.Fprintf(errs, "%s: %v\n", p.title, fault)
			fault = nil
		}
		results = append(results, r)
	}
	return results
}
