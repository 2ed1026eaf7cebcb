package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/tools/internal/bench"
	"github.com/sluice/sluice/tools/local/engines"
)

// measured is the service under test and its dependencies.
type measured struct {
	*bench.Service
	top     int            // fragments per query
	closers []func() error // stop the service and its dependencies; in starting order
}

// builtinPrefix is the prefix of built-in embedding models' names.
const builtinPrefix = "builtin-"

// start starts the service, and Milvus Lite if that engine is measured. The data directory is temporary unless s.keep
// names one. The service doesn't inherit this process's environment.
func start(ctx context.Context, s settings) (b *measured, err error) {
	b = &measured{top: s.top}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	dir, remove, err := bench.Directory(s.keep)
	if err != nil {
		return b, err
	}
	b.closers = append(b.closers, remove)
	var environ []string
	if name := filepath.Base(s.model); strings.HasPrefix(name, builtinPrefix) {
		environ = append(environ, "SLUICE_EMBED_MODEL="+name)
	} else if s.model != "" {
		environ = append(environ, "SLUICE_EMBED_DIR="+s.model)
	}
	if slices.Contains(s.engines, "milvus") {
		milvus, err := engines.StartMilvusLite(ctx, filepath.Join(dir, "milvus-lite"), engines.MilvusLiteOptions{})
		if err != nil {
			return b, fmt.Errorf("starting Milvus Lite (not needed with -engines embedded): %w", err)
		}
		b.closers = append(b.closers, milvus.Stop)
		environ = append(environ, "MILVUS_ADDR="+milvus.Addr())
	}
	b.Service, err = bench.Start(ctx, s.api, dir, environ...)
	b.closers = append(b.closers, b.Close)
	return b, err
}

// close stops the service and its dependencies.
func (b *measured) close() error {
	var faults []error
	for _, c := range slices.Backward(b.closers) {
		faults = append(faults, c())
	}
	return errors.Join(faults...)
}
