package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/tools/internal/bench"
)

// If a document without text yields at least minTokens words, they count as junk.
const minTokens = 20

// extracted is what the measured program got from a document.
type extracted struct {
	failed bool
	cause  string // error message
}

// extractAll runs the measured program on documents and writes the extracted text to the files that the scorers expect:
// KIND/FILE.txt (for web pages, without ".html").
func extractAll(ctx context.Context, s settings, docs []document, folder string) (map[string]extracted, error) {
	results := map[string]extracted{}
	for _, d := range docs {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		path, target, args := d.path, filepath.Join(folder, d.kind, d.name+".txt"), []string{s.ingestor, "extract"}
		if d.kind == kindWeb {
			data, err := d.content()
			if err != nil {
				return nil, err
			}
			path = filepath.Join(folder, "page.html")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return nil, err
			}
			target = filepath.Join(folder, d.kind, strings.TrimSuffix(d.name, ".html")+".txt")
			args = append(args, "--mime", "text/html")
		}
		var text, complaint bytes.Buffer
		_, err := runOne(ctx, append(args, path), &text, &complaint)
		r := extracted{failed: err != nil}
		if r.failed {
			r.cause = strings.TrimPrefix(strings.TrimSpace(complaint.String()), "ingestor: "+path+": ")
			text.Reset()
		}
		results[d.kind+"/"+d.name] = r
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(target, text.Bytes(), 0o644); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// scoreRow is a row in the scorer's table.
type scoreRow struct {
	file, kind, class string
	score             float64
	words             int
}

// score extracts the text of all documents and compares it with other extractors' output.
func score(ctx context.Context, s settings, python string, docs, pages []document, out, errs io.Writer) error {
	if python == "" {
		if python = "python3"; len(docs)+len(pages) > 0 {
			fmt.Fprintln(errs, "The scorers run with python3 as it is.")
		}
	}
	folder, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	results, err := extractAll(ctx, s, append(slices.Clone(docs), pages...), folder)
	if err != nil {
		return err
	}
	if len(docs) > 0 {
		table := filepath.Join(folder, "score.csv")
		args := []string{python, filepath.Join(s.data, "score.py"), folder, "--docs", filepath.Join(s.data, "docs"), "--csv", table}
		if s.only != "" {
			args = append(args, "--kind", s.only)
		}
		var complaint bytes.Buffer
		if _, err := runOne(ctx, args, io.Discard, &complaint); err != nil {
			return fmt.Errorf("scoring documents: %w: %s", err, complaint.String())
		}
		rows, err := readScores(table)
		if err != nil {
			return err
		}
		reportScores(out, errs, rows, results)
	}
	if len(pages) > 0 {
		var line, complaint bytes.Buffer
		if _, err := runOne(ctx, []string{python, filepath.Join(s.data, "web", "score.py"), filepath.Join(folder, kindWeb)}, &line, &complaint); err != nil {
			return fmt.Errorf("scoring pages: %w: %s", err, complaint.String())
		}
		fmt.Fprintf(out, "\nWeb pages, main text compared with manually marked text: %s.\n", strings.Join(strings.Fields(line.String()), " "))
	}
	return nil
}

func readScores(path string) ([]scoreRow, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the scores: %w", err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || len(records) == 0 {
		return nil, fmt.Errorf("reading the scores: %d lines, %w", len(records), err)
	}
	column := map[string]int{}
	for i, name := range records[0] {
		column[name] = i
	}
	var rows []scoreRow
	for _, r := range records[1:] {
		value, err := strconv.ParseFloat(r[column["score"]], 64)
		if err != nil {
			return nil, fmt.Errorf("reading a score: %w", err)
		}
		words, err := strconv.Atoi(r[column["n"]])
		if err != nil {
			return nil, fmt.Errorf("reading a count of words: %w", err)
		}
		file := r[column["file"]]
		kind, _, _ := strings.Cut(file, "/")
		rows = append(rows, scoreRow{file, kind, r[column["cls"]], value, words})
	}
	return rows, nil
}

// reportScores writes a table row per kind of document and lists suspicious documents on `errs`.
func reportScores(out, errs io.Writer, rows []scoreRow, results map[string]extracted) {
	bench.Header(out, 1, "kind", "documents", "median", "mean", "below 0.5", "without text", "of these, rejected with a message", "given text")
	var kinds []string
	for _, r := range rows {
		if !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
		}
	}
	var silent, failed []string
	for _, kind := range kinds {
		var scores []float64
		low, empty, refused, junk := 0, 0, 0, 0
		for _, r := range rows {
			result := results[r.file]
			switch {
			case r.kind != kind:
			case r.class == "empty":
				empty++
				switch {
				case result.failed && result.cause != "":
					refused++
				case r.words >= minTokens:
					junk++
					silent = append(silent, r.file+" (text)")
				default:
					silent = append(silent, r.file)
				}
			case r.class == "text":
				scores = append(scores, r.score)
				if r.score < 0.5 {
					low++
				}
				if result.failed {
					failed = append(failed, r.file+": "+result.cause)
				}
			}
		}
		fmt.Fprintf(out, "| %s | %d | %.3f | %.3f | %d | %d | %d | %d |\n", kind, len(scores), bench.Median(scores), bench.Mean(scores), low, empty, refused, junk)
	}
	writeList(errs, "Documents without text that are not refused", silent)
	writeList(errs, "Documents with text that are refused", failed)
}

func writeList(out io.Writer, title string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(out, "\n%s: %s.\n", title, strings.Join(items, "; "))
	}
}
