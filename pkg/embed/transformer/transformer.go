// Package transformer embeds texts with a sentence-transformers model of the BERT family in process: all-MiniLM-L6-v2,
// bge-small, e5-small, multilingual-e5-small and their kin, read from a directory that the user names.
//
// Its vectors and tokens are those of the Python libraries, but for this: the names of special tokens in a text ("[SEP]",
// "</s>") are only text; characters that are younger than the libraries' Unicode tables are what they are in ours; and a
// text without a token has no direction, but the zero vector.
//
// Vectors of the same text by different kernels, or by those libraries, have a similarity of 0.99999 or more.
//
// Batches are not padded: the tokens of several texts form one matrix, which only attention takes apart. Matrices are
// multiplied by a kernel in the processor's vector instructions where it has them (AVX-512, AVX2, NEON), else by plain
// Go, which is some twenty times slower. With AVX2 and AVX-512 the weights' are in fixed point (fixedPoint), and vectors the same to
// the last bit whichever of the two a processor has.
package transformer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/processors"
)

// Config says where the model lies and how it is used. Every zero field but Directory has a default.
type Config struct {
	// Directory is where the model lies as it is published: config.json; tokenizer.json or vocab.txt; model.safetensors
	// or model.onnx (also in onnx/); and, where the model has them, modules.json, 1_Pooling/config.json,
	// sentence_bert_config.json, tokenizer_config.json and config_sentence_transformers.json. It is read by Open alone.
	Directory string

	// QueryPrefix and PassagePrefix go before every text of their purpose, for models that were trained so ("query: ",
	// "passage: "). nil takes what the model's own configuration says, which is often nothing. PassagePrefix is part of
	// the model's ID, since vectors of passages with and without do not compare.
	QueryPrefix, PassagePrefix *string

	// MaxTokens cuts texts earlier than the model's configuration does; 0, and what is more than the model can take, cut
	// where that does. It is part of the model's ID where it counts.
	MaxTokens int

	// Threads is how many batches are worked on at once, separately for queries and passages; default processors.Count.
	Threads int
}

// Embedder is an embed.Embedder of a model in process. It is safe for concurrent use and needs no closing.
type Embedder struct {
	model     embed.Model
	network   *network
	tokenizer *tokenizer
	prefixes  [2]string // by purpose
	maxTokens int
	slots     [2]chan struct{} // by purpose, so that a bulk import does not hold up queries
	spaces    sync.Pool        // of *workspace
	priority  priority
}

var _ embed.Embedder = (*Embedder)(nil)

// batchTokens is how many tokens are worked on at a time, unless a single text has more: enough to read the weights
// seldom, few enough for the processor's cache.
const batchTokens = 384

// Open reads the model. It takes a second and the memory of the weights (50 to 500 MB for small models). The errors name
// the file that is wrong and the way out.
func Open(config Config) (*Embedder, error) {
	return open(config, kernels()[0])
}

func open(config Config, kn *kernel) (*Embedder, error) {
	root, err := os.OpenRoot(config.Directory)
	if err != nil {
		return nil, fmt.Errorf("opening the embedding model's directory %q: %w", config.Directory, bare(err))
	}
	defer root.Close()
	d := directory{root}
	s, err := d.readSettings()
	if err != nil {
		return nil, err
	}
	e := &Embedder{maxTokens: s.maxTokens}
	if config.MaxTokens > 0 {
		e.maxTokens = min(e.maxTokens, config.MaxTokens)
	}
	e.prefixes[embed.Query] = s.prompt("query", "s2p_query", "web_search_query", "retrieval.query")
	e.prefixes[embed.Passage] = s.prompt("document", "passage", "corpus", "retrieval.passage")
	for purpose, prefix := range map[embed.Purpose]*string{embed.Query: config.QueryPrefix, embed.Passage: config.PassagePrefix} {
		if prefix == nil {
			continue
		}
		if len(*prefix) > maxPrompt {
			return nil, fmt.Errorf("a prefix of %d bytes for embedding is too long; at most %d are used", len(*prefix), maxPrompt)
		}
		e.prefixes[purpose] = *prefix
	}
	if e.tokenizer, err = d.readTokenizer(s); err != nil {
		return nil, err
	}
	if least := e.tokenizer.special() + 1; e.maxTokens < least {
		return nil, fmt.Errorf("texts of at most %d tokens would hold no word of their own; this model needs at least %d", e.maxTokens, least)
	}
	var digest string
	if e.network, digest, err = d.readNetwork(s, kn); err != nil {
		return nil, err
	}
	e.model = embed.Model{ID: "local:" + cmp.Or(published[digest], s.name) + "@" + e.identity(s, digest), Dimensions: s.hidden}
	threads := cmp.Or(max(config.Threads, 0), processors.Count())
	for i := range e.slots {
		e.slots[i] = make(chan struct{}, threads)
	}
	e.priority.patience = patience
	e.spaces.New = func() any { return new(workspace) }
	return e, nil
}

