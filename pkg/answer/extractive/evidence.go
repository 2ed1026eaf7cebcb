package extractive

import (
	"cmp"
	"slices"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// evidence holds the features that show whether a sentence is the answer: which of the question's words it contains,
// weighted by rarity, and how well its fragment matched.
type evidence struct {
	own    float64 // share of the question's words that are in the sentence itself or a heading
	before float64 // share that is only in the previous sentence, which often names the subject
	near   float64 // share of neighbouring word pairs that are also close together in the sentence
	names  float64 // share of the question's names missing from the fragment and its heading, negated: -1 to 0
	score  float64 // the fragment's score
	rank   float64 // the fragment's score relative to the best one
	scrap  bool    // whether it is just a few words without a full stop: a heading or label

	certain bool // whether it is the row with the code named in the question
}

// Weights of the evidence. Only their ratios matter. They were fitted to questions in ten languages, so that the
// sentence with the answer scores highest in its fragment. docs/answers.md reports the results on held-out questions.
const (
	ownWeight    = 6.0
	beforeWeight = 1.5
	nearWeight   = 2.0
	namesWeight  = 0.9
	scoreWeight  = 2.3
	rankWeight   = 4.5
	scrapWeight  = -3.0 // not fitted, because a heading is never an answer
)

// total returns the weighted sum of the evidence.
func (e evidence) total() float64 {
	sum := ownWeight*e.own + beforeWeight*e.before + nearWeight*e.near + namesWeight*e.names +
		scoreWeight*e.score + rankWeight*e.rank
	if e.scrap {
		sum += scrapWeight
	}
	return sum
}

// Weights for a classifier that decides whether the documents answer a question. The weighted sum is the log odds of an
// answer. They were fitted to questions about documents with and without the answer, including near misses; see
// docs/history/answers.md.
const (
	answeredBase  = -6.0
	answeredCover = 6.1  // share of the topics in the best fragment
	answeredBest  = 2.7  // the best fragment's score
	answeredAhead = 10.0 // lead of the best score over the second

	unspacedCover = 0.23 // added to the share in scripts without spaces, in which fewer terms match
	minCover      = 0.3  // minimum share, whatever the other evidence

	answeredAtLeast = -1.3 // minimum log odds of an answer
	furtherAtLeast  = -2.5 // minimum log odds for a part of a question if another part is answered

	scoreOfNoSecond = 0.2 // minimum score assumed for the second fragment if only one was found
	maxAhead        = 0.3 // maximum lead assumed for the best fragment if only one was found
)

// lead holds the best fragment's relevance and its lead over the second best.
type lead struct{ best, ahead float64 }

// leadOf returns the best fragment's lead. There must be at least one fragment.
func leadOf(fragments []domain.Fragment, scores []chat.FragmentScores) lead {
	relevances := make([]float64, len(fragments))
	for i, f := range fragments {
		relevances[i] = f.Score
		if scores != nil {
			relevances[i] = scores[i].Relevance
		}
	}
	slices.SortFunc(relevances, func(a, b float64) int { return cmp.Compare(b, a) })
	best := relevances[0]
	if len(relevances) == 1 {
		return lead{best, min(maxAhead, max(0, best-scoreOfNoSecond))}
	}
	return lead{best, best - relevances[1]}
}

// isAnswered reports whether the pages are likely to answer the question with these quotes.
func (q question) isAnswered(pages []page, quotes []sentence, found lead, state partState) bool {
	about := q.topicsOf("")
	at, _ := q.best(pages, about)
	if at < 0 || q.lacksSubject(pages, at, about) {
		return false
	}
	texts := []wording{pages[at].own, pages[at].title}
	for _, s := range quotes {
		if s.fragment == at {
			texts = append(texts, s.said) // may contain a value of the requested kind
		}
	}
	if len(texts) == 2 && !q.namesShareRow(pages[at], about) {
		return false
	}
	cover := q.coverageOf(about, texts...)
	if q.unspaced {
		cover += unspacedCover
	}
	if cover < minCover {
		return false
	}
	odds := answeredBase + answeredCover*cover + answeredBest*found.best + answeredAhead*found.ahead
	if state == furtherPart {
		return odds >= furtherAtLeast
	}
	return odds >= answeredAtLeast
}
