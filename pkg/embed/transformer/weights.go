package transformer

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// weights looks up a file's tensors by their names in BERT models.
type weights struct {
	tensors map[string]tensor
	prefix  string // common prefix of the names: "bert." if the model was saved with a head
	err     error  // the first error
}

// newWeights returns weights for `tensors`. It detects the prefix of the file's names, such as "bert.".
func newWeights(tensors map[string]tensor) *weights {
	w := &weights{tensors: tensors}
	const known = "embeddings.word_embeddings.weight"
	names := make([]string, 0, 1)
	for name := range tensors {
		if prefix, ok := strings.CutSuffix(name, known); ok && (prefix == "" || strings.HasSuffix(prefix, ".")) {
			names = append(names, prefix)
		}
	}
	if len(names) > 0 {
		w.prefix = slices.Min(names)
	}
	return w
}

// raw returns the tensor with the given name, which must have the given shape.
func (w *weights) raw(name string, shape ...int) tensor {
	t, ok := w.tensors[w.prefix+name]
	if !ok || !slices.Equal(t.shape, shape) {
		if w.err == nil && !ok {
			w.err = fmt.Errorf("it has no floating-point tensor %q; quantised models and other model types cannot run in-process", w.prefix+name)
		} else if w.err == nil {
			w.err = fmt.Errorf("tensor %q has shape %v, but config.json requires %v; the files may belong to different models", w.prefix+name, t.shape, shape)
		}
		return tensor{}
	}
	return t
}

// values returns a tensor's numbers, or nil if it is missing.
func (w *weights) values(name string, shape ...int) []float32 {
	t := w.raw(name, shape...)
	if t.data == nil {
		return nil
	}
	out := make([]float32, len(t.data)/t.dtype.size())
	t.decode(out, 0)
	return out
}

func (w *weights) norm(name string, width int, epsilon float64) layerNorm {
	return layerNorm{weight: w.values(name+".weight", width), bias: w.values(name+".bias", width), epsilon: epsilon}
}

// linear returns the layer with the given name, which has k inputs and n outputs.
func (w *weights) linear(kn *kernel, name string, n, k int) *linear {
	if t := w.tensors[w.prefix+name+".weight"]; t.dtype == int8s {
		t = w.raw(name+".weight", n, k)
		bias := w.values(name+".bias", n)
		if w.err != nil {
			return nil
		}
		return kn.newIntegerLinear(t.data, t.scales, bias, n, k)
	}
	weight, bias := w.values(name+".weight", n, k), w.values(name+".bias", n)
	if w.err != nil {
		return nil
	}
	return kn.newLinear(weight, bias, n, k)
}

// attention returns the query, key and value layers as one layer. It scales the query weights, so that attend does not
// have to divide the scores.
func (w *weights) attention(kn *kernel, name string, hidden, heads int) *linear {
	parts := []string{"query", "key", "value"}
	integers := !slices.ContainsFunc(parts, func(part string) bool {
		return w.tensors[w.prefix+name+"."+part+".weight"].dtype != int8s
	})
	var weight, scales, bias []float32
	var numbers []byte
	for _, part := range parts {
		if t := w.raw(name+"."+part+".weight", hidden, hidden); integers {
			numbers, scales = append(numbers, t.data...), append(scales, t.scales...)
		} else {
			weight = append(weight, w.values(name+"."+part+".weight", hidden, hidden)...)
		}
		bias = append(bias, w.values(name+"."+part+".bias", hidden)...)
	}
	if w.err != nil {
		return nil
	}
	scale := float32(1 / math.Sqrt(float64(hidden/heads)))
	for i := range hidden {
		bias[i] *= scale
	}
	if integers {
		for i := range hidden {
			scales[i] *= scale
		}
		return kn.newIntegerLinear(numbers, scales, bias, 3*hidden, hidden)
	}
	for i := range hidden * hidden {
		weight[i] *= scale
	}
	return kn.newLinear(weight, bias, 3*hidden, hidden)
}

// assemble builds the network from the tensors. If a tensor is missing or unsuitable, the error names it.
func assemble(s *settings, tensors map[string]tensor, kn *kernel) (*network, error) {
	w := newWeights(tensors)
	n := &network{
		kernel: kn, hidden: s.hidden, heads: s.heads, intermediate: s.intermediate, pool: s.pool, firstPos: s.firstPosition(),
		words:     &table{w.raw("embeddings.word_embeddings.weight", s.words, s.hidden)},
		positions: w.values("embeddings.position_embeddings.weight", s.positions, s.hidden),
		norm:      w.norm("embeddings.LayerNorm", s.hidden, s.epsilon),
	}
	kinds := 2
	if t, ok := w.tensors[w.prefix+"embeddings.token_type_embeddings.weight"]; ok && len(t.shape) == 2 {
		kinds = max(t.shape[0], 1)
	}
	if kind := w.values("embeddings.token_type_embeddings.weight", kinds, s.hidden); kind != nil {
		for i := range n.positions {
			n.positions[i] += kind[i%s.hidden]
		}
	}
	switch s.activation {
	case "gelu":
		n.activation = kn.gelu
	case "gelu_new", "gelu_pytorch_tanh", "gelu_fast":
		n.activation = geluTanh
	case "relu":
		n.activation = relu
	default:
		return nil, fmt.Errorf("the activation function %q in config.json cannot run in-process; run the model on a model server instead", s.activation)
	}
	for i := range s.layers {
		if w.err != nil {
			break
		}
		name := fmt.Sprintf("encoder.layer.%d.", i)
		n.layers = append(n.layers, layer{
			qkv:           w.attention(kn, name+"attention.self", s.hidden, s.heads),
			output:        w.linear(kn, name+"attention.output.dense", s.hidden, s.hidden),
			attentionNorm: w.norm(name+"attention.output.LayerNorm", s.hidden, s.epsilon),
			expand:        w.linear(kn, name+"intermediate.dense", s.intermediate, s.hidden),
			contract:      w.linear(kn, name+"output.dense", s.hidden, s.intermediate),
			outputNorm:    w.norm(name+"output.LayerNorm", s.hidden, s.epsilon),
		})
	}
	if w.err != nil {
		return nil, w.err
	}
	return n, nil
}

// detachWords copies the word vectors, so that the rest of the file's memory can be freed. If the word vectors make up
// most of the file, as in multilingual models, it does not copy them, because the copy would temporarily double the
// memory.
func (n *network) detachWords(file []byte) {
	if len(n.words.data) < len(file)/4*3 {
		n.words.data = slices.Clone(n.words.data)
	}
}
