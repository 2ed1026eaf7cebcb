package followup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/coverage"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/question"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Question is a question in a conversation, with its search queries.
type Question struct {
	Alone     string // the question without text added by clients
	InContext string // the question with the subject it may refer to; "" if there is no such subject

	history   []chat.Turn
	refers    bool // whether its syntax refers back
	rewritten bool // whether a model wrote InContext
}

// New returns a question with its search queries. InContext is set if the question refers to earlier messages. It is
// also set if the question is short and contains no names, because it may then be about the previous question's
// subject.
func New(asked string, history []chat.Turn) Question {
	q := Question{Alone: language.WithoutClientText(asked), history: history}
	previous := previousQuestion(history)
	if previous == "" {
		return q
	}
	q.refers = refersBack(q.Alone, language.Detect(previous))
	if !q.refers && (!isShort(q.Alone) || len(language.Names(q.Alone)) > 0) {
		return q
	}
	if inContext := searchQuery(q.Alone, history); inContext != q.Alone {
		q.InContext = inContext
	}
	return q
}

// previousQuestion returns a conversation's last question, or "" if there is none.
func previousQuestion(history []chat.Turn) string {
	for _, t := range slices.Backward(history) {
		if t.Role == domain.RoleUser {
			return t.Text
		}
	}
	return ""
}

func isShort(asked string) bool {
	if strings.ContainsFunc(asked, language.IsUnspaced) {
		return utf8.RuneCountInString(asked) <= followUpCharacters
	}
	words := language.Words(asked)
	return len(words) > 0 && len(words) <= followUpWords
}

// HasTopic reports whether the question contains a word worth searching for. If not, only the query in context is
// useful.
func (q Question) HasTopic() bool {
	return !hasNoTopic(language.Words(q.Alone), language.Detect(q.Alone))
}

// Parts returns the retrieve.Request.Parts for InContext. It returns nil if a model rewrote the question or if the
// question has several parts. Otherwise, it returns an empty list, so that the search doesn't split a query that
// contains words from earlier questions.
func (q Question) Parts() []string {
	if q.rewritten || question.Parts(q.Alone) != nil {
		return nil
	}
	return []string{}
}

// Thresholds for choosing between the results for the question alone and in context. A fragment's coverage of a text is
// the weighted fraction of the text's content words that the fragment contains.
const (
	sameFragment = 0.5  // a fragment that covers this much of the earlier subject is about that subject
	tolerance    = 0.15 // how much less of the question the result in context may cover
	wellCovered  = 0.6  // minimum coverage of the question by a result that answers it without a subject
	uncovered    = 0.4  // below this coverage, a result does not answer the question
	fewer        = 0.5  // minimum coverage by the result in context, relative to the result for the question alone
)

// PrefersContext reports whether inContext, the search result in context, fits the question better than `alone`, the
// result for the question alone.
//
// If the question lacks a subject ("how much does it weigh?", "and in winter?"), inContext fits better unless `alone`
// covers the question's content words and inContext does not. If the question may have a subject of its own ("and what
// does JIT mean?"), inContext fits better in two cases:
//
//   - A fragment in inContext is about the earlier subject and covers the question's content words about as well as the
//     best fragment in `alone` does.
//   - The question refers back or was rewritten, and `alone` does not cover its content words.
func (q Question) PrefersContext(alone, inContext retrieve.Result) bool {
	a, c := coverage.Read(alone), coverage.Read(inContext)
	words := c.Words(q.Alone, refersOrContinues)
	if words.Len() == 0 || a.Empty() {
		return true
	}
	if c.Empty() {
		return false
	}
	inAlone, none := a.Best(a.Words(q.Alone, refersOrContinues), coverage.Words{}, 0), coverage.Words{}
	if q.lacksSubject() {
		return words.Len() < 2 || inAlone < wellCovered || c.Best(words, none, 0) > fewer*inAlone
	}
	subject := c.Words(q.InContext, refersOrContinues).Without(words)
	if subject.Len() == 0 {
		return q.rewritten
	}
	joint := c.Best(words, subject, sameFragment)
	return joint > 0 && joint >= inAlone-tolerance || (q.refers || q.rewritten) && inAlone < uncovered
}

// lacksSubject reports whether the question refers to an earlier message, asks "how many" without a noun, or continues
// an earlier question without a question word.
func (q Question) lacksSubject() bool {
	return hasReference(q.Alone) || countsWithoutNoun(language.Words(q.Alone)) || q.refers && !question.HasInterrogative(q.Alone)
}

// refersOrContinues reports whether a word refers to or continues earlier messages.
func refersOrContinues(word string) bool {
	return referenceWords[word] != nil || continuationWords[word] != nil
}
