package extractive

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/wordset"
)

// want is the kind of value that a question asks for, if its words show it. An answer contains such a value.
type want struct {
	kind  wantKind
	units map[string]bool // index terms of the counted things: "days" in "how many days"
}

type wantKind int

const (
	wantAny   wantKind = iota // not clear from the words
	wantCount                 // a number, next to its unit if the question has one
	wantMoney
	wantTime // a date or a time of day
	wantDuration
	wantMass
	wantPhone
	wantMail
)

// Words in a question that show the requested kind of value, in languages with spaces between words.
var (
	countWords   = wordset.Of(`many much viele viel wieviel wieviele combien cuánto cuántos cuánta cuántas quanti quante quanto quanta quantos quantas hoeveel сколько`)
	afterHow     = wordset.Of(`many much viel viele`) // those countWords that count only after one of countLeads
	countLeads   = wordset.Of(`how wie so`)
	mannerWords  = wordset.Of(`how wie`)
	doingWords   = wordset.Of(`do does did can could to should would kann können muss soll sollte mache geht funktioniert`) // only after one of mannerWords: "how do I"
	longWords    = wordset.Of(`long lange lang`)                                                                            // only together with one of mannerWords: "how long"
	lastingWords = wordset.Of(`temps dure durent dura duran tiempo tempo durano`)                                           // only together with one of countWords: "combien de temps"
	moneyWords   = wordset.Of(`cost costs price prices priced fee fees kostet kosten preis preise teuer gebühr gebühren coûte coûtent coûter prix tarif tarifs
		cuesta cuestan precio precios costa costano prezzo prezzi custa custam preço kost prijs стоит стоят цена стоимость`)
	timeWords  = wordset.Of(`when wann quand cuándo wanneer когда`)
	massWords  = wordset.Of(`heavy weigh weighs weight schwer wiegt gewicht lourd pèse pèsent poids pesa peso weegt zwaar весит`)
	phoneWords = wordset.Of(`phone telephone telefon telefonnummer rufnummer téléphone teléfono telefono telefone telefoonnummer телефон`)
	mailWords  = wordset.Of(`email mail courriel correo emailadresse mailadresse`)
	sendWords  = wordset.Of(`number nummer numéro número numero address adresse dirección indirizzo endereço номер адрес`) // no topic in a question for a phone number or mail address

	// otherWords ask for something other than a value, even if the question mentions a value, as in "who pays the
	// costs" and "where is the price list".
	otherWords = wordset.Of(`who whom whose where why wer wem wen wo warum wieso wozu qui où pourquoi quién dónde chi dove perché quem onde waar waarom кто где почему`)

	// genericWords ask for something without indicating its kind.
	genericWords = wordset.Of(`what which welche welcher welches welchen quel quelle quels quelles cuál cuáles quale quali qual quais`)

	// occasionWords only say that an event takes place, as in "when does it start". An answer with a date need not
	// contain them.
	occasionWords = wordset.Of(`begin begins beginning start starts starting take takes place happen happens occur occurs held due
		beginnt beginnen anfängt anfangen startet starten findet finden statt stattfinden los losgehen
		commence commencer débute lieu empieza comienza inizia comincia começa begint начинается`)
)

// Maximum number of words before a word such as "when" that asks for a time ("until when"). Later in a question, "when"
// is a conjunction.
const maxLead = 3

// wantIn returns the kind of value that a question asks for. A question with several parts, or about how to do
// something, has no single kind.
func wantIn(question string) want {
	words := language.Words(partedIdentifiers(question))
	has := func(list map[string]bool) bool {
		return slices.ContainsFunc(words, func(w string) bool { return list[w] })
	}
	asked := 0
	for _, w := range words {
		if otherWords[w] || timeWords[w] || mannerWords[w] || genericWords[w] {
			asked++
		}
	}
	count := countAt(words)
	switch {
	case asked > 1, has(otherWords), len(words) > 1 && mannerWords[words[0]] && doingWords[words[1]]:
		return want{}
	case slices.ContainsFunc(words[:min(maxLead, len(words))], func(w string) bool { return timeWords[w] }):
		return want{kind: wantTime}
	case has(timeWords):
		return want{}
	case has(phoneWords):
		return want{kind: wantPhone}
	case has(mailWords):
		return want{kind: wantMail}
	case has(moneyWords):
		return want{kind: wantMoney}
	case has(massWords):
		return want{kind: wantMass}
	case has(longWords) && has(mannerWords), count >= 0 && has(lastingWords):
		return want{kind: wantDuration}
	case count >= 0:
		return want{kind: wantCount, units: unitsIn(words[count+1:])}
	}
	return want{}
}

