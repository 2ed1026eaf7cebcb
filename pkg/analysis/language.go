package analysis

import (
	"math/bits"
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"
	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/lists"
)

// Language is an ISO 639-1 code, or "" for an unknown language.
type Language string

// Languages with special handling in this package.
const (
	Unknown    Language = ""
	English    Language = "en"
	German     Language = "de"
	Greek      Language = "el"
	Vietnamese Language = "vi"
)

// Detect returns the language of a text, based on its first few hundred words. It uses the script and, if languages
// share that script, function words and then trigrams. If these don't identify the language and the letters are Latin,
// a long text is Unknown. A short text, such as a heading or a table, counts as English, because the English stemmer
// does little harm to other languages.
func Detect(text string) Language {
	words, scripts := countScripts(text)
	switch script := scripts.mainScript(); script {
	case scriptNone:
		return Unknown
	case scriptLatin:
		return detectLatin(text, words, latinVotes.votesOf(words))
	case scriptCyrillic:
		if lang, ok := voteByFunctionWords(words, cyrillicVotes); ok {
			return lang
		}
		return "ru"
	case scriptArabic:
		if lang, ok := voteByFunctionWords(words, arabicVotes); ok {
			return lang
		}
		return "ar"
	default:
		return scriptLanguage[script]
	}
}

// Minimum number of words for detection by trigrams, which is used if function words don't decide.
const minTrigramWords = 25

// detectLatin returns the language of a text in Latin letters. `words` are its first words, and `votes` is the result
// of votesOf for them.
func detectLatin(text string, words []string, votes []uint64) Language {
	if lang, ok := latinVotes.elect(votes); ok && (lang == English || distinct(words, lang) >= 2) {
		return lang
	}
	if len(words) < minTrigramWords {
		return English
	}
	info := whatlanggo.DetectWithOptions(bounded.Prefix(text, maxTrigramBytes), whatlanggo.Options{Whitelist: trigramLanguages})
	if info.Confidence < minConfidence {
		return Unknown
	}
	if info.Lang == whatlanggo.Nob {
		return "no"
	}
	return Language(info.Lang.Iso6391())
}

// Number of bytes whose trigrams are counted, and the minimum confidence for accepting the result.
const (
	maxTrigramBytes = 800
	minConfidence   = 0.1
)

// distinct returns how many different function words of a language are in `words`, ignoring one-letter words.
func distinct(words []string, lang Language) int {
	found := make(map[string]bool)
	for _, w := range words {
		if len(w) > 1 && stopWords[lang][w] {
			found[w] = true
		}
	}
	return len(found)
}

// voteByFunctionWords detects the language by function words. Each function word in the text has one vote, split evenly
// among the languages that use the word. The winner needs a minimum share of all words and a clear lead. The second
// result is false if there is no winner.
func voteByFunctionWords(words []string, among functionWordVotes) (Language, bool) {
	return among.elect(among.votesOf(words))
}

// votesOf returns, for each word, the set of languages in which it is a function word, as a bit set.
func (v functionWordVotes) votesOf(words []string) []uint64 {
	return lists.Map(words, func(w string) uint64 { return v.byWord[w] })
}

// elect returns the language with the most votes and whether it meets voteByFunctionWords's criteria. `words` is the
// result of votesOf.
func (v functionWordVotes) elect(words []uint64) (Language, bool) {
	var votes [maxVoteLanguages]float64
	for _, has := range words {
		if has == 0 {
			continue
		}
		share := 1 / float64(bits.OnesCount64(has))
		for ; has != 0; has &= has - 1 {
			votes[bits.TrailingZeros64(has)] += share
		}
	}
	var best, second float64
	var winner Language
	for i, lang := range v.langs {
		switch v := votes[i]; {
		case v > best:
			best, second, winner = v, best, lang
		case v > second && lang != winner:
			second = v
		}
	}
	return winner, best > 0 && best >= 0.06*float64(len(words)) && best >= 1.25*second
}

// countScripts returns the first words of a text in lower case, and the number of letters in each script.
func countScripts(text string) ([]string, *scriptCount) {
	text = bounded.Prefix(text, maxDetectWords*32)
	var scripts scriptCount
	var words []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { c := classOf(r); return c == classOther }) {
		if len(words) == maxDetectWords {
			break
		}
		letters := false
		for _, r := range word {
			if unicode.IsLetter(r) {
				letters = true
				scripts[scriptOf(r)]++
			}
		}
		if letters {
			words = append(words, strings.ToLower(removeInvisible(word)))
		}
	}
	return words, &scripts
}

// Candidates for trigram detection: languages with a stemmer, and related languages that would otherwise be mistaken
// for one of them.
var trigramLanguages = map[whatlanggo.Lang]bool{
	whatlanggo.Eng: true, whatlanggo.Deu: true, whatlanggo.Fra: true, whatlanggo.Spa: true, whatlanggo.Ita: true,
	whatlanggo.Por: true, whatlanggo.Nld: true, whatlanggo.Swe: true, whatlanggo.Dan: true, whatlanggo.Nob: true,
	whatlanggo.Fin: true, whatlanggo.Hun: true, whatlanggo.Ron: true, whatlanggo.Tur: true, whatlanggo.Pol: true,
	whatlanggo.Ces: true, whatlanggo.Vie: true, whatlanggo.Ind: true, whatlanggo.Yor: true, whatlanggo.Som: true,
	whatlanggo.Hau: true,
}

type script uint8

const (
	scriptNone script = iota
	scriptLatin
	scriptCyrillic
	scriptArabic
	scriptGreek
	scriptDevanagari
	scriptTamil
	scriptHebrew
	scriptHan
	scriptKana
	scriptHangul
	scriptThai
	scriptOther
	scripts
)

var scriptLanguage = [scripts]Language{
	scriptGreek: Greek, scriptDevanagari: "hi", scriptTamil: "ta", scriptHebrew: "he", scriptHan: "zh", scriptKana: "ja",
	scriptHangul: "ko", scriptThai: "th",
}

var scriptTables = [...]struct {
	table  *unicode.RangeTable
	script script
}{
	{unicode.Cyrillic, scriptCyrillic}, {unicode.Arabic, scriptArabic}, {unicode.Greek, scriptGreek},
	{unicode.Devanagari, scriptDevanagari}, {unicode.Tamil, scriptTamil}, {unicode.Hebrew, scriptHebrew},
	{unicode.Han, scriptHan}, {unicode.Hiragana, scriptKana}, {unicode.Katakana, scriptKana}, {unicode.Hangul, scriptHangul},
	{unicode.Thai, scriptThai},
}

func scriptOf(r rune) script {
	if r < 0x250 || unicode.Is(unicode.Latin, r) {
		return scriptLatin
	}
	for _, t := range scriptTables {
		if unicode.Is(t.table, r) {
			return t.script
		}
	}
	return scriptOther
}

type scriptCount [scripts]int

// mainScript returns the script used by most of the text. Words in Han, kana or Hangul have few characters, so each
// character in these scripts counts three times. Text with kana is Japanese even if most of it is Han.
func (c *scriptCount) mainScript() script {
	for _, dense := range []script{scriptHan, scriptKana, scriptHangul} {
		c[dense] *= 3
	}
	if c[scriptKana]*8 > c[scriptHan] && c[scriptKana] > 0 {
		c[scriptKana] += c[scriptHan]
	}
	best := scriptNone
	for s, n := range c {
		if n > c[best] {
			best = script(s)
		}
	}
	return best
}
