package transformer

import (
	"context"
	"math"
)

// network is the trained part of a model, ready to be run. It is not changed after it was made.
type network struct {
	kernel       *kernel
	hidden       int // length of a token's vector
	heads        int
	intermediate int
	activation   func([]float32)

	words     *table    // one row per token
	positions []float32 // one row per position, with what is added to every token of a single text
	firstPos  int       // the row of the first token's position
	norm      layerNorm

	layers []layer
	pool   pooling
}

// layer is one block of attention and feed-forward.
type layer struct {
	qkv, output      *linear // queries (scaled already), keys and values side by side
	attentionNorm    layerNorm
	expand, contract *linear
	outputNorm       layerNorm
}

// pooling says how the vectors of a text's tokens become the text's.
type pooling uint8

const (
	poolMean  pooling = iota // their mean
	poolFirst                // that of the first, [CLS]
)

// scoreRows is how many tokens' attention is worked out at a time; it bounds the space for the scores of a long text.
const scoreRows = 96

// workspace is the space for one batch; it is used for one after the other.
type workspace struct {
	x, mixed, qkv, wide  []float32 // the tokens' vectors and what they become on the way
	keys, values, scores []float32
	tile, zeros          []float32
	fixed                fixedSpace
	sums                 [scoreRows]float32
}

// grow returns a slice of length n whose content does not matter, s itself if that is long enough.
func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// fit makes room for tokens in all, of which the longest text has longest.
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

// run writes the vector of each text, given as its tokens, to vectors. The tokens of all texts form one matrix without
// padding; only attention looks at each by itself. between is called before each layer. The only error is that of ctx.
func (n *network) run(ctx context.Context, w *workspace, texts [][]int32, vectors [][]float32, between func(context.Context)) error {
	tokens, longest := 0, 0
	for _, text := range texts {
		tokens += len(text)
		longest = max(longest, len(text))
	}
	n.fit(w, tokens, longest)
	n.lookUp(w.x, texts)
	size := tokens * n.hidden
	for i := range n.layers {
		between(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &n.layers[i]
		n.kernel.apply(l.qkv, w, w.qkv, w.x, tokens)
		first := 0
		for _, text := range texts {
			n.attend(w, first, len(text))
			first += len(text)
		}
		// qkv is done with; its space takes the sum.
		n.kernel.apply(l.output, w, w.qkv, w.mixed, tokens)
		l.attentionNorm.apply(n.kernel, w.x[:size], w.qkv)
		n.kernel.apply(l.expand, w, w.wide, w.x, tokens)
		n.activation(w.wide[:tokens*n.intermediate])
		n.kernel.apply(l.contract, w, w.mixed, w.wide, tokens)
		l.outputNorm.apply(n.kernel, w.x[:size], w.mixed)
	}
	x := w.x
	for i, text := range texts {
		n.pooled(vectors[i], x[:len(text)*n.hidden])
		x = x[len(text)*n.hidden:]
	}
	return nil
}

// lookUp writes the vectors with which the tokens enter the first layer.
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

// attend mixes the values of one text, whose tokens begin at row first: each token's by how its query and the others'
// keys agree, head by head.
func (n *network) attend(w *workspace, first, tokens int) {
	kn, hidden, size := n.kernel, n.hidden, n.hidden/n.heads
	wide := roundUp(tokens, kn.cols)
	keys := packed{k: size, n: wide, panels: w.keys, bias: w.zeros}
	values := packed{k: tokens, n: size, panels: w.values, bias: w.zeros}
	for head := range n.heads {
		from := w.qkv[first*3*hidden+head*size:]
		kn.packRows(w.keys, from[hidden:], 3*hidden, tokens, size)
		kn.packColumns(w.values, from[2*hidden:], 3*hidden, size, tokens)
		for row := 0; row < tokens; row += scoreRows {
			rows := min(scoreRows, tokens-row)
			kn.multiply(w.scores, wide, from[row*3*hidden:], 3*hidden, rows, &keys, w.tile)
			for i := range rows {
				w.sums[i] = kn.soften(w.scores[i*wide:][:tokens])
			}
			mixed := w.mixed[(first+row)*hidden+head*size:]
			kn.multiply(mixed, hidden, w.scores, wide, rows, &values, w.tile)
			// The weights are brought to 1 together here, where there are fewer numbers.
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

// pooled writes the text's vector, of unit length, given those of its tokens.
func (n *network) pooled(vector, x []float32) {
	copy(vector, x)
	if n.pool == poolMean { // the length is normalised away below, so that the sum does
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
		clear(vector) // a vector that cannot be compared is the same as none
		return
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range vector {
		vector[i] *= scale
	}
}
