package app

import (
	"context"
	"fmt"
	"log/slog"
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
)

// engines are the indexes of a process.
type engines struct {
	embedded *embedded.Index // nil: not configured here
	milvus   *milvus.Index   // nil: not configured here
	// rebuilding says what the embedded index lacks, "" when nothing; nil: nobody knows.
	rebuilding func(context.Context) string
}

// openMilvus makes the index at MILVUS_ADDR ready to be used. A server that is not there yet is waited for by those who
// use it.
func openMilvus(c config.Config, log *slog.Logger) (*milvus.Index, error) {
	idx, err := milvus.Open(milvus.Options{
		Address: c.MilvusAddr, Username: c.MilvusUser, Password: c.MilvusPassword, Database: c.MilvusDatabase, TLS: c.MilvusTLS, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("opening Milvus at MILVUS_ADDR: %w", err)
	}
	return idx, nil
}

// index finds an engine's index; domain.CodeUnavailable when it is not configured here.
func (e *engines) index(engine domain.Engine) (index.Index, error) {
	switch {
	case engine == domain.EngineEmbedded && e.embedded != nil:
		return e.embedded, nil
	case engine == domain.EngineMilvus && e.milvus != nil:
		return e.milvus, nil
	}
	return nil, domain.Errorf(domain.CodeUnavailable, "the engine %q is not configured here", engine)
}

// names are the engines of this process, that of new datastores first: Milvus where there is one.
func (e *engines) names() (out []domain.Engine) {
	if e.milvus != nil {
		out = append(out, domain.EngineMilvus)
	}
	if e.embedded != nil {
		out = append(out, domain.EngineEmbedded)
	}
	return out
}

func (e *engines) checks() (out []api.Check) {
	if e.milvus != nil {
		out = append(out, api.Check{Name: "milvus", Ready: e.milvus.Ready, Degrades: true, Note: e.lacks})
	}
	if e.embedded != nil {
		out = append(out, api.Check{Name: "index", Ready: e.embedded.Ready, Note: e.rebuilding})
	}
	return out
}

// lacks says what the Milvus server cannot do, "" when nothing, or when it cannot be asked.
func (e *engines) lacks(ctx context.Context) string {
	server, err := e.milvus.Server(ctx)
	if err != nil || server.LexicalSearch {
		return ""
	}
	return "Milvus " + server.Version + " has no sparse vectors, which came with 2.4: what a query finds is decided by its meaning alone"
}

// tell logs once, when the Milvus server can be asked, what it lacks.
func (e *engines) tell(ctx context.Context, log *slog.Logger) {
	for delay := time.Second; e.milvus != nil && ctx.Err() == nil; delay = min(2*delay, time.Minute) {
		_, err := e.milvus.Server(ctx)
		if err == nil {
			if lacks := e.lacks(ctx); lacks != "" {
				log.Warn(lacks)
			}
			return
		}
		if ctx.Err() == nil {
			log.Warn("Milvus is not reached yet and is tried again", "delay", delay, "error", err)
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// The types below are what each package wants to see of the engines.

type searchers struct{ *engines }

// Index implements retrieve.Indexes.
func (s searchers) Index(engine domain.Engine) (retrieve.Searcher, error) { return s.index(engine) }

type writers struct{ *engines }

// Index implements ingest.Indexes.
func (w writers) Index(engine domain.Engine) (ingest.Index, error) { return w.index(engine) }

type controlled struct{ *engines }

// Index implements control.Engines.
func (c controlled) Index(engine domain.Engine) (control.Index, error) { return c.index(engine) }

// Engines implements control.Engines.
func (c controlled) Engines() []domain.Engine { return c.names() }