// countAt returns the position at which a question asks "how many", or -1.
func countAt(words []string) int {
	for i, w := range words {
		if countWords[w] && (!afterHow[w] || i > 0 && countLeads[words[i-1]]) {
			return i
		}
	}
	return -1
}

// unitsIn returns the index terms of the unit that a "how many" question asks for, such as "days". words are the words
// after "how many"; the first one is the unit. unitsIn returns nil if there is no unit, as in "how many are there".
func unitsIn(words []string) map[string]bool {
	if len(words) > 0 && (words[0] == "de" || words[0] == "d") { // combien de jours
		words = words[1:]
	}
	if len(words) == 0 || language.IsFunctionWord(words[0]) || utf8.RuneCountInString(words[0]) < minKinLetters {
		return nil
	}
	out := make(map[string]bool)
	for _, lang := range []analysis.Language{"en", "de", "fr", "es", "it", "pt", "nl", "ru"} {
		for _, form := range analysis.Terms(words[0], lang) {
			out[form] = true
		}
	}
	return out
}

// plain reports whether values of the kind have a universal form, so that text without a match contains no such value.
func (w want) plain() bool { return w.kind == wantMoney || w.kind == wantPhone || w.kind == wantMail }

// speaking reports whether values of the kind are self-explanatory. For example, "Lena (lena@example.org)" answers a
// question about Lena's mail address without the word "mail". But the text must contain her name.
func (w want) speaking() bool { return w.kind == wantPhone || w.kind == wantMail }

// covers reports whether a word in the question only indicates the requested kind of value.
func (w want) covers(word string) bool {
	switch w.kind {
	case wantMoney:
		return moneyWords[word]
	case wantMass:
		return massWords[word]
	case wantTime:
		return occasionWords[word]
	case wantPhone:
		return phoneWords[word] || sendWords[word]
	case wantMail:
		return mailWords[word] || sendWords[word]
	}
	return false
}

// Patterns of values.
var (
	money = regexp.MustCompile(`(?i)[€$£¥₽₹₩₪₴₺฿₫₦]|\b(?:eur|euros?|usd|dollars?|gbp|pounds?|chf|francs?|franken|cents?|nok|sek|dkk|kr|pln|zł|czk|huf|jpy|yen|cny|yuan|rubel|rupees?|kronor|kronen|kroner?|krónur|rubles?|roubles?|zlotys?|złotych|forints?|dirhams?|dinars?|riyals?|shekels?|baht|pence|inr|krw|brl|mxn|aud|cad|nzd|sgd|hkd|thb|ils|aed|zar)\b|` +
		`\d\s?(?:crowns?|korun\pL?|kč|ft|lei|leva|lira|rials?|rupia\pL?|won|ringgit|rupiah|pesos?|reais|real|rand|shillings?|hryvn\pL+|rmb|kn|try|credits?)(?:[^\pL]|$)|руб|грн|円|元|원|\d\s?(?:million|billion|mio|mrd|milliard|mill[oó]n|miliard)|` +
		`\b(?:price|cost|fee|preis|gebühr|prix|tarif|precio|prezzo|preço|prijs)s?\b[^;:.]{0,20}:`)
	free     = regexp.MustCompile(`(?i)\b(?:free(?: of charge)?|at no charge|kostenlos|kostenfrei|gratuits?|gratuitement|gratis|gratuit[oa]s?|offerte?s?)\b|бесплатн`)
	mass     = regexp.MustCompile(`(?i)\d\s?(?:kg|g|t|lbs?|oz|kilos?|kilogram\pL*|gram\pL*|tonn?e[sn]?|tons?|pounds?|pfund|кг|公斤)(?:[^\pL]|$)`)
	duration = regexp.MustCompile(`(?i)\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|centur(?:y|ies)|sekunden?|minuten?|stunden?|tagen?|tag|wochen?|monate?n?|jahre?n?|jahrhunderte?|` +
		`secondes?|heures?|jours?|semaines?|mois|ans?|années?|siècles?|segundos?|minutos?|horas?|días?|semanas?|meses|mes|años?|siglos?|secondi|minuti|ore|giorni|settiman[ae]|mesi|anni|secoli|min|sec)(?:[^\pL]|$)|` +
		`\d ?[hsd](?:[^\pL]|$)|лет|год|дн[яей]|час|минут|недел|месяц`)
	phone = regexp.MustCompile(`\+?\(?\d[\d ()/.-]{4,}\d|\b(?:extension|ext\.|durchwahl|poste)\b`)
	mail  = regexp.MustCompile(`\S@\S`)
	date  = regexp.MustCompile(`(?i)\d{1,2}[:.h]\d{2}|\d{1,2} ?(?:h|uhr|am|pm|a\.m|p\.m|o'clock)(?:[^\pL]|$)|\d{4}-\d{2}|\d{1,2}[./]\d{1,2}[./]|(?:^|[^\d.,])(?:1\d|20)\d{2}(?:[^\d]|$)|[年月日時时]|` +
		`\b(?:` + months + `)(?:[^\pL]|$)|\d(?:st|nd|rd|th|er)?\.? ?(?:of |de |di )?(?:` + shortMonths + `)(?:[^\pL]|$)|\b(?:` + shortMonths + `)\.? ?\d|\b(?:in|im|by|since|until|till|seit|ab|bis|en|em) (?:` + shortMonths + `)(?:[^\pL]|$)|` +
		`\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:mon|diens|donners|frei|sams|sonn)tags?\b|\bmittwochs?\b|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b|` +
		`\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b|\b(?:century|jahrhundert|siècle|siglo|secolo|noon|midnight|morning|evening|o'clock|mittag|mitternacht|midi|minuit)\b|век`)
)

