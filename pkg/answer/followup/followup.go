// Package followup finds out what to search for when a question leans on what was said before, by its words or by asking a model to make
// it stand alone. Package answer uses it.
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

// A question of at most these many words, or characters where words are not parted, may lean on the one before.
const (
	followUpWords      = 12
	followUpCharacters = 16
)

// maxLinks is how many questions a chain of follow-ups is followed back.
const maxLinks = 5

// searchQuery returns what to search for. A short question that points back ("and how does it close?") finds nothing
// by itself, so it is searched for together with what the question before was about; any other stands alone.
func searchQuery(question string, history []chat.Turn) string {
	if !pointsBack(question) {
		return question
	}
	topic := topicOf(history, question)
	room := retrieve.MaxQueryCharacters - utf8.RuneCountInString(question) - 1
	if runes := []rune(topic); len(runes) > room {
		topic = string(runes[:max(room, 0)])
	}
	return strings.TrimSpace(topic + " " + question)
}

// topicOf is what the questions before a follow-up were about: what it takes over from the last one that stands alone or
// names something, and those since that go on with more than a word for it.
func topicOf(history []chat.Turn, question string) string {
	topic, links := "", 0
	for _, t := range slices.Backward(history) {
		if t.Role != domain.RoleUser {
			continue
		}
		links++
		if len(language.Names(t.Text)) > 0 || !pointsBack(t.Text) || links == maxLinks {
			return strings.TrimSpace(carried(t.Text, question) + " " + topic)
		}
		if !hasPointer(t.Text) && !countsWhatWasSaid(language.Words(t.Text)) {
			topic = t.Text + " " + topic
		}
	}
	return strings.TrimSpace(topic)
}

// carried returns what a follow-up takes over from a question before. A pronoun stands for what was named there, and not
// for what was asked about it; another name takes the old one's place. Where nothing is named, it is the whole question.
func carried(previous, question string) string {
	old := language.Names(previous)
	switch {
	case len(old) == 0:
		return previous
	case len(language.Names(question)) > 0:
		kept := slices.DeleteFunc(strings.Fields(previous), func(w string) bool {
			return slices.Contains(old, strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		})
		return strings.Join(kept, " ")
	case hasPointer(question) || countsWhatWasSaid(language.Words(question)):
		return strings.Join(old, " ")
	default:
		return previous
	}
}

// hasPointer reports whether a question has a word that stands for something said before.
func hasPointer(question string) bool {
	words, lang := language.Words(question), language.Of(question)
	for i := range words {
		if pointsAt(words, i, lang) {
			return true
		}
	}
	return slices.ContainsFunc(unspacedPointers, func(p string) bool { return strings.Contains(question, p) })
}

// pointsBack reports whether a question is short and has a word that stands for something said before, or continues what
// was said.
func pointsBack(question string) bool {
	words := language.Words(question)
	if len(words) == 0 || len(words) > followUpWords {
		return false
	}
	lang := language.Of(question)
	for i := range words {
		if pointsAt(words, i, lang) {
			return true
		}
	}
	if among(openers[words[0]], lang) || countsWhatWasSaid(words) || namesNothing(words, lang) {
		return true
	}
	if utf8.RuneCountInString(question) > followUpCharacters {
		return false
	}
	for _, p := range unspacedPointers {
		if strings.Contains(question, p) {
			return true
		}
	}
	return false
}

// countsWhatWasSaid reports whether a question asks how many without saying of what: a verb follows at once, as in "how many
// are in stock".
func countsWhatWasSaid(words []string) bool {
	for i := range words[:max(len(words)-1, 0)] {
		if verbs, ok := verbsAfterCount[words[i]]; ok && verbs[words[i+1]] {
			return true
		}
	}
	return false
}

// namesNothing reports whether all words of a question are such as only shape it: "what should I do".
func namesNothing(words []string, lang analysis.Language) bool {
	return lang != analysis.Unknown && !slices.ContainsFunc(words, func(w string) bool {
		return !language.Framing[w] && language.QuestionWords[w] == nil && !analysis.IsFunctionWord(w, lang)
	})
}

// verbsAfterCount are, by the word that asks how many, words which stand right after it where nothing is named.
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

// pointsAt reports whether a word of a question stands for something said before, and not for something in the question:
// "the stadium that the teams played in", "is there a vaccine".
func pointsAt(words []string, i int, lang analysis.Language) bool {
	switch w := words[i]; {
	case !among(pointers[w], lang):
		return false
	case w == "that":
		return i == 0 || language.IsFunctionWord(words[i-1]) || i == len(words)-1
	case frenchSubjects[w] && (lang == "fr" || lang == analysis.Unknown):
		return !slices.ContainsFunc(words[:i], func(w string) bool { return frenchArticles[w] }) // "un hôtelier peut-il"
	case w == "there":
		return (i == 0 || !beingWords[words[i-1]]) && (i == len(words)-1 || !beingWords[words[i+1]])
	default:
		return true
	}
}

// French questions repeat their subject as a pronoun; it then has an article before it.
var (
	frenchSubjects = wordset.Of(`il elle ils elles`)
	frenchArticles = wordset.Of(`le la les l un une des du mon ma mes notre nos votre vos`)
)

// beingWords make "there" say that something is.
var beingWords = wordset.Of(`is are was were be been will isn aren`)

// among reports whether a word of these languages is one of the language; every word is of a language that is not known.
func among(langs []analysis.Language, lang analysis.Language) bool {
	return len(langs) > 0 && (lang == analysis.Unknown || slices.Contains(langs, lang))
}

// pointers are words that stand for something said before, by the languages that have them. A word of one language means
// something else in another: "il" is no pronoun in Italian.
var pointers = byWord(map[analysis.Language]string{
	"en": `it its they them their theirs this that these those he him his she hers her there then`,
	"de": `es er sie ihn ihm ihr ihnen dies diese dieser dieses jene jener dort davon dafür damit dabei daran daraus`,
	"fr": `il elle ils elles lui leur ça cela ceci celui celle ceux celles`,
	"es": `él ella ellos ellas eso esto esa ese estos estas ello`,
	"it": `esso essa essi esse lui lei loro ciò costui costei`,
	"ru": `он она оно они его её ее их ему ей им это этот эта эти там тогда`,
})

// openers are words that continue what was said when a question begins with them.
var openers = byWord(map[analysis.Language]string{
	"en": `and but or also`, "de": `und aber oder auch`, "fr": `et mais ou aussi`, "es": `y pero o también`, "it": `e ma o anche`, "ru": `а и но или`,
})

// unspacedPointers are the same in scripts that do not part words.
var unspacedPointers = []string{"它", "他", "她", "这个", "那个", "这", "那", "呢", "其中", "それ", "これ", "あれ", "その", "この", "そこ", "では", "彼", "그것", "이것"}

func byWord(lists map[analysis.Language]string) map[string][]analysis.Language {
	out := make(map[string][]analysis.Language)
	for lang, words := range lists {
		for w := range strings.FieldsSeq(words) {
			out[w] = append(out[w], lang)
		}
	}
	return out
}
