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
)

const (
	dimensions = 384
	// rowsPerDocument is how many chunks a document has.
	rowsPerDocument = 100
	// parts is how many parts the documents are dealt to; a filter asks for one.
	parts = 100
	// filteredPart is which.
	filteredPart = 7
	// best is how many answers are asked for.
	best = 10
	// freshOnes is how many questions are asked once only, for each figure of them, and freshSets for how many figures there are some.
	freshOnes = 2_000
	freshSets = 4
)

// workload is what everyone is given.
type workload struct {
	vectors   [][]float32
	texts     []string
	questions []question
	fresh     []question // that are asked for the first time, once each: by vector and text alone
}

// question asks by a vector, by words, or by both.
type question struct {
	vector   []float32
	text     string // some words, for a search by both
	common   string // eight common words
	nearest  []int  // the truly nearest rows
	filtered []int  // those of the part that is filtered for
}

// partOf is the part that a row's document is dealt to.
func partOf(row int) int { return row / rowsPerDocument % parts }

// newWorkload makes chunks whose words follow Zipf's law, and vectors as sentence models make them: around topics and parts
// of topics, in dimensions of which the first tell most, with something that all have in common.
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
	vector := func() []float32 { return unit(around(centres[rng.IntN(len(centres))], 1)) }

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
	for i := range freshOnes * freshSets {
		w.fresh = append(w.fresh, question{vector: vector(), text: fmt.Sprintf("fresh%d %s", i, words(6))})
	}
	return w
}

// freshSet are the questions of one figure of those that are asked for the first time.
func (w *workload) freshSet(n int) []question { return w.fresh[n*freshOnes : (n+1)*freshOnes] }

func unit(v []float64) []float32 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / math.Sqrt(sum))
	}
	return out
}

// stopWords are the most common words, which tell the language.
var stopWords = strings.Fields("the of and to in is for that with was on by as at from it be are this which")

// word names the n-th most common word.
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

// nearestOf compares all rows that pass.
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
		if len(top) == best && s.score <= top[best-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, s, func(a, b scored) int {
			if a.score >= b.score {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, s)
		top = top[:min(len(top), best)]
	}
	out := make([]int, 0, len(top))
	for _, s := range top {
		out = append(out, s.row)
	}
	return out
}

// recall is which share of the wanted rows is among those found.
func recall(found, wanted []int) float64 {
	n := 0
	for _, row := range wanted {
		if slices.Contains(found, row) {
			n++
		}
	}
	return float64(n) / float64(max(len(wanted), 1))
}

// store writes the workload for the peers: texts by line, vectors as 32-bit floats one after the other.
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
		"dimensions": dimensions, "best": best, "rows_per_document": rowsPerDocument, "parts": parts,
		"filtered_part": filteredPart, "questions": questions, "fresh": fresh, "fresh_ones": freshOnes,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "workload.json"), data, 0o600)
}

// bytesOf is a vector as 32-bit floats, one after the other.
func bytesOf(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
