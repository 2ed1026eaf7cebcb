// Package followup determines two search queries for a question in a conversation: one for the question alone, and one
// for the question in context. The second is written by a model or adds words from earlier questions. The package also
// decides which search result to use. Package answer uses it.
package followup

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/wordset"
)

// Maximum length of a follow-up question, in words or, in scripts without spaces, in characters.
const (
	followUpWords      = 12
	followUpCharacters = 16
)

// Maximum number of earlier questions to search for a follow-up's topic.
const maxLinks = 5

// searchQuery adds the topic of earlier questions to the question. Without that topic, a search for a short question
// that refers back ("and how does it close?") rarely finds the right passage.
func searchQuery(question string, history []chat.Turn) string {
	topic := topicOf(history, question)
	// Count characters after normalisation, as Retrieve does for its limit. So far, only the question itself has been
	// checked against that limit.
	budget := retrieve.MaxQueryCharacters - max(utf8.RuneCountInString(question), analysis.NormalLength(question, retrieve.MaxQueryCharacters)) - 1
	if runes := []rune(topic); len(runes) > budget {
		topic = string(runes[:max(budget, 0)])
	}
	topic = analysis.NormalPrefix(topic, max(budget, 0))
	return strings.TrimSpace(topic + " " + question)
}

// topicOf returns a follow-up question's topic. It goes back to the last question that stands alone or contains a name,
// and keeps the part of it that still applies (see contextOf). To this part, it appends later questions that don't
// themselves contain a reference.
func topicOf(history []chat.Turn, question string) string {
	topic, links := "", 0
	for _, t := range slices.Backward(history) {
		if t.Role != domain.RoleUser {
			continue
		}
		links++
		asked := language.WithoutClientText(t.Text)
		if len(language.Names(asked)) > 0 || !refersBack(asked, analysis.Unknown) || links == maxLinks {
			return strings.TrimSpace(contextOf(asked, question) + " " + topic)
		}
		if !hasReference(asked) && !countsWithoutNoun(language.Words(asked)) {
			topic = asked + " " + topic
		}
	}
	return strings.TrimSpace(topic)
}

