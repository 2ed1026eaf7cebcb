// Command benchscans measures how well Sluice reads scans. It renders pages of known text, adds scanning defects, and
// compares the words that Sluice reads with those that Tesseract alone reads from the same images.
//
//	go run ./tools/benchscans [-pages 2] [-languages eng,deu]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest/paper"
)

func main() {
	extract.RunChildIfAsked()
	pages := flag.Int("pages", 2, "number of pages for each language and flaw")
	only := flag.String("languages", "", "languages to measure, by Tesseract's names; default: those that are installed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *pages, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchscans:", err)
		os.Exit(1)
	}
}

// flaw is a kind of scan: the page's number of columns and the scan's defects.
type flaw struct {
	name    string
	columns int
	scan    paper.Scan
}

var flaws = []flaw{
	{"clean", 1, paper.Scan{}},
	{"clean, two columns", 2, paper.Scan{}},
	{"JPEG 30", 1, paper.Scan{Quality: 30}},
	{"noise 2%, faded", 1, paper.Scan{Noise: 0.02, Fade: 40}},
	{"skew 2°", 1, paper.Scan{Skew: 2}},
	{"skew -5°, two columns", 2, paper.Scan{Skew: -5}},
	{"turned 90°", 1, paper.Scan{Turn: 1}},
	{"turned 180°, JPEG 50", 1, paper.Scan{Turn: 2, Quality: 50}},
	{"skew 3°, noise 1%, JPEG 40", 1, paper.Scan{Skew: 3, Noise: 0.01, Fade: 30, Quality: 40}},
}

// score sums up the results for one kind of scan.
type score struct {
	pages        int
	ours, theirs float64 // sums of F1
	order        float64 // sum of word order agreement
	time         time.Duration
}

func run(ctx context.Context, pages int, only string, out io.Writer) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	x := extract.New(extract.Options{CacheDir: filepath.Join(cache, "sluice"), Log: slog.New(slog.DiscardHandler)})
	defer x.Close()
	r, err := x.Recognises()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Tesseract %s\n\n| pages | F1 Sluice | F1 Tesseract alone | order | s per page |\n|---|---|---|---|---|\n", r.Version)
	var all []score
	for _, f := range flaws {
		var s score
		for _, t := range texts {
			if !slices.Contains(r.Languages, t.language) || only != "" && !slices.Contains(strings.Split(only, ","), t.language) {
				continue
			}
			for n := range pages {
				if err := s.add(ctx, x, t, f, n); err != nil {
					return fmt.Errorf("%s in %s: %w", f.name, t.language, err)
				}
			}
		}
		if s.pages == 0 {
			return errors.New("none of the languages is installed")
		}
		fmt.Fprintln(out, s.line(f.name))
		all = append(all, s)
	}
	var sum score
	for _, s := range all {
		sum.pages, sum.ours, sum.theirs, sum.order, sum.time = sum.pages+s.pages, sum.ours+s.ours, sum.theirs+s.theirs, sum.order+s.order, sum.time+s.time
	}
	fmt.Fprintln(out, sum.line("all"))
	return nil
}

func (s score) line(name string) string {
	n := float64(s.pages)
	return fmt.Sprintf("| %s (%d) | %.3f | %.3f | %.3f | %.1f |", name, s.pages, s.ours/n, s.theirs/n, s.order/n, s.time.Seconds()/n)
}

// add measures one page.
func (s *score) add(ctx context.Context, x *extract.Extractor, t text, f flaw, n int) error {
	page := paper.Page{Heading: t.heading, Columns: f.columns, Paragraphs: t.paragraphs(n)}
	drawn, complete, err := page.Draw()
	if err != nil {
		return err
	}
	page.Paragraphs = page.Paragraphs[:complete]
	scanner := f.scan
	scanner.Seed = uint64(n)
	picture, err := scanner.Apply(drawn)
	if err != nil {
		return err
	}
	path, remove, err := write(picture)
	if err != nil {
		return err
	}
	defer remove()
	began := time.Now()
	doc, err := x.Extract(ctx, extract.Request{Path: path, Name: "scan.png", Languages: []string{t.language}})
	s.time += time.Since(began)
	var ours []string
	switch {
	case err == nil:
		for _, b := range doc.Blocks {
			ours = append(ours, b.Text)
		}
	case extract.KindOf(err) != extract.NoText:
		return err
	}
	alone, err := exec.CommandContext(ctx, "tesseract", path, "stdout", "-l", t.language).Output()
	if err != nil {
		return fmt.Errorf("running Tesseract: %w", err)
	}
	got := strings.Join(ours, "\n")
	s.pages++
	s.ours += paper.F1(page.Text(), got)
	s.theirs += paper.F1(page.Text(), string(alone))
	s.order += order(page.Text(), got)
	return nil
}

// write writes an image to a temporary file.
func write(g *image.Gray) (path string, remove func(), err error) {
	var data bytes.Buffer
	if err := png.Encode(&data, g); err != nil {
		return "", nil, err
	}
	f, err := os.CreateTemp("", "benchscans-*.png")
	if err != nil {
		return "", nil, err
	}
	_, err = f.Write(data.Bytes())
	if err := errors.Join(err, f.Close()); err != nil {
		return "", nil, err
	}
	return f.Name(), func() { os.Remove(f.Name()) }, nil
}

// order measures how well two texts agree in their words and word order. It returns the length of their longest common
// subsequence of words, relative to the mean number of words.
func order(want, got string) float64 {
	a, b := strings.Fields(want), strings.Fields(got)
	if len(a)+len(b) == 0 {
		return 1
	}
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = above
		}
	}
	return 2 * float64(row[len(b)]) / float64(len(a)+len(b))
}
