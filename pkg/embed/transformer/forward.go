package transformer

import (
	"context"
	"math"
)

// network is the trained part of a model. It is immutable.
type network struct {
	kernel       *kernel
	hidden       int // length of a token's vector in numbers
	heads        int
	intermediate int
	activation   func([]float32)

	words     *table    // one row per token
	positions []float32 // one row per position, with a single text's token-type vector already added
	firstPos  int       // row in positions for the first token
	norm      layerNorm

	layers []layer
	pool   pooling
}

// layer is one block of attention and feed-forward layers.
type layer struct {
	qkv, output      *linear // queries (already scaled), keys and values side by side
	attentionNorm    layerNorm
	expand, contract *linear
	outputNorm       layerNorm
}

// pooling says how the vectors of a text's tokens are combined.
type pooling uint8

const (
	poolMean  pooling = iota // their mean
	poolFirst                // the first token's vector, [CLS]
)

// Number of tokens whose attention is computed at a time. Storing all scores for a long text would take too much
// memory.
const scoreRows = 96

// workspace holds a batch's reusable buffers.
type workspace struct {
	x, mixed, qkv, wide  []float32 // the tokens' vectors and intermediate results
	keys, values, scores []float32
	tile, zeros          []float32
	fixed                fixedSpace
	sums                 [scoreRows]float32
}

// grow returns a slice of length n with arbitrary content, reusing s if possible.
func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// fit allocates memory for a batch with `tokens` tokens in total, where the longest text has `longest` tokens.
func (n *network) fit(w *workspace, tokens, longest int) {
	rows := tokens + n.kernel.rows // tiles may read past the last row
	w.x = grow(w.x, rows*n.hidden)
	w.mixed = grow(w.mixed, rows*n.hidden)
	w.qkv = grow(w.qkv, rows*3*n.hidden)
	w.wide = grow(w.wide, rows*n.intermediate)
	size, wide := n.hidden/n.heads, roundUp(longest, n.kernel.cols)
	w.keys = grow(w.keys, wide*size)
	w.values = grow(w.values, longest*roundUp(size, n.kernel.cols))
	w.scores = grow(w.scores, (scoreRows+n.kernel.rows)*wide)
	w.tile = grow(w.tile, n.kernel.rows*n.kernel.cols)
	if need := max(wide, roundUp(size, n.kernel.cols)); len(w.zeros) < need {
		w.zeros = make([]float32, need)
	}
}

// run computes each text's vector from its tokens and writes it to vectors. All texts' tokens form one matrix without
// padding; only attention treats the texts separately. between is called before each layer. run fails only if ctx is
// done.
func (n *network) run(ctx context.Context, w *workspace, texts [][]int32, vectors [][]float32, between func(context.Context)) error {
	n.fitTexts(w, texts)
	n.lookUp(w.x, texts)
	if err := n.encode(ctx, w, texts, n.layers, between); err != nil {
		return err
	}
	x := w.x
	for i, text := range texts {
		n.pooled(vectors[i], x[:len(text)*n.hidden])
		x = x[len(text)*n.hidden:]
	}
	return nil
}

// fitTexts allocates memory for a batch and returns the number of tokens in all texts.
func (n *network) fitTexts(w *workspace, texts [][]int32) (tokens int) {
	longest := 0
	for _, text := range texts {
		tokens += len(text)
		longest = max(longest, len(text))
	}
	n.fit(w, tokens, longest)
	return tokens
}

// encode feeds the tokens' vectors in w.x through the given layers.
func (n *network) encode(ctx context.Context, w *workspace, texts [][]int32, layers []layer, between func(context.Context)) error {
	tokens := 0
	for _, text := range texts {
		tokens += len(text)
	}
	for i := range layers {
		between(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		n.kernel.apply(layers[i].qkv, w, w.qkv, w.x, tokens)
		first := 0
		for _, text := range texts {
			n.attend(w, first, len(text), len(text))
			first += len(text)
		}
		n.feedForward(w, &layers[i], tokens)
	}
	return nil
}

// feedForward computes the part of a layer after attention, for the first rows of w.x and w.mixed.
func (n *network) feedForward(w *workspace, l *layer, rows int) {
	size := rows * n.hidden
	// qkv is no longer needed, so use its memory for this layer's output.
	n.kernel.apply(l.output, w, w.qkv, w.mixed, rows)
	l.attentionNorm.apply(n.kernel, w.x[:size], w.qkv)
	n.kernel.apply(l.expand, w, w.wide, w.x, rows)
	n.activation(w.wide[:rows*n.intermediate])
	n.kernel.apply(l.contract, w, w.mixed, w.wide, rows)
	l.outputNorm.apply(n.kernel, w.x[:size], w.mixed)
}

// lookUp writes the first layer's input, one vector per token.
func (n *network) lookUp(x []float32, texts [][]int32) {
	row := x
	for _, text := range texts {
		for i, token := range text {
			out := row[:n.hidden]
			row = row[n.hidden:]
			n.words.read(out, int(token))
			n.kernel.norm(&n.norm, out, n.positions[(n.firstPos+i)*n.hidden:][:n.hidden])
		}
	}
}

// attend computes attention for the first `queries` tokens of the text that starts in row first and has `tokens`
// tokens. For each head and each of these `queries` tokens, it mixes the values of all the text's tokens, weighted by
// how well the token's query matches their keys.
func (n *network) attend(w *workspace, first, tokens, queries int) {
	kn, hidden, size := n.kernel, n.hidden, n.hidden/n.heads
	wide := roundUp(tokens, kn.cols)
	keys := packed{k: size, n: wide, panels: w.keys, bias: w.zeros}
	values := packed{k: tokens, n: size, panels: w.values, bias: w.zeros}
	for head := range n.heads {
		from := w.qkv[first*3*hidden+head*size:]
		kn.packRows(w.keys, from[hidden:], 3*hidden, tokens, size)
		kn.packColumns(w.values, from[2*hidden:], 3*hidden, size, tokens)
		for row := 0; row < queries; row += scoreRows {
			rows := min(scoreRows, queries-row)
			kn.multiply(w.scores, wide, from[row*3*hidden:], 3*hidden, rows, &keys, w.tile)
			for i := range rows {
				w.sums[i] = kn.softmax(w.scores[i*wide:][:tokens])
			}
			mixed := w.mixed[(first+row)*hidden+head*size:]
			kn.multiply(mixed, hidden, w.scores, wide, rows, &values, w.tile)
			// Normalise the result instead of the softmax weights, because the result has fewer numbers.
			for i, sum := range w.sums[:rows] {
				scale := 1 / sum
				out := mixed[i*hidden:][:size]
				for j := range out {
					out[j] *= scale
				}
			}
		}
	}
}

// pooled computes a text's vector from its tokens' vectors and scales it to unit length.
func (n *network) pooled(vector, x []float32) {
	copy(vector, x)
	if n.pool == poolMean { // the sum is enough, because it is scaled to unit length below
		h := n.hidden
		for x = x[h:]; len(x) >= 4*h; x = x[4*h:] {
			a, b, c, d := x[:h], x[h:][:h], x[2*h:][:h], x[3*h:][:h]
			for i := range vector[:h] {
				vector[i] += (a[i] + b[i]) + (c[i] + d[i])
			}
		}
		for ; len(x) > 0; x = x[h:] {
			for i, v := range x[:h] {
				vector[i] += v
			}
		}
	}
	var sum float64
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		clear(vector) // a vector that cannot be compared counts as missing
		return
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range vector {
		vector[i] *= scale
	}
}
