package support

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

func itoa(n int) string { return strconv.Itoa(n) }

// units maps unit names to canonical ones. Figures with different known units are never equal.
var units = table(`
	day: day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen день дня дней werktage werktagen jours arbeitstage
	week: week weeks woche wochen semaine semaines semana semanas settimana settimane weken неделя недели недель
	month: month months monat monate monaten mois mes meses mese mesi mês maand maanden месяц месяца месяцев
	year: year years jahr jahre jahren ans année années año años anno anni ano anos jaar год года лет
	hour: h hour hours hr hrs stunde stunden std heure heures hora horas ora ore uur uren час часа часов
	minute: min mins minute minutes minuten minuto minutos minuti minuut минута минуты минут
	second: s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo secondi seconden секунда секунды секунд
	euro: eur euro euros евро
	dollar: usd dollar dollars dólares доллар доллара долларов
	pound: gbp pounds
	yen: jpy yen
	ruble: rub рубль рубля рублей руб
	percent: percent prozent pourcent procent процент процента процентов pct
	kg: kg kilogram kilograms kilogramm kilo kilos кг
	g: g gram grams gramm gramme grammes
	t: t tonne tonnes tonnen т
	mm: mm мм
	cm: cm см
	m: m meter metre meters metres mètre mètres metro metros metri метр метра метров
	km: km kilometer kilometers kilometre kilometres км
	l: l liter litre liters litres litro litros litri литр литра литров
	w: w watt watts
	kw: kw
	kwh: kwh
	v: v volt volts
	a: amp amps ampere
	bar: bar
	hz: hz
	db: db
	kb: kb
	mb: mb
	gb: gb
`)

// symbolUnits are units written as a single character.
var symbolUnits = map[rune]string{
	'%': "percent", '％': "percent", '€': "euro", '$': "dollar", '£': "pound", '¥': "yen", '￥': "yen", '₽': "ruble",
	'円': "yen", '元': "yuan", '年': "year", '日': "day", '天': "day", '月': "month", '週': "week", '周': "week", '時': "hour", '时': "hour", '分': "minute", '秒': "second",
	'년': "year", '일': "day", '월': "month", '원': "won",
}

// unitAt returns the canonical unit at the start of a text, after at most one space or hyphen, or "" if there is none.
func unitAt(rest string) string {
	if c, size := utf8.DecodeRuneInString(rest); isThinSpace(c) || c == '-' {
		rest = rest[size:]
	}
	unit, _ := unitOf(rest)
	return unit
}

// unitOf returns the canonical unit at the start of a text, and its length in bytes.
func unitOf(rest string) (unit string, length int) {
	c, size := utf8.DecodeRuneInString(rest)
	if u := symbolUnits[c]; u != "" {
		return u, size
	}
	if c == '°' {
		return "degree", size
	}
	const longest = 30 // bytes
	end := 0
	for end < len(rest) && end <= longest {
		c, size := utf8.DecodeRuneInString(rest[end:])
		if !unicode.IsLetter(c) || unspaced(c) {
			break
		}
		end += size
	}
	return units[strings.ToLower(rest[:end])], end
}

// numberWords maps number words to values. Words for 1 are omitted, because they are articles in most languages.
var numberWords = table(`
	2: two zwei deux dos due dois duas twee два две двух
	3: three drei trois tres tre três drie три трёх трех
	4: four vier quatre cuatro quattro quatro четыре четырёх четырех
	5: five fünf cinq cinco cinque vijf пять пяти
	6: six sechs seis sei zes шесть шести
	7: seven sieben sept siete sette sete zeven семь семи
	8: eight acht huit ocho otto oito восемь восьми
	9: nine neun neuf nueve nove negen девять девяти
	10: ten zehn dix diez dieci dez tien десять десяти
	11: eleven elf onze undici одиннадцать
	12: twelve zwölf douze doce dodici doze twaalf двенадцать двенадцати
	13: thirteen dreizehn treize trece tredici treze dertien тринадцать
	14: fourteen vierzehn quatorze catorce quattordici catorze veertien четырнадцать
	15: fifteen fünfzehn quinze quince quindici vijftien пятнадцать
	16: sixteen sechzehn seize dieciséis sedici dezesseis zestien шестнадцать
	18: eighteen achtzehn dieciocho diciotto dezoito achttien восемнадцать
	20: twenty zwanzig vingt veinte venti vinte twintig двадцать двадцати
	24: vierundzwanzig ventiquattro
	30: thirty dreißig trente treinta trenta trinta dertig тридцать тридцати
	40: forty vierzig quarante cuarenta quaranta quarenta veertig сорок
	50: fifty fünfzig cinquante cincuenta cinquanta cinquenta vijftig пятьдесят
	60: sixty sechzig soixante sesenta sessanta sessenta zestig шестьдесят
	90: ninety neunzig nonante noventa novanta negentig девяносто
	100: hundred hundert cent cien cento cem honderd сто
`)

// numberIn maps each number word that means something else in other languages to the only language in which it counts
// as a number.
var numberIn = map[string]analysis.Language{"due": "it", "sei": "it", "dos": "es", "cent": "fr", "elf": "de"}

// table parses "value: word word …" lines into a map from words to values. If a word is on several lines, the first one
// wins.
func table(text string) map[string]string {
	out := make(map[string]string)
	for l := range strings.Lines(text) {
		value, words, _ := strings.Cut(strings.TrimSpace(l), ": ")
		for w := range strings.FieldsSeq(words) {
			if _, known := out[w]; !known {
				out[w] = value
			}
		}
	}
	return out
}
