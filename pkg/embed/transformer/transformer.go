// Package transformer computes embeddings in process with a sentence-transformers model from the BERT family, such as
// all-MiniLM-L6-v2, bge-small, e5-small or multilingual-e5-small. It reads the model from a directory or from files in
// memory.
//
// Tokens match those of the Python libraries, and vectors match up to rounding, with three exceptions. The names of
// special tokens ("[SEP]", "</s>") are ordinary text. Characters newer than the libraries' Unicode tables are handled
// according to Go's tables. The vector of a text without tokens is zero.
//
// Every kernel's vectors have a cosine similarity of at least 0.99999 to those of the Python libraries.
//
// Batches are not padded: the tokens of several texts form one matrix, and only attention treats the texts separately.
// A kernel multiplies matrices with the processor's vector instructions (AVX-512, AVX2, NEON) or, if these are missing,
// in plain Go, which is about twenty times slower. The weights are in fixed point (see fixedPoint), and all kernels
// compute identical vectors.
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

// Config selects and configures the model. Zero fields get defaults, but either Directory or Files is required.
type Config struct {
	// Directory contains the model as published: config.json; tokenizer.json or vocab.txt; model.safetensors or model.onnx
	// (also in onnx/); and, if the model has them, modules.json, 1_Pooling/config.json, sentence_bert_config.json,
	// tokenizer_config.json and config_sentence_transformers.json. Only Open reads the directory.
	Directory string

	// Files contains the model's files by name. It is an alternative to Directory. The files are not copied.
	Files map[string]string

	// QueryPrefix and PassagePrefix are prepended to queries and passages, for models trained with prefixes such as
	// "query: " and "passage: ". nil means the prefix from the model's configuration, which is often empty.
	// PassagePrefix is part of the model's ID, because passages with and without it can't be compared.
	QueryPrefix, PassagePrefix *string

	// MaxTokens is the number of tokens to which texts are truncated. 0, or a value above the limit in the model's
	// configuration, selects the configured limit. Any other value becomes part of the model's ID.
	MaxTokens int

	// Threads is the number of batches to compute concurrently, for queries and passages separately; default
	// processors.Count.
	Threads int

	// Priority makes passages wait while this model's queries are running. It affects all models that share the same
	// Priority. By default, all models in the process share one.
	Priority *Priority
}

// Embedder is an embed.Embedder that runs a model in process. It is safe for concurrent use and does not have to be
// closed.
type Embedder struct {
	model     embed.Model
	network   *network
	tokenizer *tokenizer
	prefixes  [2]string // by purpose
	maxTokens int
	slots     [2]chan struct{} // one channel per purpose, so that queries do not wait behind a bulk import
	spaces    sync.Pool        // of *workspace
	priority  *Priority
}

var _ embed.Embedder = (*Embedder)(nil)

// Number of tokens per batch, unless a single text has more. It is large enough that the weights are rarely read, and
// small enough for the batch to fit in the processor's cache.
const batchTokens = 384

// Open reads the model, which takes about a second and as much memory as the weights (50 to 500 MB for small models).
// Errors name the file and say what to do.
func Open(config Config) (*Embedder, error) {
	return open(config, kernels()[0])
}

