package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// expected is the kind of answer that a question asks for.
type expected int

const (
	anything expected = iota
	aNumber           // how many, when: something with a figure in it, or a number word
	aName             // who, where: something written with a capital letter
)

// askingWords tell what is asked for, most telling first, by the words in which languages ask for it. Those of scripts that
// part words count as whole words, or at the beginning of one where a "*" follows.
var askingWords = []struct {
	kind  expected
	words string
}{
	{aNumber, `how many|how much|how long|how old|how far|how high|how large|how big|how tall|how fast|how often|how heavy|what percent*|what number|
		what year|which year|in what year|what date|when|what time|
		wie viel*|wieviel*|wie lange|wie alt|wie hoch|wie groß|wie weit|wie schnell|wie schwer|wie oft|welchem jahr|welches jahr|wann|
		combien|quelle année|quelle date|quel pourcentage|quand|cuánt*|qué año|qué fecha|qué porcentaje|cuándo|quant*|che anno|quale anno|quando|
		que ano|hoeveel|hoe lang|hoe oud|hoe hoog|wanneer|welk jaar|сколько|каком году|когда|kaç|ne zaman|hangi yıl*|πόσ*|πότε|
		câți|câte|cât|când|ce an|bao nhiêu|khi nào|năm nào|كم|متى|عام|कितन*|कब|
		多少|几|幾|哪一年|哪年|何时|何時|什么时候|什麼時候|いつ|何年|何人|何月|いくつ|いくら|얼마|몇|언제`},
	{aName, `who|whose|whom|where|wer|wem|wen|wessen|wo|qui|où|quién|quiénes|dónde|chi|dove|quem|onde|waar|кто|кого|кем|где|ποιος|ποιοι|πού|kim|cine|unde`},
}

// expects tells what kind of answer a question asks for.
func expects(question string) expected {
	spaced := " " + strings.Join(wordsOf(question), " ") + " "
	for _, asking := range askingWords {
		for words := range strings.SplitSeq(asking.words, "|") {
			words = strings.TrimSpace(words)
			first, _ := utf8.DecodeRuneInString(words)
			stem, open := strings.CutSuffix(words, "*")
			switch {
			case wide(first) || unicode.Is(unicode.Hangul, first):
				if strings.Contains(question, words) {
					return asking.kind
				}
			case strings.Contains(spaced, " "+stem) && (open || strings.Contains(spaced, " "+words+" ")):
				return asking.kind
			}
		}
	}
	return anything
}

// in reports whether a text has what is expected, other than what the question has already.
func (e expected) in(text string, asked map[string]bool) bool {
	switch e {
	case aNumber:
		for _, w := range wordsOf(text) {
			if !asked[w] && (numberWords[w] || strings.ContainsFunc(w, unicode.IsDigit) || strings.ContainsAny(w, chineseNumbers)) {
				return true
			}
		}
		return false
	case aName:
		for i, w := range strings.Fields(text) {
			first, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, `"'“„«(`))
			caseless := unicode.IsLetter(first) && !unicode.IsUpper(first) && !unicode.IsLower(first)
			if !caseless && (i == 0 || !unicode.IsUpper(first)) {
				continue
			}
			for _, part := range wordsOf(w) {
				if caseless || !asked[part] {
					return true
				}
			}
		}
		return false
	}
	return true
}

const chineseNumbers = "一二三四五六七八九十百千万兩两"

// numberWords are numbers in words, without those that are articles as well.
var numberWords = set(`
	two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand million billion half none twice
	zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig hundert tausend million millionen milliarden
	deux trois quatre cinq sept huit neuf dix douze vingt cent mille millions
	dos tres cuatro cinco seis siete ocho nueve diez doce veinte cien ciento mil millones
	due tre quattro cinque sei sette otto nove dieci dodici venti cento mila milioni
	dois três quatro oito dez doze vinte milhões twee drie vijf zes zeven negen tien twaalf honderd duizend miljoen
	два две три четыре пять шесть семь восемь девять десять двух трех трёх сто тысяч миллион миллионов
`)
