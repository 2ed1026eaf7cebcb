package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// uploaders returns the number of concurrent uploads. It is at least 8, because uploads mostly wait for the disk.
func uploaders() int { return max(8, runtime.NumCPU()) }

// result is the result for one pipeline.
type result struct {
	Name   string
	Absent string  // why it was not measured, or ""
	Took   float64 // seconds until all files were searchable
	Used   float64 // seconds of CPU time
	Files  int     // files read
	Chunks int
	Words  int // distinct words per file, summed over the files; 0 if not counted

	Tokens    int // model tokens embedded; 0 without embedding
	CutTokens int // model tokens dropped from texts too long for the model
}

// compare ingests the files with every pipeline, Sluice first.
func compare(ctx context.Context, s settings, g inputFiles, model, dir string, errs io.Writer) ([]result, error) {
	fmt.Fprintf(errs, "Sluice: %d files …\n", len(g.paths))
	ours, err := measureSluice(ctx, s, g, model, dir)
	if err != nil {
		return nil, fmt.Errorf("measuring Sluice: %w", err)
	}
	fmt.Fprintf(errs, "Sluice: %.2f s, %.2f s of processor time, %d read\n", ours.Took, ours.Used, ours.Files)
	if model != "" {
		if ours.Tokens, ours.CutTokens, err = countTokens(ctx, g, model); err != nil {
			return nil, fmt.Errorf("counting what Sluice has embedded: %w", err)
		}
	}
	if s.alone {
		return []result{ours}, nil
	}
	return append([]result{ours}, measurePeers(ctx, s, g, model, errs)...), ctx.Err()
}

// measureSluice uploads the files to a service started in `dir` and waits until all are searchable.
func measureSluice(ctx context.Context, s settings, g inputFiles, model, dir string) (r result, err error) {
	r.Name = "Sluice, over HTTP"
	var environ []string
	if model != "" {
		environ = append(environ, "SLUICE_EMBED_DIR="+model)
	}
	svc, err := bench.Start(ctx, s.api, dir, environ...)
	defer func() {
		err = errors.Join(err, svc.Close())
		r.Used = svc.Used().Seconds()
	}()
	if err != nil {
		return r, err
	}
	store, err := svc.CreateDatastore(ctx, service.NewDatastore{Name: "pipelines"})
	if err != nil {
		return r, err
	}
	began := time.Now()
	uploads, uploading := errgroup.WithContext(ctx)
	uploads.SetLimit(uploaders())
	for _, path := range g.paths {
		uploads.Go(func() error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_, err = svc.Upload(uploading, store.ID, filepath.Base(path), data)
			if refused := (*client.Error)(nil); errors.As(err, &refused) {
				return nil // unsupported format: counts as missing
			}
			return err
		})
	}
	if err := uploads.Wait(); err != nil {
		return r, err
	}
	if err := svc.Settled(ctx, store.ID); err != nil {
		return r, err
	}
	r.Took = time.Since(began).Seconds()
	return r, svc.Datasources(ctx, store.ID, "synched", func(d service.Datasource) error {
		r.Files++
		r.Chunks += int(d.Chunks)
		if s.alone {
			return nil // nothing to compare with, and reading chunks back takes CPU time
		}
		found := make(wordSet)
		defer func() { r.Words += len(found) }()
		return svc.Chunks(ctx, d.ID, func(c service.Chunk) error {
			found.add(c.Text)
			return nil
		})
	})
}

// wordSet is a text's distinct words: runs of ASCII letters and digits in lower case. Overlapping chunks or table
// formatting may repeat words, so each counts only once. White space and punctuation don't count.
type wordSet map[string]bool

func (s wordSet) add(text string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		s[word] = true
	}
}
