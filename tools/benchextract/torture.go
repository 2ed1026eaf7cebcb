package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/tools/internal/bench"
)

// tortureSettings says how to damage documents, and the limits for reading them.
type tortureSettings struct {
	keep    string
	damage  extracttest.Damage
	memory  config.Bytes
	timeout time.Duration
}

// outcome is the result of reading one damaged copy of a document.
type outcome struct {
	doc   document
	what  string // description of the damage
	kind  extract.Kind
	err   error
	wall  time.Duration
	cpu   time.Duration // the child's CPU time; 0 if unknown, e.g. because the child has exited
	peak  int64         // the child's peak resident memory in bytes; 0 if unknown
	size  int
	crash string // why a child died, a parser panicked or a limit was exceeded by far, or ""
}

// isHarmful reports whether reading the copy caused a crash, or an error that doesn't count as the document's fault.
func (o outcome) isHarmful() bool { return o.crash != "" || o.err != nil && o.kind == "" }

// describe says what went wrong: the cause of the crash, or the error.
func (o outcome) describe() string {
	if o.crash != "" {
		return o.crash
	}
	return o.err.Error()
}

// tortureAll reads every document, intact and damaged. It returns an error if any copy was harmful (see isHarmful) or
// resources leaked.
func tortureAll(ctx context.Context, s settings, out, errs io.Writer) error {
	samples, shared, pages, err := documents(s, errs)
	if err != nil {
		return err
	}
	docs := filterKind(slices.Concat(samples, shared, pages), s.only)
	temp, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	deaths := &crashLog{}
	before := runtime.NumGoroutine()
	x := extract.New(extract.Options{
		Concurrency: 1, Tesseract: "off", MaxMemory: int64(s.torture.memory), Timeout: s.torture.timeout, TempDir: temp, Log: slog.New(deaths),
	})
	var all []outcome
	for i, d := range docs {
		outcomes, err := tortureOne(ctx, x, d, s.torture, deaths)
		if err != nil {
			return errors.Join(err, x.Close())
		}
		for _, o := range outcomes {
			if o.isHarmful() {
				fmt.Fprintf(errs, "HARM %s/%s, %s: %.300s\n", d.kind, d.name, o.what, o.describe())
			}
		}
		all = append(all, outcomes...)
		if i%20 == 19 {
			fmt.Fprintf(errs, "%d of %d documents\n", i+1, len(docs))
		}
	}
	if err := x.Close(); err != nil {
		return err
	}
	left := findLeaks(temp, before)
	reportTorture(out, all, left, s.torture)
	harm := slices.ContainsFunc(all, outcome.isHarmful)
	if harm || len(left) > 0 {
		return errors.New("documents did harm: see the report")
	}
	return nil
}

// tortureOne reads all damaged copies of a document and returns the outcomes, which include crashes and exceeded
// limits. An error means that the test itself failed.
func tortureOne(ctx context.Context, x *extract.Extractor, d document, s tortureSettings, deaths *crashLog) ([]outcome, error) {
	data, err := d.content()
	if err != nil {
		return nil, err
	}
	var outcomes []outcome
	for what, copied := range s.damage.Cases(d.name, data) {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		deaths.take()
		resetPeaks()
		used := usedTime(bench.Children()...)
		start := time.Now()
		_, err := x.Extract(ctx, extract.Request{Reader: bytes.NewReader(copied), Name: d.name})
		o := outcome{doc: d, what: what, kind: extract.KindOf(err), err: err, wall: time.Since(start), cpu: max(0, usedTime(bench.Children()...)-used), peak: childPeak(), size: len(copied), crash: deaths.take()}
		if o.crash == "" && err != nil && strings.Contains(err.Error(), "panic: ") {
			o.crash = err.Error()
		}
		if limit := s.timeout / 3; o.crash == "" && o.cpu > limit {
			o.crash = fmt.Sprintf("took %.1f s of processor time, more than a third of what it may", o.cpu.Seconds())
		}
		outcomes = append(outcomes, o)
		if o.isHarmful() && s.keep != "" {
			if err := keepFile(s.keep, o, copied); err != nil {
				return nil, err
			}
		}
	}
	return outcomes, nil
}

