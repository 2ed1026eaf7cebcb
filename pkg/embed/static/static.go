package static

import (
	"context"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/sluice/sluice/pkg/embed"
)

// The model's ID and dimensions. Both are stored in datastores, so a retrained table needs a new ID.
const (
	ID         = "builtin-en-256-v1"
	Dimensions = 256
)

// Maximum number of tokens per text; longer texts are truncated. Within this limit, the integer sums in mean can't
// overflow.
const maxTokens = 16_384

// Embedder is the built-in embed.Embedder. It is safe for concurrent use and does not have to be closed. All embedders
// in a process share one table.
type Embedder struct {
	table *table
}

var _ embed.Embedder = (*Embedder)(nil)

// New returns the built-in embedder. The first call parses the embedded table. New fails only if the table is damaged.
func New() (*Embedder, error) {
	t, err := load()
	if err != nil {
		return nil, fmt.Errorf("reading the built-in embedding model: %w", err)
	}
	return &Embedder{table: t}, nil
}

// Model implements embed.Embedder.
func (e *Embedder) Model() embed.Model { return embed.Model{ID: ID, Dimensions: Dimensions} }

// Embed implements embed.Embedder. It treats queries and passages alike. A text without known tokens has a zero vector.
// Embed fails only if ctx is done.
func (e *Embedder) Embed(ctx context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	backing := make([]float32, len(texts)*Dimensions)
	s := scratchPool.Get().(*scratch)
	defer scratchPool.Put(s)
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embedding text %d of %d: %w", i+1, len(texts), err)
		}
		vectors[i] = backing[i*Dimensions : (i+1)*Dimensions : (i+1)*Dimensions]
		s.pieces = e.table.words.appendPieces(s.pieces[:0], text, maxTokens)
		e.table.mean(vectors[i], s)
	}
	return vectors, nil
}

// scratch holds the buffers of one call to Embed.
type scratch struct {
	pieces []piece
	four   rows
	sums   [Dimensions]int32
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// mean writes the weighted mean of the pieces' vectors to out, scaled to unit length. Because of the scaling, constant
// factors don't matter. The sums can therefore be exact integers and don't have to be divided by the sum of the
// weights.
func (t *table) mean(out []float32, s *scratch) {
	clear(s.sums[:])
	// Add four rows at a time, so that the sums are read and written only a quarter as often.
	for start := 0; start < len(s.pieces); start += 4 {
		for i := range s.four.vectors {
			s.four.vectors[i], s.four.weights[i] = t.row(s.pieces, start+i)
		}
		addRows(&s.sums, &s.four)
	}
	var squares float64
	for _, sum := range s.sums {
		squares += float64(sum) * float64(sum)
	}
	if squares == 0 {
		return
	}
	scale := 1 / math.Sqrt(squares)
	for d, sum := range s.sums {
		out[d] = float32(float64(sum) * scale)
	}
}

// rows holds four int8 vectors and their weights, from 0 to 255.
type rows struct {
	vectors [4]*[Dimensions]byte
	weights [4]int16
}

// addRowsPortable adds the weighted vectors to the sums.
func addRowsPortable(sums *[Dimensions]int32, r *rows) {
	a, b, c, d := r.vectors[0], r.vectors[1], r.vectors[2], r.vectors[3]
	wa, wb, wc, wd := int32(r.weights[0]), int32(r.weights[1]), int32(r.weights[2]), int32(r.weights[3])
	for i := range sums {
		sums[i] += wa*int32(int8(a[i])) + wb*int32(int8(b[i])) + wc*int32(int8(c[i])) + wd*int32(int8(d[i]))
	}
}

// row returns the vector and weight of pieces[i]. The weight is 0 for unknown pieces and past the end.
func (t *table) row(pieces []piece, i int) (vector *[Dimensions]byte, weight int16) {
	id := 0
	if i < len(pieces) && pieces[i].id != unknown {
		id = int(pieces[i].id)
		weight = int16(t.weights[id])
	}
	vectors := t.vectors[id*Dimensions:][:Dimensions]
	return (*[Dimensions]byte)(unsafe.Pointer(unsafe.StringData(vectors))), weight // callers must not modify the bytes
}
