// Package corpus generates documents in common formats for ingestion benchmarks. The n-th document is the same in every
// run.
package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// kind is a document format and its percentage of all documents.
type kind struct {
	extension string
	share     int
	write     func(*author, int) ([]byte, error) // writes roughly this many words
}

func kinds() []kind {
	return []kind{
		{"pdf", 25, pdf}, {"docx", 20, docx}, {"pptx", 6, pptx}, {"xlsx", 6, xlsx}, {"html", 15, html},
		{"md", 12, markdown}, {"txt", 10, plain}, {"csv", 3, csv}, {"json", 3, jsonArray},
	}
}

// Write writes n documents to a directory, creating it if necessary.
func Write(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		k := kindOf(i)
		a := newAuthor(uint64(i))
		data, err := k.write(a, a.length())
		if err != nil {
			return fmt.Errorf("making document %d (%s): %w", i, k.extension, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("document-%04d.%s", i, k.extension)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kindOf returns document i's format. Any hundred consecutive documents contain each format's exact percentage.
func kindOf(i int) kind {
	at := i * 37 % 100 // 37 and 100 are coprime
	for _, k := range kinds() {
		if at < k.share {
			return k
		}
		at -= k.share
	}
	panic("corpus: the shares do not add up to a hundred")
}

// author generates a document's text.
type author struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newAuthor(seed uint64) *author {
	rng := rand.New(rand.NewPCG(seed, 7))
	return &author{rng, rand.NewZipf(rng, 1.08, 6, 20_000)}
}

// length returns a random number of words. Half of the documents have fewer than 1,200, and one in twenty has more than
// 6,000.
func (a *author) length() int {
	return min(max(int(1200*math.Exp(a.rng.NormFloat64())), 80), 20_000)
}
