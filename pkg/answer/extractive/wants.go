package extractive

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/wordset"
)

// want is the kind of value that a question asks for, as far as its wording shows.
type want int

const (
	wantAny want = iota // not clear from the words
	wantMoney
	wantMass
	wantPhone
	wantMail
)

// Words that show which kind of value a question asks for, in languages with spaces between words.
var (
	mannerWords = wordset.Of(`how wie`)
	doingWords  = wordset.Of(`do does did can could to should would kann können muss soll sollte mache geht funktioniert`) // only after one of mannerWords: "how do I"
	moneyWords  = wordset.Of(`cost costs price prices priced fee fees kostet kosten preis preise teuer gebühr gebühren coûte coûtent coûter prix tarif tarifs
		cuesta cuestan precio precios costa costano prezzo prezzi custa custam preço kost prijs стоит стоят цена стоимость`)
	timeWords  = wordset.Of(`when wann quand cuándo wanneer когда`)
	massWords  = wordset.Of(`heavy weigh weighs weight schwer wiegt gewicht lourd pèse pèsent poids pesa peso weegt zwaar весит`)
	phoneWords = wordset.Of(`phone telephone telefon telefonnummer rufnummer téléphone teléfono telefono telefone telefoonnummer телефон`)
	mailWords  = wordset.Of(`email mail courriel correo emailadresse mailadresse`)
	sendWords  = wordset.Of(`number nummer numéro número numero address adresse dirección indirizzo endereço номер адрес`) // not topics if asked for a phone number or mail address

	// otherWords ask for something else, even if a value is mentioned: "who pays the costs", "where is the price list".
	otherWords = wordset.Of(`who whom whose where why wer wem wen wo warum wieso wozu qui où pourquoi quién dónde chi dove perché quem onde waar waarom кто где почему`)

	// genericWords ask for something without saying which kind.
	genericWords = wordset.Of(`what which welche welcher welches welchen quel quelle quels quelles cuál cuáles quale quali qual quais`)
)

// wantIn returns the kind of value that a question asks for. It returns wantAny for questions with several parts or
// about how to do something, which don't ask for a single kind of value.
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
	switch {
	case asked > 1, has(otherWords), has(timeWords), len(words) > 1 && mannerWords[words[0]] && doingWords[words[1]]:
		return wantAny
	case has(phoneWords):
		return wantPhone
	case has(mailWords):
		return wantMail
	case has(moneyWords):
		return wantMoney
	case has(massWords):
		return wantMass
	}
	return wantAny
}

// isSelfExplanatory reports whether values of the kind w, such as mail addresses, speak for themselves. For example,
// "Lena (lena@example.org)" answers a question about Lena's mail address without the word "mail". But the text must
// contain her name.
func (w want) isSelfExplanatory() bool { return w == wantPhone || w == wantMail }

// covers reports whether the word only says which kind of value is requested, as "price" does for amounts of money.
func (w want) covers(word string) bool {
	switch w {
	case wantMoney:
		return moneyWords[word]
	case wantMass:
		return massWords[word]
	case wantPhone:
		return phoneWords[word] || sendWords[word]
	case wantMail:
		return mailWords[word] || sendWords[word]
	}
	return false
}

var (
	money = lazyregexp.New(`(?i)[€$£¥₽₹₩₪₴₺฿₫₦]|\b(?:eur|euros?|usd|dollars?|gbp|pounds?|chf|francs?|franken|cents?|nok|sek|dkk|kr|pln|zł|czk|huf|jpy|yen|cny|yuan|rubel|rupees?|kronor|kronen|kroner?|krónur|rubles?|roubles?|zlotys?|złotych|forints?|dirhams?|dinars?|riyals?|shekels?|baht|pence|inr|krw|brl|mxn|aud|cad|nzd|sgd|hkd|thb|ils|aed|zar)\b|` +
		`\d\s?(?:crowns?|korun\pL?|kč|ft|lei|leva|lira|rials?|rupia\pL?|won|ringgit|rupiah|pesos?|reais|real|rand|shillings?|hryvn\pL+|rmb|kn|try|credits?)(?:[^\pL]|$)|руб|грн|円|元|원|\d\s?(?:million|billion|mio|mrd|milliard|mill[oó]n|miliard)|` +
		`\b(?:price|cost|fee|preis|gebühr|prix|tarif|precio|prezzo|preço|prijs)s?\b[^;:.]{0,20}:`)
	free  = lazyregexp.New(`(?i)\b(?:free(?: of charge)?|at no charge|kostenlos|kostenfrei|gratuits?|gratuitement|gratis|gratuit[oa]s?|offerte?s?)\b|бесплатн`)
	mass  = lazyregexp.New(`(?i)\d\s?(?:kg|g|t|lbs?|oz|kilos?|kilogram\pL*|gram\pL*|tonn?e[sn]?|tons?|pounds?|pfund|кг|公斤)(?:[^\pL]|$)`)
	phone = lazyregexp.New(`\+?\(?\d[\d ()/.-]{4,}\d|\b(?:extension|ext\.|durchwahl|poste)\b`)
	mail  = lazyregexp.New(`\S@\S`)
)

// isIn reports whether the text contains a value of the requested kind.
func (w want) isIn(text string) bool {
	if w == wantAny {
		return false
	}
	text = partedIdentifiers(text)
	digits := strings.ContainsFunc(text, unicode.IsDigit)
	switch w {
	case wantMoney:
		return digits && money().MatchString(text) || free().MatchString(text)
	case wantMass:
		return digits && mass().MatchString(text)
	case wantPhone:
		return phone().MatchString(text)
	case wantMail:
		return mail().MatchString(text)
	}
	return false
}
