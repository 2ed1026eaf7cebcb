package transformer

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"
)

// BenchmarkFiftyPairs scores 50 pairs of 128 tokens each, using randomly initialised networks the size of
// ms-marco-MiniLM-L2-v2 and -L6-v2.
func BenchmarkFiftyPairs(b *testing.B) {
	pairs := make([]pair, 50)
	for i := range pairs {
		pairs[i].passage = 12
		for j := range 128 {
			pairs[i].tokens = append(pairs[i].tokens, int32(4+(i*131+j*17)%900))
		}
	}
	size := batchTokens / 128 // pairs per batch
	for _, layers := range []int{2, 6} {
		n, h := randomCrossEncoder(b, layers)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/layers=%d/threads=%d", n.kernel.name, layers, threads), func(b *testing.B) {
				spaces := make(chan *workspace, threads)
				for range threads {
					spaces <- &workspace{}
				}
				for b.Loop() {
					var group errgroup.Group
					group.SetLimit(threads)
					for first := 0; first < len(pairs); first += size {
						batch := pairs[first:min(first+size, len(pairs))]
						group.Go(func() error {
							w := <-spaces
							defer func() { spaces <- w }()
							return n.score(b.Context(), w, batch, h, make([]float32, len(batch)))
						})
					}
					if err := group.Wait(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// randomCrossEncoder returns a network with 384 dimensions and a head.
func randomCrossEncoder(b *testing.B, layers int) (*network, *head) {
	b.Helper()
	s := &settings{kind: "bert", hidden: 384, layers: layers, heads: 12, intermediate: 1536, activation: "gelu", epsilon: 1e-12, words: 1000, positions: 512}
	r := rand.New(rand.NewPCG(1, 2))
	tensors := map[string]tensor{}
	add := func(name string, shape ...int) {
		size := 1
		for _, d := range shape {
			size *= d
		}
		t := tensor{dtype: float32s, shape: shape}
		for range size {
			t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(float32(r.NormFloat64()/20)))
		}
		tensors[name] = t
	}
	linear := func(name string, n, k int) { add(name+".weight", n, k); add(name+".bias", n) }
	norm := func(name string) { add(name+".weight", s.hidden); add(name+".bias", s.hidden) }
	add("bert.embeddings.word_embeddings.weight", s.words, s.hidden)
	add("bert.embeddings.position_embeddings.weight", s.positions, s.hidden)
	add("bert.embeddings.token_type_embeddings.weight", 2, s.hidden)
	norm("bert.embeddings.LayerNorm")
	for i := range layers {
		name := fmt.Sprintf("bert.encoder.layer.%d.", i)
		for _, part := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			linear(name+"attention."+part, s.hidden, s.hidden)
		}
		norm(name + "attention.output.LayerNorm")
		linear(name+"intermediate.dense", s.intermediate, s.hidden)
		linear(name+"output.dense", s.hidden, s.intermediate)
		norm(name + "output.LayerNorm")
	}
	linear("bert.pooler.dense", s.hidden, s.hidden)
	linear("classifier", 1, s.hidden)
	n, err := assemble(s, tensors, kernels()[0])
	if err != nil {
		b.Fatal(err)
	}
	h, err := assembleHead(s, n, tensors, true)
	if err != nil {
		b.Fatal(err)
	}
	return n, h
}