// keepFile stores the copy of a document that caused a failure, with a text file that says what went wrong.
func keepFile(folder string, o outcome, data []byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	h := fnv.New32a()
	_, _ = h.Write(data) // a hash never fails
	name := filepath.Join(folder, fmt.Sprintf("%s-%08x-%s", o.doc.kind, h.Sum32(), o.doc.name))
	return errors.Join(os.WriteFile(name, data, 0o644), os.WriteFile(name+".why", []byte(o.what+"\n"+o.describe()+"\n"), 0o644))
}

// crashLog is an Extractor's log handler that records warnings about dead children.
type crashLog struct{ last string }

func (l *crashLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *crashLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *crashLog) WithGroup(string) slog.Handler            { return l }

// Handle implements slog.Handler. It needs no lock: documents are read one at a time, in the goroutine that logs.
func (l *crashLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return nil
	}
	l.last = r.Message
	r.Attrs(func(a slog.Attr) bool {
		l.last += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	return nil
}

func (l *crashLog) take() string {
	last := l.last
	l.last = ""
	return last
}

// findLeaks lists leftover processes, goroutines and files.
func findLeaks(temp string, goroutines int) []string {
	var left []string
	if pids := bench.Children(); len(pids) > 0 {
		left = append(left, fmt.Sprintf("processes %v", pids))
	}
	if files, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(files) > 0 {
		left = append(left, fmt.Sprintf("files %v", files))
	}
	for range 100 { // goroutines may be about to exit
		if runtime.NumGoroutine() <= goroutines {
			return left
		}
		time.Sleep(10 * time.Millisecond)
	}
	return append(left, fmt.Sprintf("%d goroutines more than before", runtime.NumGoroutine()-goroutines))
}

// reportTorture writes the results, including the slowest and largest documents.
func reportTorture(out io.Writer, all []outcome, left []string, s tortureSettings) {
	type count struct{ docs, copies, text, refused, harm int }
	counts := map[string]*count{}
	kinds := map[extract.Kind]int{}
	for _, o := range all {
		c := counts[o.doc.kind]
		if c == nil {
			c = &count{}
			counts[o.doc.kind] = c
		}
		c.copies++
		if o.what == "whole" {
			c.docs++
		}
		switch {
		case o.isHarmful():
			c.harm++
		case o.err == nil:
			c.text++
		default:
			c.refused++
			kinds[o.kind]++
		}
	}
	bench.Header(out, 1, "kind", "documents", "with their damaged copies", "read as text", "refused with a cause", "did harm")
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d |\n", kind, c.docs, c.copies, c.text, c.refused, c.harm)
	}
	fmt.Fprintf(out, "\nLimits: %d MiB of memory and %s of processor time a file. Causes:", s.memory>>20, s.timeout)
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(out, " %s %d;", k, kinds[k])
	}
	fmt.Fprintf(out, "\n\nSlowest, by processor time:\n\n")
	writeTop(out, all, func(a, b outcome) int { return cmp.Compare(b.cpu, a.cpu) })
	fmt.Fprintf(out, "\nLargest in memory:\n\n")
	writeTop(out, all, func(a, b outcome) int { return cmp.Compare(b.peak, a.peak) })
	for _, o := range all {
		if o.isHarmful() {
			fmt.Fprintf(out, "\nHarm: %s/%s, %s (%d bytes): %.600s\n", o.doc.kind, o.doc.name, o.what, o.size, o.describe())
		}
	}
	for _, l := range left {
		fmt.Fprintf(out, "\nLeft behind: %s\n", l)
	}
}

// writeTop sorts the outcomes by `order` and writes each document's first outcome, for at most ten documents.
func writeTop(out io.Writer, all []outcome, order func(a, b outcome) int) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, order)
	seen := map[document]bool{}
	for _, o := range sorted {
		if seen[o.doc] {
			continue
		}
		seen[o.doc] = true
		fmt.Fprintf(out, "- %s/%s, %s: %.2f s (%.2f s by the clock), %d MB\n", o.doc.kind, o.doc.name, o.what, o.cpu.Seconds(), o.wall.Seconds(), o.peak/1e6)
		if len(seen) == 10 {
			return
		}
	}
}
