package transformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/processors"
)

// CrossEncoderConfig selects and configures a cross-encoder. Zero fields get defaults, except Directory, which is
// required.
type CrossEncoderConfig struct {
	// Directory contains the model as published: config.json; tokenizer.json or vocab.txt; model.safetensors or model.onnx
	// (also in onnx/); and tokenizer_config.json if the model has one. Only OpenCrossEncoder reads the directory.
	Directory string

	// MaxTokens is the number of tokens to which a query and a passage together are truncated. Default: the limit from
	// the model's configuration.
	MaxTokens int

	// Threads is the number of batches to compute concurrently; default processors.Count.
	Threads int

	// Priority makes passages wait while pairs are being scored. It affects all embedding models that share the same
	// Priority. By default, all models in the process share one.
	Priority *Priority
}

// CrossEncoder scores pairs of a query and a passage with a model from the BERT or XLM-RoBERTa family, such as
// ms-marco-MiniLM-L6-v2 or bge-reranker-base. It is safe for concurrent use and does not have to be closed.
type CrossEncoder struct {
	network   *network
	head      *head
	tokenizer *tokenizer
	template  *pairTemplate
	maxTokens int
	slots     chan struct{}
	spaces    sync.Pool // of *workspace
	priority  *Priority
	scored    func() // test hook called after each batch; may be nil
}

// OpenCrossEncoder reads the model. Errors name the file and say what to do.
func OpenCrossEncoder(config CrossEncoderConfig) (*CrossEncoder, error) {
	return openCrossEncoder(config, kernels()[0])
}

