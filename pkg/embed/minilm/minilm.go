// Package minilm contains the model all-MiniLM-L6-v2, an English sentence transformer, with 8-bit integer weights. It
// is embedded in the program. Package transformer runs it in process and loads it on first use.
//
// The command in the convert directory creates the model's files from the published ones. NOTICE names the model's
// authors and licence.
package minilm

import (
	"context"
	_ "embed" // for go:embed
	"fmt"
	"sync"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/transformer"
)

// The model's ID and dimensions. Both are stored in datastores, so a model converted differently needs a new ID.
const (
	ID         = "builtin-minilm"
	Dimensions = 384
)

// The model's files, for package transformer. The weights are not copied: they stay in the executable's memory-mapped
// pages, which the operating system reads on demand and may drop at any time.
var (
	//go:embed model/config.json
	config string
	//go:embed model/sentence_bert_config.json
	lengths string
	//go:embed model/vocab.txt
	vocabulary string
	//go:embed model/model.safetensors
	weights string
)

// open loads the model, which takes a fraction of a second and 30 MB of memory. All embedders share it.
var open = sync.OnceValues(func() (*transformer.Embedder, error) {
	return transformer.Open(transformer.Config{Files: files()})
})

func files() map[string]string {
	return map[string]string{
		"config.json":               config,
		"sentence_bert_config.json": lengths,
		"vocab.txt":                 vocabulary,
		"model.safetensors":         weights,
	}
}

// Embedder is the model's embed.Embedder. It is safe for concurrent use and does not have to be closed.
type Embedder struct{}

var _ embed.Embedder = Embedder{}

// New returns an embedder without loading anything.
func New() Embedder { return Embedder{} }

// Model implements embed.Embedder.
func (Embedder) Model() embed.Model { return embed.Model{ID: ID, Dimensions: Dimensions} }

// Embed implements embed.Embedder. It treats queries and passages alike and embeds only a text's first 256 tokens. A
// text without tokens has a zero vector. Embed fails only if ctx is done or the embedded model is damaged.
func (Embedder) Embed(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	m, err := open()
	if err != nil {
		return nil, fmt.Errorf("loading the embedding model %s: %w", ID, err)
	}
	return m.Embed(ctx, texts, purpose)
}

// Coverage returns how much of a text the model's vocabulary covers, from 0 to 1; see transformer.Embedder.Coverage. If
// the model can't be loaded, it returns 1 and leaves the error to Embed.
func (Embedder) Coverage(text string) float64 {
	m, err := open()
	if err != nil {
		return 1
	}
	return m.Coverage(text)
}
