package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/answer/extractive"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/minilm"
	embedopenai "github.com/sluice/sluice/pkg/embed/openai"
	"github.com/sluice/sluice/pkg/embed/static"
	"github.com/sluice/sluice/pkg/lists"
)

// Number of cached query vectors. The cache pays off because users and agents repeat themselves.
const queryCache = 1024

// embedders holds a process's embedding models.
type embedders struct {
	byID    map[string]embed.Embedder
	order   []string               // model ids, the default first
	builtin extractive.WordVectors // built-in model with vectors for single words
}

// openEmbedders opens the configured models and those in the data directory. Their order is: the built-in model named
// in SLUICE_EMBED_MODEL, the server's model, the one in SLUICE_EMBED_DIR, those in the data directory by name, and the
// built-in models. The first is the default for new datastores.
func openEmbedders(c config.Config, log *slog.Logger) (*embedders, error) {
	builtin, err := static.New()
	if err != nil {
		return nil, err
	}
	e := &embedders{byID: map[string]embed.Embedder{}, builtin: builtin}
	builtins := []embed.Embedder{builtin, embed.Cached(minilm.New(), queryCache)}
	if err := e.addChosen(c.BuiltinEmbedModel(), builtins); err != nil {
		return nil, err
	}
	if c.ServerEmbedModel() != "" {
		if !c.HasModelServer() {
			return nil, fmt.Errorf("SLUICE_EMBED_MODEL is %q, but no model server is configured: set OPENAI_BASE_URL or OPENAI_API_KEY, or name a built-in model (%s, %s)",
				c.EmbedModel, static.ID, minilm.ID)
		}
		remote, err := embedopenai.New(embedopenai.Config{
			BaseURL: c.OpenAIBaseURL, APIKey: c.OpenAIKey, Model: c.EmbedModel, Dimensions: c.EmbedDims, Concurrency: max(8, 2*c.IngestConcurrency),
			QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix,
		})
		if err != nil {
			return nil, fmt.Errorf("setting up embedding model %q: %w", c.EmbedModel, err)
		}
		e.add(embed.Cached(remote, queryCache))
	}
	if err := e.openLocal(c, log); err != nil {
		return nil, err
	}
	for _, m := range builtins {
		e.add(m)
	}
	return e, nil
}

// addChosen adds the built-in model named in SLUICE_EMBED_MODEL, if any. For config.EmbedAuto, that is the model that
// datastores use until they are moved.
func (e *embedders) addChosen(name string, builtins []embed.Embedder) error {
	if name == "" {
		return nil
	}
	if name == config.EmbedAuto {
		name = static.ID
	}
	ids := lists.Map(builtins, func(m embed.Embedder) string { return m.Model().ID })
	i := slices.Index(ids, name)
	if i < 0 {
		return fmt.Errorf("SLUICE_EMBED_MODEL is %q, but there is no such built-in model: use %s, or %s", name, strings.Join(ids, ", "), config.EmbedAuto)
	}
	e.add(builtins[i])
	return nil
}

// add adds a model unless it is already known.
func (e *embedders) add(m embed.Embedder) {
	id := m.Model().ID
	if e.byID[id] != nil {
		return
	}
	e.byID[id] = m
	e.order = append(e.order, id)
}

// Embedder implements ingest.Embedders and retrieve.Embedders.
func (e *embedders) Embedder(id string) (embed.Embedder, error) {
	m, ok := e.byID[id]
	if !ok {
		return nil, domain.Errorf(domain.CodeUnavailable, "the embedding model %q is not configured; configured models: %s. Configure it again, or move the datastore to another model",
			id, strings.Join(e.order, ", "))
	}
	return m, nil
}

// ids returns the models available to new datastores, the default first.
func (e *embedders) ids() []string { return slices.Clone(e.order) }

// readEmbedders returns the models that a service with these settings would have, the default first.
func readEmbedders(c config.Config) ([]embed.Model, error) {
	e, err := openEmbedders(c, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return lists.Map(e.order, func(id string) embed.Model { return e.byID[id].Model() }), nil
}

// group is a set of goroutines that are stopped together.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan<- error
}

// newGroup returns an empty group. Its context has ctx's values, but only stop cancels it. The first goroutine to fail
// sends its error to failed, which must be a buffered channel.
func newGroup(ctx context.Context, failed chan<- error) *group {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &group{ctx: ctx, cancel: cancel, failed: failed}
}

func (g *group) run(name string, f func(context.Context) error) {
	g.wg.Go(func() {
		err := f(g.ctx)
		if err == nil || g.ctx.Err() != nil {
			return
		}
		select {
		case g.failed <- fmt.Errorf("%s: %w", name, err):
		default: // another goroutine has already failed
		}
	})
}

func (g *group) loop(f func(context.Context)) {
	g.wg.Go(func() { f(g.ctx) })
}

func (g *group) stop() {
	g.cancel()
	g.wg.Wait()
}
