package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/index/milvus"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/sleep"
)

// engines holds a process's vector indexes.
type engines struct {
	embedded *embedded.Index // nil if this process does not open it
	remote   []remoteEngine  // the first one is the default for new datastores
	// rebuilding describes the content missing from the embedded index, or returns "" if it is complete. It is nil in
	// processes that don't know.
	rebuilding func(context.Context) string
}

// remoteEngine is an engine on separate servers that all processes can use.
type remoteEngine struct {
	name domain.Engine
	remoteIndex
	rebuild *rebuild
	// rebuilding describes the content missing from this engine; see engines.rebuilding.
	rebuilding func(context.Context) string
}

type remoteIndex interface {
	index.Index
	// Lacks describes the features missing from the server, or returns "".
	Lacks(ctx context.Context) (string, error)
	// Empty reports whether the server holds none of the service's data.
	Empty(ctx context.Context) (bool, error)
}

// openRemote opens the engines with configured servers, without waiting for the servers to respond.
func (e *engines) openRemote(c config.Config, log *slog.Logger) error {
	if c.MilvusAddr != "" {
		idx, err := milvus.Open(milvus.Options{
			Address: c.MilvusAddr, Username: c.MilvusUser, Password: c.MilvusPassword, Database: c.MilvusDatabase, TLS: c.MilvusTLS, Log: log,
		})
		if err != nil {
			return fmt.Errorf("opening Milvus at MILVUS_ADDR: %w", err)
		}
		e.remote = append(e.remote, remoteEngine{name: domain.EngineMilvus, remoteIndex: idx, rebuild: &rebuild{}})
	}
	return nil
}

func (e *engines) closeRemote() (err error) {
	for _, r := range e.remote {
		err = errors.Join(err, r.Close())
	}
	return err
}

// index returns an engine's index, or domain.CodeUnavailable if this process doesn't have the engine.
func (e *engines) index(engine domain.Engine) (index.Index, error) {
	if engine == domain.EngineEmbedded && e.embedded != nil {
		return e.embedded, nil
	}
	for _, r := range e.remote {
		if r.name == engine {
			return r, nil
		}
	}
	return nil, domain.Errorf(domain.CodeUnavailable, "engine %q is not configured", engine)
}

// names returns this process's engines. The first is the default for new datastores: a remote engine, if there is one.
func (e *engines) names() (out []domain.Engine) {
	for _, r := range e.remote {
		out = append(out, r.name)
	}
	if e.embedded != nil {
		out = append(out, domain.EngineEmbedded)
	}
	return out
}

func (e *engines) checks() (out []api.Check) {
	for _, r := range e.remote {
		out = append(out, api.Check{Name: string(r.name), Ready: r.Ready, Degrades: true, Note: func(ctx context.Context) string {
			lacks, _ := r.Lacks(ctx) // Ready reports an unreachable server
			if r.rebuilding != nil {
				if note := r.rebuilding(ctx); note != "" {
					return note
				}
			}
			return lacks
		}})
	}
	if e.embedded != nil {
		out = append(out, api.Check{Name: "index", Ready: e.embedded.Ready, Note: e.rebuilding})
	}
	return out
}

// logMissingFeatures logs once which features each server lacks, as soon as the server can be reached.
func (e *engines) logMissingFeatures(ctx context.Context, log *slog.Logger) {
	var asking sync.WaitGroup
	for _, r := range e.remote {
		asking.Go(func() { r.logMissingFeatures(ctx, log) })
	}
	asking.Wait()
}

func (r remoteEngine) logMissingFeatures(ctx context.Context, log *slog.Logger) {
	for delay := time.Second; ctx.Err() == nil; delay = min(2*delay, time.Minute) {
		lacks, err := r.Lacks(ctx)
		if err == nil {
			if lacks != "" {
				log.Warn(lacks)
			}
			return
		}
		if ctx.Err() == nil {
			log.Warn("cannot reach the index yet; will retry", "engine", r.name, "delay", delay, "error", err)
		}
		_ = sleep.For(ctx, delay)
	}
}

// Adapters for the interfaces that other packages expect.

type searchers struct{ *engines }

// Index implements retrieve.Indexes.
func (s searchers) Index(engine domain.Engine) (retrieve.Searcher, error) { return s.index(engine) }

type writers struct{ *engines }

// Index implements ingest.Indexes.
func (w writers) Index(engine domain.Engine) (ingest.Index, error) { return w.index(engine) }

type controlledEngines struct{ *engines }

// Index implements control.Engines.
func (c controlledEngines) Index(engine domain.Engine) (control.Index, error) { return c.index(engine) }

// Engines implements control.Engines.
func (c controlledEngines) Engines() []domain.Engine { return c.names() }
