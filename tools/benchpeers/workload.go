package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
	"github.com/sluice/sluice/pkg/lists"
)

const (
	dimensions = 384
	// Number of chunks per document.
	rowsPerDocument = 100
	// Number of parts that the documents are split into. A filter selects one part.
	parts = 100
	// The part that filtered queries select.
	filteredPart = 7
	// Number of results per query.
	topK = 10
	// Some figures need questions that are asked only once, so each of these figures uses its own set. There are
	// uniqueSets sets of uniqueQuestions questions each.
	uniqueQuestions = 2_000
	uniqueSets      = 4
)

// workload is the data for every store.
type workload struct {
	vectors   [][]float32
	texts     []string
	questions []question
	fresh     []question // with only vector and text, to be asked once
}

// question is a query by vector, words or both.
type question struct {
	vector   []float32
	text     string // words for a hybrid search
	common   string // eight common words
	nearest  []int  // exact nearest rows
	filtered []int  // exact nearest rows in filteredPart
}

// partOf returns the part that a row's document belongs to.
func partOf(row int) int { return row / rowsPerDocument % parts }

// newWorkload creates chunks. Their words follow Zipf's law, and their vectors resemble a sentence model's: clustered
// by topic and subtopic, with decreasing variance per dimension and a common component.
func newWorkload(rows, questions int) *workload {
	rng := rand.New(rand.NewPCG(1, 2))
	spread := make([]float64, dimensions)
	for i := range spread {
		spread[i] = math.Pow(1+float64(i)/20, -0.6)
	}
	around := func(centre []float64, width float64) []float64 {
		v := make([]float64, dimensions)
		for i := range v {
			v[i] = width * spread[i] * rng.NormFloat64()
			if centre != nil {
				v[i] += centre[i]
			}
		}
		return v
	}
	common := around(nil, 0.35)
	var centres [][]float64
	for range 400 {
		topic := around(common, 0.8)
		for range 20 {
			centres = append(centres, around(topic, 0.8))
		}
	}
	vector := func() []float32 { return normalise(around(centres[rng.IntN(len(centres))], 1)) }

	zipf := rand.NewZipf(rng, 1.1, 8, 60_000)
	words := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = word(zipf.Uint64())
		}
		return strings.Join(out, " ")
	}
	w := &workload{}
	for i := range rows {
		w.vectors = append(w.vectors, vector())
		w.texts = append(w.texts, fmt.Sprintf("item%d %s", i, words(80)))
	}
	for i := range questions {
		q := question{vector: vector(), text: fmt.Sprintf("question%d %s", i, words(6))}
		names := make([]string, 8)
		for j := range names {
			names[j] = word(uint64(len(stopWords)) + rng.Uint64N(50))
		}
		q.common = strings.Join(names, " ")
		q.nearest = w.nearestOf(q.vector, func(int) bool { return true })
		q.filtered = w.nearestOf(q.vector, func(row int) bool { return partOf(row) == filteredPart })
		w.questions = append(w.questions, q)
	}
	for i := range uniqueQuestions * uniqueSets {
		w.fresh = append(w.fresh, question{vector: vector(), text: fmt.Sprintf("fresh%d %s", i, words(6))})
	}
	return w
}

// uniqueSet returns the n-th set of questions to be asked once.
func (w *workload) uniqueSet(n int) []question {
	return w.fresh[n*uniqueQuestions : (n+1)*uniqueQuestions]
}

func normalise(v []float64) []float32 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return lists.Map(v, func(x float64) float32 { return float32(x / math.Sqrt(sum)) })
}

// The most common words, which are enough to identify the text as English.
var stopWords = strings.Fields("the of and to in is for that with was on by as at from it be are this which")

// word returns the n-th most common word.
func word(n uint64) string {
	if n < uint64(len(stopWords)) {
		return stopWords[n]
	}
	var b strings.Builder
	for n += 30; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
		b.WriteByte("aeiou"[n%5])
	}
	return b.String()
}

// nearestOf returns the rows nearest to the query among those that `passes` accepts. The search is exact.
func (w *workload) nearestOf(query []float32, passes func(row int) bool) []int {
	type scored struct {
		row   int
		score float32
	}
	var top []scored
	for row, v := range w.vectors {
		if !passes(row) {
			continue
		}
		s := scored{row, quant.Dot(query, v)}
		if len(top) == topK && s.score <= top[topK-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, s, func(a, b scored) int {
			if a.score >= b.score {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, s)
		top = top[:min(len(top), topK)]
	}
	return lists.Map(top, func(s scored) int { return s.row })
}

// recall returns the fraction of rows in `wanted` that also appear in `found`.
func recall(found, wanted []int) float64 {
	n := 0
	for _, row := range wanted {
		if slices.Contains(found, row) {
			n++
		}
	}
	return float64(n) / float64(max(len(wanted), 1))
}

// store writes the workload for the peers: texts one per line, and vectors as consecutive 32-bit floats.
func (w *workload) store(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "texts.txt"), []byte(strings.Join(w.texts, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "vectors.f32"))
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	for _, v := range w.vectors {
		if _, err := out.Write(bytesOf(v)); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	type asked struct {
		Vector   []float32 `json:"vector"`
		Common   string    `json:"common"`
		Nearest  []int     `json:"nearest"`
		Filtered []int     `json:"filtered"`
	}
	var questions []asked
	for _, q := range w.questions {
		questions = append(questions, asked{q.vector, q.common, q.nearest, q.filtered})
	}
	var fresh []string
	for _, q := range w.fresh {
		fresh = append(fresh, q.text)
	}
	data, err := json.Marshal(map[string]any{
		"dimensions": dimensions, "best": topK, "rows_per_document": rowsPerDocument, "parts": parts,
		"filtered_part": filteredPart, "questions": questions, "fresh": fresh, "fresh_ones": uniqueQuestions,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "workload.json"), data, 0o600)
}

// bytesOf returns a vector as consecutive 32-bit floats.
func bytesOf(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
