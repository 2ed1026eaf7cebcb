package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

// document is a file to read.
type document struct {
	kind string // folder: pdf, docx … or web; "testdata" for samples
	name string // file name without folder
	path string
}

// Maximum size of a document in bytes.
const maxDocument = 256 << 20

// content returns the file's content. Saved web pages are gzipped, so it decompresses them.
func (d document) content() ([]byte, error) {
	f, err := os.Open(d.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if d.kind == kindWeb {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", d.path, err)
		}
		defer z.Close()
		r = z
	}
	data, err := bounded.ReadAll(r, maxDocument)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path, err)
	}
	return data, nil
}

const (
	kindWeb      = "web"
	kindTestdata = "testdata"
)

// Suffixes of the reference texts, which are stored next to the documents. Most come from other extractors.
var anchors = []string{".pdftotext.txt", ".tika.txt", ".pymupdf.txt", ".markitdown.txt", ".pandoc.txt", ".pypptx.txt", ".openpyxl.txt", ".lxml.txt", ".gold.txt"}

// documents returns the repository's samples, plus the documents and web pages in the benchmark data folder.
func documents(s settings, errs io.Writer) (samples, shared, pages []document, err error) {
	if samples, err = listDocuments(s.documents, kindTestdata); err != nil {
		return nil, nil, nil, err
	}
	if shared, err = sharedDocuments(s.data); err != nil {
		return nil, nil, nil, err
	}
	if pages, err = sharedPages(s.data); err != nil {
		return nil, nil, nil, err
	}
	if len(shared)+len(pages) == 0 {
		fmt.Fprintf(errs, "There is no measuring data in %s: the documents of testdata alone are read.\n", s.data)
	}
	return samples, shared, pages, nil
}

// sharedDocuments returns the documents in the benchmark data folder, ordered by kind, or none if the folder is
// missing.
func sharedDocuments(data string) ([]document, error) {
	kinds, err := os.ReadDir(filepath.Join(data, "docs"))
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing the documents to measure on: %w", err)
	}
	var docs []document
	for _, k := range kinds {
		if !k.IsDir() {
			continue
		}
		more, err := listDocuments(filepath.Join(data, "docs", k.Name()), k.Name())
		if err != nil {
			return nil, err
		}
		docs = append(docs, more...)
	}
	return docs, nil
}

// sharedPages returns the saved web pages in the benchmark data folder, or none if the folder is missing.
func sharedPages(data string) ([]document, error) {
	files, err := filepath.Glob(filepath.Join(data, "web", "*.html.gz"))
	if err != nil {
		return nil, fmt.Errorf("listing the pages to measure: %w", err)
	}
	var docs []document
	for _, f := range files {
		docs = append(docs, document{kindWeb, strings.TrimSuffix(filepath.Base(f), ".gz"), f})
	}
	return docs, nil
}

// listDocuments returns a folder's documents.
func listDocuments(folder, kind string) ([]document, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("listing documents: %w", err)
	}
	var docs []document
	for _, e := range entries {
		isAnchor := slices.ContainsFunc(anchors, func(end string) bool { return strings.HasSuffix(e.Name(), end) })
		if e.Type().IsRegular() && !isAnchor {
			docs = append(docs, document{kind, e.Name(), filepath.Join(folder, e.Name())})
		}
	}
	return docs, nil
}

// filterKind returns the documents of one kind, or all of them if `kind` is "".
func filterKind(docs []document, kind string) []document {
	return slices.DeleteFunc(docs, func(d document) bool { return kind != "" && d.kind != kind })
}