// contextOf returns the part of an earlier question that applies to a follow-up:
//
//   - If the follow-up contains a new name, which replaces the earlier ones, everything but the names.
//   - If the follow-up contains a pronoun, which stands for the names, only the names.
//   - Otherwise, the whole question.
func contextOf(previous, question string) string {
	old := language.Names(previous)
	switch {
	case len(old) == 0:
		return previous
	case len(language.Names(question)) > 0:
		kept := slices.DeleteFunc(strings.Fields(previous), func(w string) bool {
			return slices.Contains(old, strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		})
		return strings.Join(kept, " ")
	case hasReference(question) || countsWithoutNoun(language.Words(question)):
		return strings.Join(old, " ")
	default:
		return previous
	}
}

// hasReference reports whether a question contains a word that refers to earlier messages.
func hasReference(question string) bool {
	words, lang := language.Words(question), language.Detect(question)
	for i := range words {
		if isReference(words, i, lang) {
			return true
		}
	}
	return slices.ContainsFunc(unspacedReferences, func(p string) bool { return strings.Contains(question, p) })
}

// refersBack reports whether a question is short and refers to or continues earlier messages. previous is the previous
// question's language, which helps because a few words often don't reveal their language.
func refersBack(question string, previous analysis.Language) bool {
	words := language.Words(question)
	if len(words) == 0 || len(words) > followUpWords {
		return false
	}
	lang := language.Detect(question)
	for i := range words {
		if isReference(words, i, lang) {
			return true
		}
	}
	continues := includesLanguage(continuationWords[words[0]], lang) || previous != analysis.Unknown && includesLanguage(continuationWords[words[0]], previous)
	if continues && countTopicWords(words[1:], lang, previous) <= borrowingTopics || countsWithoutNoun(words) || hasNoTopic(words, lang) {
		return true
	}
	if utf8.RuneCountInString(question) > followUpCharacters {
		return false
	}
	for _, p := range unspacedReferences {
		if strings.Contains(question, p) {
			return true
		}
	}
	return false
}

// A question that begins with "and" continues the previous question only if it has at most this many topic words. A
// question with more topic words has its own subject: "And what does trace-based compilation mean?"
const borrowingTopics = 2

// countTopicWords counts the words that are neither question words nor framing words nor function words in these
// languages.
func countTopicWords(words []string, langs ...analysis.Language) int {
	n := 0
	for _, w := range words {
		if !language.FramingWords[w] && language.QuestionWords[w] == nil && !slices.ContainsFunc(langs, func(l analysis.Language) bool { return analysis.IsFunctionWord(w, l) }) {
			n++
		}
	}
	return n
}

// countsWithoutNoun reports whether "how many" is directly followed by a verb, as in "how many are in stock".
func countsWithoutNoun(words []string) bool {
	for i := range words[:max(len(words)-1, 0)] {
		if verbs, ok := verbsAfterCount[words[i]]; ok && verbs[words[i+1]] {
			return true
		}
	}
	return false
}

// hasNoTopic reports whether a question consists only of function, question and framing words: "what should I do".
func hasNoTopic(words []string, lang analysis.Language) bool {
	return lang != analysis.Unknown && !slices.ContainsFunc(words, func(w string) bool {
		return !language.FramingWords[w] && language.QuestionWords[w] == nil && !analysis.IsFunctionWord(w, lang)
	})
}

// verbsAfterCount maps each word for "how many" to verbs that can follow it directly.
var verbsAfterCount = func() map[string]map[string]bool {
	out := make(map[string]map[string]bool)
	for counts, verbs := range map[string]string{
		"many":            `are is were was do does did can could may must should will would have has had of in on remain fit`,
		"viele wieviele":  `sind ist waren gibt gab hat haben kann können darf dürfen muss müssen soll werden wurden passen bleiben davon auf in`,
		"combien":         `en y sont restent`,
		"cuántos cuántas": `hay son eran quedan tienen puedo puede caben`,
		"quanti quante":   `ce ne sono erano restano posso`,
		"quantos quantas": `há são restam tem posso`,
	} {
		for w := range strings.FieldsSeq(counts) {
			out[w] = wordset.Of(verbs)
		}
	}
	return out
}()

// isReference reports whether a word refers to earlier messages, unlike "that" in "the stadium that the teams played
// in" or "there" in "is there a vaccine".
func isReference(words []string, i int, lang analysis.Language) bool {
	switch w := words[i]; {
	case !includesLanguage(referenceWords[w], lang):
		return false
	case w == "that":
		return i == 0 || language.IsFunctionWord(words[i-1]) || i == len(words)-1
	case frenchSubjects[w] && (lang == "fr" || lang == analysis.Unknown):
		return !slices.ContainsFunc(words[:i], func(w string) bool { return frenchArticles[w] }) // "un hôtelier peut-il"
	case w == "there":
		return (i == 0 || !existenceVerbs[words[i-1]]) && (i == len(words)-1 || !existenceVerbs[words[i+1]])
	default:
		return true
	}
}

// French questions often repeat their subject as a pronoun, as in "un hôtelier peut-il". Such a pronoun, after a noun
// with an article, does not refer to an earlier message.
var (
	frenchSubjects = wordset.Of(`il elle ils elles`)
	frenchArticles = wordset.Of(`le la les l un une des du mon ma mes notre nos votre vos`)
)

// existenceVerbs say, together with "there", that something exists: "there is".
var existenceVerbs = wordset.Of(`is are was were be been will isn aren`)

// includesLanguage reports whether langs contains lang. An unknown lang is in every non-empty list.
func includesLanguage(langs []analysis.Language, lang analysis.Language) bool {
	return len(langs) > 0 && (lang == analysis.Unknown || slices.Contains(langs, lang))
}

// referenceWords refer to earlier messages, by language. They may mean something else in other languages: "il" is not a
// pronoun in Italian.
var referenceWords = byWord(map[analysis.Language]string{
	"en": `it its they them their theirs this that these those he him his she hers her there then`,
	"de": `es er sie ihn ihm ihr ihnen dies diese dieser dieses jene jener dort davon dafür damit dabei daran daraus`,
	"fr": `il elle ils elles lui leur ça cela ceci celui celle ceux celles`,
	"es": `él ella ellos ellas eso esto esa ese estos estas ello`,
	"it": `esso essa essi esse lui lei loro ciò costui costei`,
	"pt": `ele ela eles elas isso isto esse essa este esta`,
	"nl": `hij hem zij ze hun deze dit ervan daarvan`,
	"ru": `он она оно они его её ее их ему ей им это этот эта эти там тогда`,
})

// continuationWords, at the start of a question, show that it continues earlier messages.
var continuationWords = byWord(map[analysis.Language]string{
	"en": `and but or also`, "de": `und aber oder auch`, "fr": `et mais ou aussi`, "es": `y pero o también`, "it": `e ma o anche`, "pt": `e mas ou também`, "nl": `en maar of ook`,
	"ru": `а и но или`,
})

// unspacedReferences refer to earlier messages, in scripts without spaces between words.
var unspacedReferences = []string{"它", "他", "她", "这个", "那个", "这", "那", "呢", "其中", "それ", "これ", "あれ", "その", "この", "そこ", "では", "彼", "그것", "이것"}

func byWord(lists map[analysis.Language]string) map[string][]analysis.Language {
	out := make(map[string][]analysis.Language)
	for lang, words := range lists {
		for w := range strings.FieldsSeq(words) {
			out[w] = append(out[w], lang)
		}
	}
	return out
}
