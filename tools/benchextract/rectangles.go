package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/tools/internal/bench"
)

//go:embed rectangles.py
var rectanglesScript []byte

// Sample of quotations to check.
const (
	rectanglePDFs   = 30
	quotations      = 200
	rectangleSeed   = 31
	shortestQuote   = 20 // in bytes
	longestQuote    = 600
	quotedNeighbour = 2 // pages to compare before and after the quotation's
)

// quotation is a sentence or table row from a PDF, and Sluice's rectangles for it.
type quotation struct {
	file, text string
	page       int
	rectangles []domain.PageRectangle
}

// quotedChar is a character on a page, at its position in PDFium.
type quotedChar struct {
	text           string
	page, line     int
	x0, y0, x1, y1 float64
}

// rectangles picks quotations from PDFs and checks which of their glyphs are inside Sluice's rectangles. The glyphs'
// positions come from PDFium and are independent of Sluice's own positions: Sluice uses PDFium only for pages that its
// own reader can't decode, and even on those pages it doesn't use PDFium's boxes of the visible shapes.
func rectangles(ctx context.Context, s settings, docs []document, out, errs io.Writer) error {
	program, err := bench.InstallPython(ctx, s.venv, []string{"pypdfium2"}, errs)
	if err != nil {
		return err
	}
	x := extract.New(extract.Options{Concurrency: 1, Tesseract: "off", Log: slog.New(slog.DiscardHandler)})
	defer x.Close()
	quotes, latencies, err := quoteAll(ctx, x, docs)
	if err != nil {
		return err
	}
	pages, err := readChars(ctx, program, quotes)
	if err != nil {
		return err
	}
	byFile := map[string]*quoteScore{}
	var sum quoteScore
	for _, q := range quotes {
		one := scoreQuotation(q, pages[q.file])
		sum.add(one)
		if byFile[q.file] == nil {
			byFile[q.file] = &quoteScore{}
		}
		byFile[q.file].add(one)
		if s.verbose && one.covered*100 < one.letters*98 {
			fmt.Fprintf(errs, "%s page %d: %d of %d letters covered, %d foreign: %.300q %v missing %v\n", filepath.Base(q.file), q.page, one.covered, one.letters, one.foreign, q.text, q.rectangles, one.missing)
		}
	}
	slices.Sort(latencies)
	bench.Header(out, 1, "file", "quotations", "letters", "covered", "foreign")
	byName := func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) }
	for _, f := range slices.SortedFunc(maps.Keys(byFile), byName) {
		byFile[f].row(out, filepath.Base(f))
	}
	sum.row(out, "**all**")
	_, err = fmt.Fprintf(out, "\n%d of the %d quotations are compared glyph by glyph, the others, such as table rows with the names of their columns, word by word. "+
		"A glyph is covered if a rectangle contains 90%% of its box. Foreign letters are those inside rectangles, but not in the quotation, per letter of the quotation. "+
		"Time for the quotations of one file: median %s, maximum %s.\n",
		sum.exact, sum.quotes, latencies[len(latencies)/2].Round(time.Millisecond), latencies[len(latencies)-1].Round(time.Millisecond))
	return err
}

// quoteAll picks the quotations and has Sluice locate them. It also returns how long each file took.
func quoteAll(ctx context.Context, x *extract.Extractor, docs []document) (quotes []quotation, took []time.Duration, err error) {
	rng := rand.New(rand.NewPCG(rectangleSeed, 0))
	docs = slices.DeleteFunc(slices.Clone(docs), func(d document) bool { return filepath.Ext(d.name) != ".pdf" })
	rng.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	chunker := chunk.New(chunk.Options{})
	files := 0
	for _, d := range docs {
		if files == rectanglePDFs {
			break
		}
		doc, err := x.Extract(ctx, extract.Request{Path: d.path, Name: d.name})
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		} else if err != nil {
			continue // an unreadable file has no quotations
		}
		chunks, err := chunker.Chunks(doc)
		if err != nil {
			return nil, nil, err
		}
		// Spread the quotations evenly over the files.
		n := (quotations*(files+1))/rectanglePDFs - (quotations*files)/rectanglePDFs
		drawn := draw(rng, chunks, n)
		if len(drawn) < n {
			continue
		}
		files++
		passages := lists.Map(drawn, func(p drawnQuote) extract.Passage { return p.passage })
		start := time.Now()
		rectangles, err := x.Locate(ctx, extract.Request{Path: d.path, Name: d.name}, passages)
		if err != nil {
			return nil, nil, fmt.Errorf("locating quotations of %s: %w", d.path, err)
		}
		took = append(took, time.Since(start))
		for i, p := range drawn {
			span := p.passage.Spans[0]
			quotes = append(quotes, quotation{d.path, p.passage.Text[span[0]:span[1]], p.passage.Page, rectangles[i][0]})
		}
	}
	if files < rectanglePDFs {
		return nil, nil, fmt.Errorf("%d PDFs have enough text for quotations; %d are needed", files, rectanglePDFs)
	}
	return quotes, took, nil
}

type drawnQuote struct{ passage extract.Passage }

// draw returns n different sentences or table rows from a document's chunks, or fewer if that's all there are.
func draw(rng *rand.Rand, chunks []domain.Chunk, n int) (drawn []drawnQuote) {
	var all []drawnQuote
	for _, c := range chunks {
		if c.Page == 0 {
			continue
		}
		for _, s := range chunk.Sentences(c.Text) {
			if length := s.End - s.Start; length >= shortestQuote && length <= longestQuote && len(letters(c.Text[s.Start:s.End])) >= shortestQuote/2 {
				all = append(all, drawnQuote{extract.Passage{Text: c.Text, Page: c.Page, Spans: [][2]int{{s.Start, s.End}}}})
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// readChars uses PDFium to read the characters on each quotation's page and neighbouring pages, by file and page.
func readChars(ctx context.Context, program string, quotes []quotation) (map[string]map[int][]quotedChar, error) {
	type want struct {
		File  string `json:"file"`
		Pages []int  `json:"pages"`
	}
	pages := map[string]map[int]bool{}
	for _, q := range quotes {
		if pages[q.file] == nil {
			pages[q.file] = map[int]bool{}
		}
		for p := q.page - quotedNeighbour; p <= q.page+quotedNeighbour; p++ {
			pages[q.file][p] = true
		}
	}
	var list []want
	for file, set := range pages {
		list = append(list, want{File: file, Pages: slices.Sorted(maps.Keys(set))})
	}
	dir, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "pages.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	var answer []struct {
		File  string
		Page  int
		Chars [][]any
	}
	if _, err := bench.RunPython(ctx, program, rectanglesScript, []string{path}, &answer); err != nil {
		return nil, fmt.Errorf("reading pages with PDFium: %w", err)
	}
	out := map[string]map[int][]quotedChar{}
	for _, a := range answer {
		if out[a.File] == nil {
			out[a.File] = map[int][]quotedChar{}
		}
		for _, c := range a.Chars {
			var n [5]float64
			for i := range n {
				n[i], _ = c[i+1].(float64)
			}
			text, _ := c[0].(string)
			out[a.File][a.Page] = append(out[a.File][a.Page], quotedChar{text, a.Page, int(n[0]), n[1], n[2], n[3], n[4]})
		}
	}
	return out, nil
}
