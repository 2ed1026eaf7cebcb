package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

// nounMarkers precede noun phrases: articles, prepositions, and question words such as "which".
var nounMarkers = wordsByLanguage(map[analysis.Language]string{
	"en": `the a an this that these those my your his her its our their any some no each every which what whose many much one
		of for on in at by with from under over about per during after before without against between through`,
	analysis.German: `der die das den dem des ein eine einen einem einer eines kein keine keinen welche welcher welches welchen welchem viele
		für von vom mit bei beim im am zum zur in an auf aus nach vor bis über unter ohne durch um pro je seit laut`,
	"fr": `le la les l un une des du de d au aux ce cet cette ces mon ma mes son sa ses quel quelle quels quelles combien
		pour par sur avec sans dans en à chez sous entre`,
	"es": `el la los las un una unos unas del al mi su qué cuántos cuántas cuánta de a en con por para sin sobre entre desde hasta`,
	"it": `il lo la i gli le l un uno una del dello della dell dei degli delle al alla all ai alle nel nella nell sul sulla sull dal dalla
		dall che quale quali quanti quante quanta di a da in con su per tra fra`,
	"pt": `o a os as um uma do da dos das no na nos nas ao à aos às pelo pela qual quais que quantos quantas de em com por para sem
		sobre até`,
	"nl": `de het een deze dit die mijn zijn haar geen welk welke hoeveel van voor op in bij met tot aan uit per door over onder zonder naar`,
})

// verbMarkers are prepositions before infinitives and gerunds, which end in verbEndings: "para reservar", "for
// filling".
var (
	verbMarkers = wordsByLanguage(map[analysis.Language]string{
		"en": "for of in by before after without", "fr": "de d à pour sans", "es": "de a para sin por al", "it": "di a da per", "pt": "de a para sem por ao",
	})
	verbEndings = map[analysis.Language][]string{
		"en": {"ing"}, "fr": {"er", "ir", "dre", "tre"}, "es": {"ar", "er", "ir"}, "it": {"are", "ere", "ire"}, "pt": {"ar", "er", "ir"},
	}
)

// Minimum length in characters of an infinitive or gerund.
const minVerb = 5

// headFirst are the languages whose nouns precede their modifiers: "carte bancaire".
var headFirst = map[analysis.Language]bool{"fr": true, "es": true, "it": true, "pt": true}

// NounPhrase is a noun with its modifiers, in lower case.
type NounPhrase struct {
	Head      string
	Modifiers []string
}

// NounPhrases returns a question's noun phrases, which exclude most verbs: the words from an article, a preposition or
// the like up to the next function word. It returns false if it does not know the language's articles.
func NounPhrases(question string) ([]NounPhrase, bool) {
	lang := Detect(question)
	markers := nounMarkers[lang]
	if markers == nil {
		return nil, false
	}
	var out []NounPhrase
	var words []string
	open, before := false, "" // the word before
	end := func(reopen bool) {
		if n := len(words); n > 0 {
			head := n - 1
			if headFirst[lang] {
				head = 0
			}
			p := NounPhrase{Head: words[head]}
			for i, w := range words {
				if i != head {
					p.Modifiers = append(p.Modifiers, w)
				}
			}
			out = append(out, p)
		}
		words, open = nil, reopen
	}
	clauses := strings.FieldsFunc(question, func(r rune) bool { return strings.ContainsRune(`?!,;:()«»“”„"¿¡`, r) })
	for _, clause := range clauses {
		for i, w := range strings.FieldsFunc(clause, func(r rune) bool { return !IsWordRune(r) && !unicode.IsMark(r) && r != '-' }) {
			lower := strings.ToLower(w)
			first, _ := utf8.DecodeRuneInString(w)
			last := before
			before = lower
			switch {
			case markers[lower]:
				end(true)
			case utf8.RuneCountInString(lower) > 1 && (analysis.IsFunctionWord(lower, lang) || IsFunctionWord(lower)):
				end(false)
			case !open && lang == analysis.German && unicode.IsUpper(first) && i > 0:
				words, open = append(words, lower), true
			case !open:
			case len(words) == 0 && verbMarkers[lang][last] && isVerbForm(lower, lang):
				open = false
			case lang == analysis.German && len(words) > 0 && unicode.IsLower(first):
				end(false) // a verb after a noun
			case lang == analysis.German && unicode.IsLower(first): // an adjective
			default:
				words = append(words, lower)
			}
		}
		end(false)
	}
	return out, true
}

func isVerbForm(word string, lang analysis.Language) bool {
	if utf8.RuneCountInString(word) < minVerb {
		return false
	}
	for _, ending := range verbEndings[lang] {
		if strings.HasSuffix(word, ending) {
			return true
		}
	}
	return false
}

func wordsByLanguage(lists map[analysis.Language]string) map[analysis.Language]map[string]bool {
	out := make(map[analysis.Language]map[string]bool)
	for lang, list := range lists {
		out[lang] = make(map[string]bool)
		for w := range strings.FieldsSeq(list) {
			out[lang][w] = true
		}
	}
	return out
}
