package eval

import (
	"maps"
	"math"
	"slices"
)

// Grades maps a question's relevant documents to their grades, which are all positive.
type Grades map[string]int

// Relevant returns the question's documents with a grade above 0.
func (j Judgements) Relevant(question string) Grades {
	g := Grades{}
	for document, grade := range j[question] {
		if grade > 0 {
			g[document] = grade
		}
	}
	return g
}

// Judged returns the questions with at least one relevant document, sorted. All other questions have no correct answer,
// so they aren't scored.
func (j Judgements) Judged() []string {
	var questions []string
	for q, documents := range j {
		for _, grade := range documents {
			if grade > 0 {
				questions = append(questions, q)
				break
			}
		}
	}
	slices.Sort(questions)
	return questions
}

// NDCG returns the normalised discounted cumulative gain of the first k items of a ranking, from 0 to 1. As in
// trec_eval's ndcg_cut, the gains are the grades. The result is 0 if no document is relevant. The ranking must not
// contain duplicates.
func NDCG(ranking []string, g Grades, k int) float64 {
	var gain, ideal float64
	for i, document := range first(ranking, k) {
		gain += float64(g[document]) / math.Log2(float64(i+2))
	}
	grades := slices.SortedFunc(maps.Values(g), func(a, b int) int { return b - a })
	for i, grade := range grades[:min(k, len(grades))] {
		ideal += float64(grade) / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}

// Recall returns the fraction of the relevant documents found in the first k items of a ranking, or 0 if no document is
// relevant.
func Recall(ranking []string, g Grades, k int) float64 {
	if len(g) == 0 {
		return 0
	}
	found := 0
	for _, document := range first(ranking, k) {
		if g[document] > 0 {
			found++
		}
	}
	return float64(found) / float64(len(g))
}

// MRR returns the reciprocal rank of the first relevant document among the first k items of a ranking, or 0 if there is
// none.
func MRR(ranking []string, g Grades, k int) float64 {
	for i, document := range first(ranking, k) {
		if g[document] > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func first(ranking []string, k int) []string { return ranking[:min(k, len(ranking))] }