// Names of months. Some short ones are also ordinary words, so they count only next to a number or a word for a time.
const (
	months = `january|february|march|april|june|july|august|september|october|november|december|januar|jänner|februar|märz|juni|juli|oktober|dezember|` +
		`janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|` +
		`gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|januari|februari|maart|augustus`
	shortMonths = `jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mai|mei|mär|okt|dez|janv|févr|avr|juil|déc|ene|abr|ago|dic|gen|mag|giu|lug|set|ott`
)

// heldBy reports whether the text contains a value of the requested kind.
func (w want) heldBy(text string) bool {
	if w.kind == wantAny {
		return false
	}
	text = partedIdentifiers(text)
	digits := strings.ContainsFunc(text, unicode.IsDigit)
	switch w.kind {
	case wantMoney:
		return digits && money.MatchString(text) || free.MatchString(text)
	case wantMass:
		return digits && mass.MatchString(text)
	case wantTime:
		return date.MatchString(text) || duration.MatchString(text)
	case wantDuration:
		return duration.MatchString(text)
	case wantPhone:
		return phone.MatchString(text)
	case wantMail:
		return mail.MatchString(text)
	case wantCount:
		return w.counts(text)
	}
	return false
}

// Maximum number of words between a number and its unit. In "30 paid days", there is one.
const unitDistance = 2

// counts reports whether the text contains a number. If the question asks for a unit, the number must be next to that
// unit.
func (w want) counts(text string) bool {
	words := language.Words(text)
	lang := sync.OnceValue(func() analysis.Language { return analysis.Detect(text) }) // slow compared with the rest
	var analyzer analysis.Analyzer
	for i, word := range words {
		if first, _ := utf8.DecodeRuneInString(word); !numerals[word] && !unicode.IsDigit(first) {
			continue
		}
		if len(w.units) == 0 {
			return true
		}
		for _, near := range words[i+1 : min(i+2+unitDistance, len(words))] {
			if slices.ContainsFunc(analyzer.Terms(near, lang()), func(term string) bool { return w.units[term] }) {
				return true
			}
		}
	}
	return false
}

// numerals are number words.
var numerals = wordset.Of(`one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred thousand million billion
	zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig fünfzig hundert tausend
	deux trois quatre cinq sept huit neuf dix onze douze quinze vingt trente cent mille
	dos tres cuatro cinco seis siete ocho nueve diez once doce veinte treinta cien mil
	due tre quattro cinque sei sette otto nove dieci venti trenta cento
	два две три четыре пять шесть семь восемь девять десять двадцать`)
