package format

import (
	"fmt"
	"strconv"
	"strings"
)

// alphabets maps number formats to the letters they use to number lists.
var alphabets = map[string]string{
	"lowerLetter": "abcdefghijklmnopqrstuvwxyz", "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя", "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ",
	"aiueo": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン", "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン",
	"iroha":  "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン",
	"ganada": "가나다라마바사아자차카타파하", "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
	"ideographTraditional": "甲乙丙丁戊己庚辛壬癸", "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
	"hebrew2": "אבגדהוזחטיכלמנסעפצקרשת", "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
}

// Number formats n in the given WordprocessingML number format, or as a decimal number if the format is unknown.
func Number(n int, format string) string {
	if letters, ok := alphabets[format]; ok {
		return letterNumber(n, []rune(letters))
	}
	switch format {
	case "none":
		return ""
	case "lowerRoman":
		return strings.ToLower(Roman(n))
	case "upperRoman":
		return Roman(n)
	case "decimalEnclosedCircle", "decimalEnclosedCircleChinese":
		if n >= 1 && n <= 20 {
			return string(rune('①' + n - 1))
		}
	case "numberInDash":
		return "- " + strconv.Itoa(n) + " -"
	case "ordinal":
		return ordinal(n)
	case "chineseCounting", "chineseCountingThousand", "chineseLegalSimplified", "ideographDigital", "japaneseCounting", "taiwaneseCounting",
		"taiwaneseCountingThousand", "japaneseDigitalTenThousand", "koreanDigital2":
		if n >= 1 && n < 100 {
			return hanNumber(n)
		}
	case "decimalZero":
		return fmt.Sprintf("%02d", n)
	}
	if strings.HasPrefix(format, "0") && len(format) <= 10 { // "001, 002, …"
		return fmt.Sprintf("%0*d", len(format), n)
	}
	return strconv.Itoa(n)
}

// letterNumber formats a number with letters like Word: a, b, … z, aa, bb, …
func letterNumber(n int, letters []rune) string {
	if n < 1 {
		return ""
	}
	return strings.Repeat(string(letters[(n-1)%len(letters)]), min((n-1)/len(letters)+1, 8))
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return strconv.Itoa(n) + suffix
}

// hanNumber formats a number from 1 to 99 in Chinese characters.
func hanNumber(n int) string {
	digits := []rune("零一二三四五六七八九")
	s := ""
	if n >= 20 {
		s = string(digits[n/10])
	}
	if n >= 10 {
		s += "十"
	}
	if n%10 > 0 {
		s += string(digits[n%10])
	}
	return s
}

// Roman formats a number in Roman numerals.
func Roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
		{9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= d.value {
			b.WriteString(d.text)
			n -= d.value
		}
	}
	return b.String()
}
