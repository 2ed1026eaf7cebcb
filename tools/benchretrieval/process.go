package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluice/sluice/tools/local/engines"
	"github.com/sluice/sluice/tools/local/started"
)

// bench is the service that is measured, and what it needs beside it.
type bench struct {
	*started.Service
	top     int            // fragments of one answer
	closers []func() error // in the order of opening
}

// start starts the service, with a data directory that ends with it unless one is to be kept, and Milvus Lite where that
// engine is measured. Only what is written here configures it.
func start(ctx context.Context, s settings) (b *bench, err error) {
	b = &bench{top: s.top}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	dir := s.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "benchretrieval-"); err != nil {
			return b, err
		}
		b.closers = append(b.closers, func() error { return os.RemoveAll(dir) })
	}
	environ := []string{"SLUICE_EMBEDDED_INDEX=true", "SLUICE_AUDIT_EVERY=24h"}
	if s.model != "" {
		environ = append(environ, "SLUICE_EMBED_DIR="+s.model)
	}
	if slices.Contains(s.engines, "milvus") {
		milvus, err := engines.StartMilvusLite(ctx, filepath.Join(dir, "milvus-lite"), engines.MilvusLiteOptions{})
		if err != nil {
			return b, fmt.Errorf("starting Milvus Lite (-engines embedded does without it): %w", err)
		}
		b.closers = append(b.closers, milvus.Stop)
		environ = append(environ, "MILVUS_ADDR="+milvus.Addr())
	}
	b.Service, err = started.Start(ctx, s.api, dir, environ...)
	b.closers = append(b.closers, b.Close)
	return b, err
}

// close stops the service and what was started beside it.
func (b *bench) close() error {
	var faults []error
	for _, c := range slices.Backward(b.closers) {
		faults = append(faults, c())
	}
	return errors.Join(faults...)
}