// published are names that people know models by, by the digest of their weights, where their configuration has another
// one: that of what they were trained from.
var published = map[string]string{
	"53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": "all-MiniLM-L6-v2",
}

// readNetwork reads the weights, and returns a digest of them too.
func (d directory) readNetwork(s *settings, kn *kernel) (*network, string, error) {
	for _, file := range []struct {
		name  string
		parse func([]byte) (map[string]tensor, error)
	}{
		{"model.safetensors", parseSafetensors}, {"model.onnx", parseONNX}, {"onnx/model.onnx", parseONNX},
	} {
		data, err := d.read(file.name, maxWeights)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		tensors, err := file.parse(data)
		if err != nil {
			return nil, "", fmt.Errorf("reading %s: %w", d.path(file.name), err)
		}
		n, err := assemble(s, tensors, kn)
		if err != nil {
			return nil, "", fmt.Errorf("reading %s: %w", d.path(file.name), err)
		}
		return n, digestOf(data), nil
	}
	return nil, "", fmt.Errorf("%s is missing, and so is model.onnx; one of the two has to hold the weights (pytorch_model.bin is not read: it can run code)",
		d.path("model.safetensors"))
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// identity is a digest of all that the vectors of passages depend on, so that models of the same name which are not the
// same are told apart, and a directory can be moved.
func (e *Embedder) identity(s *settings, weights string) string {
	all, err := json.Marshal([]any{weights, e.tokenizer.digest, e.prefixes[embed.Passage], e.maxTokens, s.pool, s.activation, s.epsilon, s.heads})
	if err != nil {
		panic(err) // strings and numbers, which epsilon's bounds make finite
	}
	return digestOf(all)[:12]
}

// Model implements embed.Embedder. The ID has the name that the model is known by or its configuration gives it, and a digest
// of what it is made of: a directory can be moved and renamed, and a model that is trained anew is another one.
func (e *Embedder) Model() embed.Model { return e.model }

// MaxTokens is how many tokens of a text count, the prefix and the special ones included; what follows is cut.
func (e *Embedder) MaxTokens() int { return e.maxTokens }

// mostTokens is what Tokens counts to: many times what any model reads.
const mostTokens = 1 << 20

// Tokens is how many tokens a passage has, up to mostTokens, the prefix and the special ones included; of more than MaxTokens, those
// are embedded.
func (e *Embedder) Tokens(passage string) int {
	return len(e.tokenizer.tokens(e.prefixes[embed.Passage]+passage, mostTokens))
}

// Kernel names the instructions that this processor runs the model with: "avx512vnni", "avx512", "avx2", "neon" or "portable", the slow one.
func (e *Embedder) Kernel() string { return e.network.kernel.name }

// Embed implements embed.Embedder. The vector of a text without a token is zero. The vector of a text does not depend on
// what is embedded beside it. Passages take all threads, and let queries go before them. The only error is that of ctx.
func (e *Embedder) Embed(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	backing := make([]float32, len(texts)*e.model.Dimensions)
	for i := range vectors {
		vectors[i] = backing[i*e.model.Dimensions:][:e.model.Dimensions:e.model.Dimensions]
	}
	between := func(context.Context) {}
	if purpose == embed.Query {
		e.priority.begin()
		defer e.priority.end()
	} else {
		between = e.priority.giveWay
	}
	group, groupCtx := errgroup.WithContext(ctx)
	slots := e.slots[purpose]
	group.SetLimit(cap(slots))
	for b := range e.batches(texts, purpose) {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-groupCtx.Done():
				return groupCtx.Err()
			}
			space := e.spaces.Get().(*workspace)
			defer e.spaces.Put(space)
			into := make([][]float32, len(b.places))
			for i, place := range b.places {
				into[i] = vectors[place]
			}
			return e.network.run(groupCtx, space, b.texts, into, between)
		})
	}
	if err := cmp.Or(group.Wait(), ctx.Err()); err != nil {
		return nil, err
	}
	return vectors, nil
}

// batch is some of the texts of a call, as tokens, and their places among them.
type batch struct {
	texts  [][]int32
	places []int
}

// batches forms batches of texts, leaving out those without a token of their own. They are tokenised as they are asked for.
func (e *Embedder) batches(texts []string, purpose embed.Purpose) func(yield func(batch) bool) {
	return func(yield func(batch) bool) {
		var next batch
		size := 0
		for i, text := range texts {
			tokens := e.tokenizer.tokens(text, e.maxTokens)
			if len(tokens) == e.tokenizer.special() {
				continue
			}
			if prefix := e.prefixes[purpose]; prefix != "" {
				tokens = e.tokenizer.tokens(prefix+text, e.maxTokens)
			}
			if size > 0 && size+len(tokens) > batchTokens {
				if !yield(next) {
					return
				}
				next, size = batch{}, 0
			}
			next.texts, next.places = append(next.texts, tokens), append(next.places, i)
			size += len(tokens)
		}
		if size > 0 {
			yield(next)
		}
	}
}