func open(config Config, kn *kernel) (*Embedder, error) {
	d := directory{name: "built-in model", files: config.Files}
	if config.Files == nil {
		root, err := os.OpenRoot(config.Directory)
		if err != nil {
			return nil, fmt.Errorf("opening the embedding model's directory %q: %w", config.Directory, withoutPath(err))
		}
		defer root.Close()
		d = directory{name: root.Name(), root: root}
	}
	s, err := d.readSettings()
	if err != nil {
		return nil, err
	}
	if d.isClassifier() {
		return nil, fmt.Errorf("%s: the model is a reranker or another classifier, not an embedding model; set RERANK_MODEL to the directory of a reranker", d.path("config.json"))
	}
	e := &Embedder{maxTokens: s.maxTokens, priority: cmp.Or(config.Priority, processPriority)}
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
			return nil, fmt.Errorf("the prefix for embedding has %d bytes; the limit is %d", len(*prefix), maxPrompt)
		}
		e.prefixes[purpose] = *prefix
	}
	if e.tokenizer, err = d.readTokenizer(s); err != nil {
		return nil, err
	}
	if minimum := e.tokenizer.special() + 1; e.maxTokens < minimum {
		return nil, fmt.Errorf("a maximum of %d tokens leaves no room for words; this model needs at least %d", e.maxTokens, minimum)
	}
	var digest string
	if e.network, digest, err = d.readNetwork(s, kn, nil); err != nil {
		return nil, err
	}
	e.model = embed.Model{ID: "local:" + cmp.Or(modelNames[digest], s.name) + "@" + e.identity(s, digest), Dimensions: s.hidden}
	threads := cmp.Or(max(config.Threads, 0), processors.Count())
	for i := range e.slots {
		e.slots[i] = make(chan struct{}, threads)
	}
	e.spaces.New = func() any { return new(workspace) }
	return e, nil
}

// modelNames maps digests of weights to common names, for models whose configuration only names the base model.
var modelNames = map[string]string{
	"53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": "all-MiniLM-L6-v2",
	"1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477": "multilingual-e5-small",
}

// readNetwork reads the first weights file that exists and returns the network and the file's digest. If more is not
// nil, readNetwork calls it with the network and the file's tensors, so that it can build other parts of the model.
func (d directory) readNetwork(s *settings, kn *kernel, more func(*network, map[string]tensor) error) (*network, string, error) {
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
		if err == nil && more != nil {
			err = more(n, tensors)
		}
		if err != nil {
			return nil, "", fmt.Errorf("reading %s: %w", d.path(file.name), err)
		}
		if d.root != nil {
			n.detachWords(data)
		}
		return n, digestOf(data), nil
	}
	return nil, "", fmt.Errorf("found neither %s nor model.onnx; the weights must be in one of them (pytorch_model.bin is not used because it can run code)",
		d.path("model.safetensors"))
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// identity returns a digest of everything that affects passages' vectors, including the model's content but not its
// directory.
func (e *Embedder) identity(s *settings, weights string) string {
	all, err := json.Marshal([]any{weights, e.tokenizer.digest, e.prefixes[embed.Passage], e.maxTokens, s.pool, s.activation, s.epsilon, s.heads})
	if err != nil {
		panic(err) // unreachable: all values are strings and numbers, and epsilon is bounded and therefore finite
	}
	return digestOf(all)[:12]
}

// Model implements embed.Embedder. The ID consists of the model's common name, or else the name in its configuration,
// and a digest of its content. So the directory can be moved or renamed, and a retrained model gets a different ID.
func (e *Embedder) Model() embed.Model { return e.model }

// MaxTokens returns the maximum number of tokens per text, including the prefix and special tokens. Longer texts are
// truncated.
func (e *Embedder) MaxTokens() int { return e.maxTokens }

// Maximum number of tokens counted by Tokens, which is many times any model's limit.
const maxCountedTokens = 1 << 20

// Tokens returns the number of tokens in a passage, including the prefix and special tokens, up to maxCountedTokens.
// Only the first MaxTokens are embedded.
func (e *Embedder) Tokens(passage string) int {
	return len(e.tokenizer.tokens(e.prefixes[embed.Passage]+passage, maxCountedTokens))
}

// Kernel returns the name of the kernel in use: "avx512vnni", "avx512", "avx2", "neon", or the slow "portable".
func (e *Embedder) Kernel() string { return e.network.kernel.name }

// Embed implements embed.Embedder. A text without tokens has a zero vector. A text's vector does not depend on the
// other texts. Passages use all threads and give way to queries. Embed fails only if ctx is done.
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
		between = e.priority.yield
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

// batch holds the tokens of some texts. places are the texts' indexes in the slice passed to Embed.
type batch struct {
	texts  [][]int32
	places []int
}

// batches splits texts into batches. It omits texts that have only special tokens, and tokenises each text only when it
// builds the text's batch.
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
