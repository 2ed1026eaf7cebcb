package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Replacements for letter variants in the Arabic, Hebrew and Greek scripts: alef with hamza or madda, Arabic and
// Persian yeh and kaf, ta marbuta and heh, final forms.
var letterVariants = map[rune]rune{
	'آ': 'ا', 'أ': 'ا', 'إ': 'ا', 'ٱ': 'ا', 'ؤ': 'و', 'ئ': 'ی', 'ي': 'ی', 'ى': 'ی', 'ك': 'ک', 'ة': 'ه', 'ۀ': 'ه', 'ۂ': 'ه', 'ہ': 'ه', 'ە': 'ه',
	'ך': 'כ', 'ם': 'מ', 'ן': 'נ', 'ף': 'פ', 'ץ': 'צ',
	'ς': 'σ',
}

// Hindi spellings to be treated as equal. Half na and chandrabindu are written as anusvara, candra and short vowels as
// the usual vowels, and letters with a nukta without it.
var devanagariVariants = strings.NewReplacer(
	"न्", "ं", "ँ", "ं", "़", "",
	"ऩ", "न", "ऱ", "र", "ऴ", "ळ",
	"ॅ", "े", "ॆ", "े", "ॉ", "ो", "ॊ", "ो", "ऍ", "ए", "ऎ", "ए", "ऑ", "ओ", "ऒ", "ओ", "ॲ", "अ",
)

// unify replaces each letter variant with a standard one, and digits in other scripts with ASCII digits, except in
// scripts without spaces.
func unify(term string, lang Language) string {
	if lang == German {
		term = withoutUmlautDigraphs(term)
	}
	varies, devanagari := false, false
	for _, r := range term {
		if r >= utf8.RuneSelf {
			varies = varies || letterVariants[r] != 0 || unicode.IsDigit(r)
			devanagari = devanagari || r >= 0x0900 && r < 0x0980
		}
	}
	if varies {
		term = strings.Map(func(r rune) rune {
			switch v := letterVariants[r]; {
			case v != 0:
				return v
			case r >= utf8.RuneSelf && unicode.IsDigit(r) && classOf(r) == classWord:
				return '0' + digitValue(r)
			}
			return r
		}, term)
	}
	if devanagari {
		if unified := devanagariVariants.Replace(term); unified != "" {
			return unified
		}
	}
	return term
}

// digitValue returns a decimal digit's value in any script. In each script, the ten digits are consecutive.
func digitValue(r rune) rune {
	value := rune(0)
	for value < 9 && unicode.IsDigit(r-value-1) {
		value++
	}
	return value
}

// withoutUmlautDigraphs replaces ae, oe and ue in a German word without umlauts with a, o and u, which is what fold
// does with ä, ö and ü. After a vowel or q, the e in ue belongs to another sound (neue, Quelle).
func withoutUmlautDigraphs(word string) string {
	if !strings.Contains(word, "ae") && !strings.Contains(word, "oe") && !strings.Contains(word, "ue") {
		return word
	}
	out := make([]byte, 0, len(word))
	for i := range len(word) {
		if word[i] == 'e' && i > 0 && (word[i-1] == 'a' || word[i-1] == 'o' || word[i-1] == 'u' && (i < 2 || !strings.ContainsRune("aeiouq", rune(word[i-2])))) {
			continue
		}
		out = append(out, word[i])
	}
	return string(out)
}

// Vietnamese tone marks in open syllables: newer spellings mapped to the older ones, which put the mark on another
// letter.
var vietnameseTones = map[string]string{
	"oà": "òa", "oá": "óa", "oả": "ỏa", "oã": "õa", "oạ": "ọa", "oè": "òe", "oé": "óe", "oẻ": "ỏe", "oẽ": "õe", "oẹ": "ọe",
	"uỳ": "ùy", "uý": "úy", "uỷ": "ủy", "uỹ": "ũy", "uỵ": "ụy",
}

// vietnamese returns the term for a Vietnamese syllable, with its tone mark placed as in the older spelling.
func vietnamese(word string) string {
	_, size := utf8.DecodeLastRuneInString(word)
	if n := len(word) - size - 1; n > 0 && size > 1 && !strings.HasPrefix(word, "qu") {
		if old, ok := vietnameseTones[word[n:]]; ok {
			return word[:n] + old
		}
	}
	return word
}

// bareVietnamese is a pseudo-language for Vietnamese syllables without diacritics. They are indexed in addition to the
// regular terms, with barePrefix, so that only queries typed without diacritics find them.
const (
	bareVietnamese Language = "vi-bare"
	barePrefix     string   = "~"
)
