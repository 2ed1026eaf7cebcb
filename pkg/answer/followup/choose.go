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
	Alone     string // the question, without text that clients add
	InContext string // the question with what it may refer to; "" if it stands alone

	history   []chat.Turn
	refers    bool // its syntax says that it refers back
	rewritten bool // InContext was written by a model
}

// New returns a question with its queries. Only short questions are searched in context: those that refer back, and
// those that name nothing and may therefore continue with the subject of the previous question.
func New(asked string, history []chat.Turn) Question {
	q := Question{Alone: language.WithoutClientText(asked), history: history}
	previous := previousQuestion(history)
	if previous == "" {
		return q
	}
	q.refers = refersBack(q.Alone, language.Detect(previous))
	if !q.refers && (!short(q.Alone) || len(language.Names(q.Alone)) > 0) {
		return q
	}
	if inContext := searchQuery(q.Alone, history); inContext != q.Alone {
		q.InContext = inContext
	}
	return q
}

// previousQuestion returns the last question of a conversation, or "" if there is none.
func previousQuestion(history []chat.Turn) string {
	for _, t := range slices.Backward(history) {
		if t.Role == domain.RoleUser {
			return t.Text
		}
	}
	return ""
}

// short reports whether a question has few words or, in scripts without spaces, few characters.
func short(asked string) bool {
	if strings.ContainsFunc(asked, language.IsUnspaced) {
		return utf8.RuneCountInString(asked) <= followUpCharacters
	}
	words := language.Words(asked)
	return len(words) > 0 && len(words) <= followUpWords
}

// HasTopic reports whether the question contains a word worth searching for. Otherwise it can be searched only in
// context.
func (q Question) HasTopic() bool {
	return !hasNoTopic(language.Words(q.Alone), language.Detect(q.Alone))
}

// Parts returns the parts of the query InContext, as in retrieve.Request. A query that consists of words of an earlier
// question and a question of one part is searched as one.
func (q Question) Parts() []string {
	if q.rewritten || question.Parts(q.Alone) != nil {
		return nil
	}
	return []string{}
}

// Thresholds for the choice between the two results. All of them are shares of content words, by weight.
const (
	sameFragment = 0.5  // of the earlier subject: a fragment with this share is about it
	tolerance    = 0.15 // by which the result in context may cover less of the question than the other
	wellCovered  = 0.6  // of the question: with this share, a result answers it without a subject
	uncovered    = 0.4  // of the question: below this share, a result says nothing about it
	fewer        = 0.5  // ratio at which the result in context covers much less than the other
)

// PrefersContext reports whether the result of the search in context fits the question better than the result of the
// search for the question alone.
//
// If the question lacks a subject ("how much does it weigh?", "and in winter?"), the result in context fits, unless only
// the other covers the question's content words. If the question may have a subject of its own ("and what does JIT
// mean?"), the result in context fits if one of its fragments is about the old subject and covers the question's
// content words as well as the best fragment of the other result, or if neither covers them.
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

// lacksSubject reports whether the question contains a word that stands for something said before, or only continues an
// earlier question without asking anything itself.
func (q Question) lacksSubject() bool {
	return hasReference(q.Alone) || countsWithoutNoun(language.Words(q.Alone)) || q.refers && !question.HasInterrogative(q.Alone)
}

// refersOrContinues reports whether a word refers to earlier messages or continues them.
func refersOrContinues(word string) bool {
	return referenceWords[word] != nil || continuationWords[word] != nil
}
