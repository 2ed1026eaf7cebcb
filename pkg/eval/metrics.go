package eval

import (
	"math"
	"slices"
)

// Grades are the documents that are relevant to one question, and how much: above 0. Others have no entry.
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

// Judged lists the questions that have a relevant document, in order. Only they are scored: a question to which nothing is
// relevant cannot be answered well or badly.
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

// NDCG is the normalised discounted cumulative gain of the first k of a ranking, with the grades themselves as gains, as
// trec_eval's ndcg_cut has it: 0 to 1, and 0 where nothing is relevant. No document may be in the ranking twice.
func NDCG(ranking []string, g Grades, k int) float64 {
	var gain, ideal float64
	for i, document := range first(ranking, k) {
		gain += float64(g[document]) / math.Log2(float64(i+2))
	}
	grades := make([]int, 0, len(g))
	for _, grade := range g {
		grades = append(grades, grade)
	}
	slices.SortFunc(grades, func(a, b int) int { return b - a })
	for i, grade := range grades[:min(k, len(grades))] {
		ideal += float64(grade) / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}

// Recall is the share of the relevant documents that is among the first k of a ranking, and 0 where nothing is relevant.
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

// MRR is one divided by the place of the first relevant document among the first k of a ranking, and 0 if there is none.
func MRR(ranking []string, g Grades, k int) float64 {
	for i, document := range first(ranking, k) {
		if g[document] > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func first(ranking []string, k int) []string { return ranking[:min(k, len(ranking))] }