func openCrossEncoder(config CrossEncoderConfig, kn *kernel) (*CrossEncoder, error) {
	root, err := os.OpenRoot(config.Directory)
	if err != nil {
		return nil, fmt.Errorf("opening the reranker's directory %q: %w", config.Directory, withoutPath(err))
	}
	defer root.Close()
	d := directory{name: root.Name(), root: root}
	s := &settings{}
	for _, read := range []func(*settings) error{d.readConfig, d.readLengths} {
		if err := read(s); err != nil {
			return nil, err
		}
	}
	c := &CrossEncoder{maxTokens: s.maxTokens, priority: cmp.Or(config.Priority, processPriority)}
	if config.MaxTokens > 0 {
		c.maxTokens = min(c.maxTokens, config.MaxTokens)
	}
	if c.tokenizer, err = d.readTokenizer(s); err != nil {
		return nil, err
	}
	if c.template, err = c.tokenizer.pairTemplate(s.words); err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path("tokenizer.json"), err)
	}
	if minimum := c.template.special() + 2; c.maxTokens < minimum {
		return nil, fmt.Errorf("%s: a maximum of %d tokens leaves no room for words; a pair needs at least %d", d.name, c.maxTokens, minimum)
	}
	c.network, _, err = d.readNetwork(s, kn, func(n *network, tensors map[string]tensor) (err error) {
		c.head, err = assembleHead(s, n, tensors, c.template.typed)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.slots = make(chan struct{}, cmp.Or(max(config.Threads, 0), processors.Count()))
	c.spaces.New = func() any { return new(workspace) }
	return c, nil
}

// IsCrossEncoder reports whether a directory contains a cross-encoder or another classifier instead of an embedding
// model. It returns false if the directory can't be read.
func IsCrossEncoder(path string) bool {
	root, err := os.OpenRoot(path)
	if err != nil {
		return false
	}
	defer root.Close()
	return directory{name: root.Name(), root: root}.isClassifier()
}

// isClassifier reports whether config.json describes a classifier. A model with a pooling configuration is an embedding
// model, even if config.json still names the classifier that it was trained from.
func (d directory) isClassifier() bool {
	var c struct {
		Architectures []string `json:"architectures"`
	}
	if found, err := d.readJSON("config.json", &c); err != nil || !found {
		return false
	}
	pooled, err := d.readJSON("1_Pooling/config.json", &struct{}{})
	return !pooled && err == nil && slices.ContainsFunc(c.Architectures, func(name string) bool { return strings.HasSuffix(name, "ForSequenceClassification") })
}

// Kernel returns the name of the kernel in use; see Embedder.Kernel.
func (c *CrossEncoder) Kernel() string { return c.network.kernel.name }

// MaxTokens returns the maximum number of tokens in a pair, including the special tokens.
func (c *CrossEncoder) MaxTokens() int { return c.maxTokens }

// Score returns a logit for each passage, keyed by the passage's index. A higher logit means that the passage is more
// relevant to the query. A passage's logit does not depend on the other passages.
//
// Passages are scored in order. Those not scored by the time `until` are missing from the result; a zero time means no
// limit. Score fails if ctx is done or a logit is not finite.
func (c *CrossEncoder) Score(ctx context.Context, query string, passages []string, until time.Time) (map[int]float32, error) {
	budget := ctx
	if !until.IsZero() {
		var cancel context.CancelFunc
		budget, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	return c.score(ctx, budget, query, passages)
}

// score implements Score. budget is ctx, possibly with an earlier deadline. If only budget is done, score returns the
// logits computed so far.
func (c *CrossEncoder) score(ctx, budget context.Context, query string, passages []string) (map[int]float32, error) {
	c.priority.begin()
	defer c.priority.end()
	logits := make(map[int]float32, len(passages))
	var mu sync.Mutex // guards logits
	group, scoring := errgroup.WithContext(budget)
	group.SetLimit(cap(c.slots))
	for b := range c.batches(query, passages) {
		if scoring.Err() != nil {
			break
		}
		group.Go(func() error {
			select {
			case c.slots <- struct{}{}:
				defer func() { <-c.slots }()
			case <-scoring.Done():
				return scoring.Err()
			}
			space := c.spaces.Get().(*workspace)
			defer c.spaces.Put(space)
			found := make([]float32, len(b.pairs))
			if err := c.network.score(scoring, space, b.pairs, c.head, found); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for i, v := range found {
				logits[b.first+i] = v
			}
			if c.scored != nil {
				c.scored()
			}
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, errNotFinite) {
		return nil, err
	}
	return logits, nil // possibly because time is up
}

// pairBatch holds pairs of a query with consecutive passages. `first` is the index of the first passage.
type pairBatch struct {
	pairs []pair
	first int
}

// batches yields batches of pairs. It tokenises each passage only when it builds the passage's batch. Batches are not
// padded, so pairs of different lengths can share one.
func (c *CrossEncoder) batches(query string, passages []string) func(yield func(pairBatch) bool) {
	return func(yield func(pairBatch) bool) {
		asked := c.tokenizer.parts(query, c.maxTokens)
		next, size := pairBatch{}, 0
		for i, passage := range passages {
			p := c.template.join(asked, c.tokenizer.parts(passage, c.maxTokens), c.maxTokens)
			if size > 0 && size+len(p.tokens) > batchTokens {
				if !yield(next) {
					return
				}
				next, size = pairBatch{first: i}, 0
			}
			next.pairs = append(next.pairs, p)
			size += len(p.tokens)
		}
		if size > 0 {
			yield(next)
		}
	}
}

// head computes a pair's logit from its first token's vector: a layer, tanh and a weighted sum.
type head struct {
	dense     *linear
	weight    []float32
	bias      float32
	positions []float32 // one row per position, for tokens of type 1; nil if all tokens have type 0
}

// assembleHead builds the head from the tensors in the network's file. typed means that passages have token type 1.
func assembleHead(s *settings, n *network, tensors map[string]tensor, typed bool) (*head, error) {
	h := &head{}
	body, top := newWeights(tensors), &weights{tensors: tensors}
	weight := "classifier.weight"
	if s.kind == "bert" {
		h.dense = body.linear(n.kernel, "pooler.dense", s.hidden, s.hidden)
	} else {
		h.dense, weight = top.linear(n.kernel, "classifier.dense", s.hidden, s.hidden), "classifier.out_proj.weight"
	}
	if t, ok := tensors[weight]; ok && len(t.shape) == 2 && t.shape[0] != 1 {
		return nil, fmt.Errorf("it is a classifier with %d labels; a reranker has one", t.shape[0])
	} else if !ok {
		return nil, fmt.Errorf("it has no tensor %q, so it is not a reranker (cross-encoder)", weight)
	}
	h.weight = top.values(weight, 1, s.hidden)
	if bias := top.values(strings.TrimSuffix(weight, "weight")+"bias", 1); bias != nil {
		h.bias = bias[0]
	}
	if err := cmp.Or(body.err, top.err); err != nil {
		return nil, err
	}
	const types = "embeddings.token_type_embeddings.weight"
	if t := tensors[body.prefix+types]; typed && len(t.shape) == 2 && t.shape[0] > 1 {
		kinds := body.values(types, t.shape[0], s.hidden)
		if body.err != nil {
			return nil, body.err
		}
		h.positions = slices.Clone(n.positions)
		for i := range h.positions {
			h.positions[i] += kinds[s.hidden+i%s.hidden] - kinds[i%s.hidden]
		}
	}
	return h, nil
}

var errNotFinite = errors.New("the reranker returned a score that is not a finite number; the model's files may be damaged")

// score computes each pair's logit.
func (n *network) score(ctx context.Context, w *workspace, pairs []pair, h *head, logits []float32) error {
	texts := make([][]int32, len(pairs))
	for i, p := range pairs {
		texts[i] = p.tokens
	}
	tokens := n.fitTexts(w, texts)
	n.lookUpPairs(w.x, pairs, h)
	last := len(n.layers) - 1
	if err := n.encode(ctx, w, texts, n.layers[:last], func(context.Context) {}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The last layer is needed only for each text's first token. Move these tokens' vectors to the first rows of the
	// matrices, so that feedForward computes only those.
	n.kernel.apply(n.layers[last].qkv, w, w.qkv, w.x, tokens)
	first := 0
	for i, text := range texts {
		n.attend(w, first, len(text), 1)
		for _, rows := range [][]float32{w.x, w.mixed} {
			copy(rows[i*n.hidden:][:n.hidden], rows[first*n.hidden:][:n.hidden])
		}
		first += len(text)
	}
	n.feedForward(w, &n.layers[last], len(pairs))

	n.kernel.apply(h.dense, w, w.mixed, w.x, len(pairs))
	for i := range logits {
		sum := float64(h.bias)
		for j, v := range w.mixed[i*n.hidden:][:n.hidden] {
			sum += math.Tanh(float64(v)) * float64(h.weight[j])
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return errNotFinite
		}
		logits[i] = float32(sum)
	}
	return nil
}

// lookUpPairs writes the first layer's input, one vector per token.
func (n *network) lookUpPairs(x []float32, pairs []pair, h *head) {
	for _, p := range pairs {
		for i, token := range p.tokens {
			out := x[:n.hidden]
			x = x[n.hidden:]
			n.words.read(out, int(token))
			positions := n.positions
			if i >= p.passage && h.positions != nil {
				positions = h.positions
			}
			n.kernel.norm(&n.norm, out, positions[(n.firstPos+i)*n.hidden:][:n.hidden])
		}
	}
}
