package language

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/wordset"
)

// FramingWords phrase a question but say nothing about its subject, so an answer doesn't have to contain them.
var FramingWords = wordset.Of(`
	long high large big far old tall wide deep often soon late early many much please tell give show shows explain
	describe find need want know say says get gets happen happens mean means exact exactly use uses used using work works look looks like
	lange lang hoch groß weit alt oft viel viele wieviel bitte sag nenne zeige gibt bekomme bekommt verwende verwenden benutze benutzen nutze nutzen sieht aussehen
	combien donne dis montre trouve fait utilise utiliser
	cuánto cuántos cuánta cuántas dime dame muestra
	bought buy paid pay owns made done given gave amounts called
	berechnet geleistet bezahlt gekauft beträgt betragen lautet lauten dient bewirkt macht wozu endet
	acheté payé posé posés sert signifie faut
	compró pagó sirve significa asciende
	comprato pagato ammonta serve
	comprou pagou
	bedraagt gekocht betaald betekent
	каков какова каково каковы означает значит
	number name amount time one must may might possible allowed call run
	nummer name anzahl uhrzeit darf dürfen muss müssen soll sollen wurde wurden wird werden noch einmal schnell häufig heißt
	numéro nom nombre montant délai heure temps fréquence peut peuvent doit doivent
	número nombre hora tiempo puede pueden debe deben queda quedan antelación
	numero nome ora tempo può possono deve devono va vanno viene vengono entro
	número nome hora horas tempo pode podem deve devem feito feita feitos feitas
	nummer naam welk uur mag mogen moet moeten kan kunnen worden wordt volgens betaalt
	каком какому какую каких часто нужно можно должен должна должны который которая которое которого которой которые номер час часа время звонить заплатить
`)

func isCapitalised(w string) bool {
	first, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(first)
}

// Names returns the names in a question: numbers, codes, and words capitalised inside the question. In a language that
// capitalises all nouns, such as German, a capitalised word is a name only before a number or code, or next to another
// capitalised word. In "die Pumpe Aurora", only "Aurora" is a name, because "Pumpe" follows an article.
func Names(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`?!.,;:"'()«»“”„’`, r)
	})
	german := Detect(text) == "de"
	names := make([]bool, len(words))
	capitals, lower := 0, 0
	for i, w := range words {
		first, _ := utf8.DecodeRuneInString(w)
		code := strings.ContainsFunc(w, unicode.IsDigit) && !strings.ContainsFunc(w, IsUnspaced)
		upper := unicode.IsUpper(first)
		switch {
		case code:
			names[i] = true
		case upper && i > 0 && !IsFunctionWord(w):
			capitals++
			names[i] = !german || i+1 < len(words) && (strings.ContainsFunc(words[i+1], unicode.IsDigit) || isCapitalised(words[i+1]) && !IsFunctionWord(words[i-1])) ||
				i > 1 && isCapitalised(words[i-1]) && !IsFunctionWord(words[i-1])
		case i > 0 && utf8.RuneCountInString(w) > 3:
			lower++
		}
	}
	title := capitals > 2 && lower == 0 // title case
	var out []string
	for i, w := range words {
		if names[i] && (!title || strings.ContainsFunc(w, unicode.IsDigit)) {
			out = append(out, w)
		}
	}
	return out
}

// Codes returns the words in a question that contain both letters and digits. They hardly ever match by chance.
func Codes(text string) []string {
	return slices.DeleteFunc(Names(text), func(w string) bool {
		return utf8.RuneCountInString(w) < minCode || !strings.ContainsFunc(w, unicode.IsLetter) || !strings.ContainsFunc(w, unicode.IsDigit)
	})
}

// Minimum length of a code in characters.
const minCode = 4

// HoldsCode reports whether the text contains one of the codes as a separate word.
func HoldsCode(text string, codes []string) bool {
	for _, c := range codes {
		for rest := text; ; {
			i := strings.Index(rest, c)
			if i < 0 {
				break
			}
			before, _ := utf8.DecodeLastRuneInString(rest[:i])
			after, _ := utf8.DecodeRuneInString(rest[i+len(c):])
			if !IsWordRune(before) && !IsWordRune(after) {
				return true
			}
			rest = rest[i+len(c):]
		}
	}
	return false
}

// IsWordRune reports whether a character is a letter or a decimal digit.
func IsWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// IsFunctionWord reports whether w is a function word or a single character. Even if capitalised, it is not a name.
func IsFunctionWord(w string) bool {
	_, ok := QuestionWords[strings.ToLower(w)]
	return ok || utf8.RuneCountInString(w) == 1
}

// Words returns the text's words in lower case.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// IsUnspaced reports whether a character's script has no spaces between words. In such scripts, even short lines may be
// wrapped text.
func IsUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
