package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// A question of at most these many words, or characters where words are not parted, may lean on the one before.
const (
	followUpWords      = 12
	followUpCharacters = 16
)

// searchQuery returns what to search for. A short question that points back ("and how does it close?") finds nothing
// by itself, so it is searched for together with what the question before was about; any other stands alone.
func searchQuery(question string, history []Turn) string {
	if !pointsBack(question) {
		return question
	}
	topic := ""
	for _, t := range slices.Backward(history) {
		if t.Role != domain.RoleUser {
			continue
		}
		if topic == "" || len(namesIn(t.Text)) > 0 {
			topic = carried(t.Text, question)
		}
		if !pointsBack(t.Text) || len(namesIn(t.Text)) > 0 {
			break
		}
	}
	room := retrieve.MaxQueryCharacters - utf8.RuneCountInString(question) - 1
	if runes := []rune(topic); len(runes) > room {
		topic = string(runes[:max(room, 0)])
	}
	return strings.TrimSpace(topic + " " + question)
}

// carried returns what a follow-up takes over from a question before. A pronoun stands for what was named there, and not
// for what was asked about it; another name takes the old one's place. Where nothing is named, it is the whole question.
func carried(previous, question string) string {
	old := namesIn(previous)
	switch {
	case len(old) == 0:
		return previous
	case len(namesIn(question)) > 0:
		kept := slices.DeleteFunc(strings.Fields(previous), func(w string) bool {
			return slices.Contains(old, strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		})
		return strings.Join(kept, " ")
	case hasPointer(question):
		return strings.Join(old, " ")
	default:
		return previous
	}
}

// hasPointer reports whether a question has a word that stands for something said before.
func hasPointer(question string) bool {
	return slices.ContainsFunc(wordsOf(question), func(w string) bool { return pointers[w] }) ||
		slices.ContainsFunc(unspacedPointers, func(p string) bool { return strings.Contains(question, p) })
}

// pointsBack reports whether a question is short and has a word that stands for something said before, or is a mere
// fragment of one or two words.
func pointsBack(question string) bool {
	words := wordsOf(question)
	if len(words) == 0 || len(words) > followUpWords {
		return false
	}
	for _, w := range words {
		if pointers[w] {
			return true
		}
	}
	if openers[words[0]] {
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

// wordsOf returns the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// pointers are words that stand for something said before.
var pointers = set(`
	it its they them their theirs this that these those he him his she her hers there then
	es er sie ihn ihm ihr ihnen dies diese dieser dieses jene jener dort davon dafür damit dabei daran daraus
	il elle ils elles lui leur ça cela ceci celui celle ceux celles
	él ella ellos ellas eso esto esa ese estos estas ello
	он она оно они его её ее их ему ей им это этот эта эти там тогда
`)

// openers are words that continue what was said when a question begins with them.
var openers = set(`and but or also und aber oder auch et mais ou aussi y pero o también а и но или`)

// unspacedPointers are the same in scripts that do not part words.
var unspacedPointers = []string{"它", "他", "她", "这个", "那个", "这", "那", "呢", "其中", "それ", "これ", "あれ", "その", "この", "そこ", "では", "彼", "그것", "이것"}

func set(words string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}
