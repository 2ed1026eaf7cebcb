package extractive

import (
	"github.com/sluice/sluice/pkg/domain"
)

// evidence is what speaks for a sentence being the answer: shares of the weight of the question's words, and how well the
// fragment was found.
type evidence struct {
	own    float64 // words in the sentence itself, or in a heading
	before float64 // other words, in the sentence before: an answer often follows the one that names the subject
	near   float64 // words that stand together in the question and here
	names  float64 // names of the question that the fragment and its heading lack, of all names, from -1 to 0
	score  float64 // of the fragment
	rank   float64 // the fragment's score, of the best one's
	value  float64 // 1: it has a value of the kind that is asked for, -1: it has none, 0: none is asked for
	scrap  bool    // a few words without an end: a heading, a label

	strange bool // the fragment and what else was found of its datasource have none of the question's names
	told    bool // it is an entry or a row that holds the question's rarest word
	certain bool // it is the row of the code that the question names
}

// Weights of the evidence, fitted to questions in ten languages so that the sentence with the answer scores above the
// others of its fragments. Only their proportions matter. docs/answers.md says how they do on questions that they were not
// fitted to.
const (
	ownWeight     = 6.0
	beforeWeight  = 1.5
	nearWeight    = 2.0
	namesWeight   = 0.9
	scoreWeight   = 2.3
	rankWeight    = 4.5
	valueWeight   = 0.7
	scrapWeight   = -3.0 // not fitted: a heading is no answer
	strangeWeight = -2.0 // not fitted: another city's date is no answer
)

// total adds the evidence up.
func (e evidence) total() float64 {
	sum := ownWeight*e.own + beforeWeight*e.before + nearWeight*e.near + namesWeight*e.names +
		scoreWeight*e.score + rankWeight*e.rank + valueWeight*e.value
	if e.scrap {
		sum += scrapWeight
	}
	if e.strange {
		sum += strangeWeight
	}
	return sum
}

// Weights of what tells questions that the documents answer from those that they do not, fitted to questions put to the
// documents that they were made for and to others of the same collections. Their sum is the logarithm of the odds.
const (
	answeredBase    = -3.5
	answeredHeld    = 2.6 // words in the sentence or the one before
	answeredNear    = 4.6
	answeredNames   = 2.0
	answeredMissing = 0.8  // for a value of the kind that is asked for, where there is none
	answeredBest    = 3.8  // the best fragment's score
	answeredAhead   = 5.3  // how far it is above the second one's
	answeredAtLeast = -0.5 // the logarithm of the odds from which there is an answer

	answeredTold = 0.8 // not fitted: what is asked for in vain of a row is told by its rarest word already

	answeredStrange = 6.0 // not fitted: more than all but the best of other evidence makes good for

	heldAtLeast     = 0.2 // of the question's words, whatever else speaks for an answer
	scoreOfNoSecond = 0.2 // at least what a second fragment would have where none was good enough
	mostAhead       = 0.3 // how far at most the only fragment is taken to be above a second one
)

// answered reports whether the best sentence is likely to answer, given the fragments that were found.
func (e evidence) answered(fragments []domain.Fragment) bool {
	best := fragments[0].Score
	second := min(best, max(scoreOfNoSecond, best-mostAhead))
	if len(fragments) > 1 {
		second = fragments[1].Score
	}
	odds := answeredAtLeast
	if e.told {
		odds -= answeredTold
	}
	if e.strange {
		odds += answeredStrange
	}
	return e.certain || e.own+e.before >= heldAtLeast &&
		answeredBase+answeredHeld*(e.own+e.before)+answeredNear*e.near+answeredNames*e.names+answeredMissing*min(e.value, 0)+
			answeredBest*best+answeredAhead*(best-second) >= odds
}
