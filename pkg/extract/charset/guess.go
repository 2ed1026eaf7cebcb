package charset

import (
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
	"github.com/wlynxg/chardet"
)

// Scores for kinds of characters. A text's score is the mean over its non-ASCII characters; a frequent letter scores 1.
// The more strongly a character indicates correct or wrong decoding, the further its score is from 0. Only the order of
// these values matters, and tests check it.
const (
	scoreRarest = 0.4  // rarest letter of an alphabet; text has mostly frequent letters, noise uses all equally
	scoreKana   = 0.9  // kana: half of any Japanese text; no other candidate encoding yields runs of them
	scoreMark   = 0.4  // East Asian punctuation: every East Asian text contains it, but noise often does too
	scoreQuote  = 0.25 // quotation marks and dashes, which occur in texts in all encodings

	costImpossible = 3.0 // undefined byte, control or private-use character; outweighs three good letters
	costInWord     = 1.5 // symbol between two letters: "zauwa¿yli"
	costCapital    = 1.2 // capital after a small letter, or vice versa: sign of a wrong code page
	costMisplaced  = 1.0 // valid character in a wrong position: a quotation mark within a word, mixed scripts
	costLetter     = 0.8 // letter outside the alphabet; any text contains a few, in names and loanwords
	costSign       = 0.6 // any other symbol, or half-width kana: single bytes in Shift-JIS, so common in noise
	costRare       = 0.5 // character from the correct script, but used in hardly any word
	costOther      = 0.4 // letter from another script among two-byte characters, where a few are usual
	costFrame      = 0.2 // box-drawing character, common in DOS files, or symbol among two-byte characters

	bonusLanguage = 0.25 // maximum bonus if whatlanggo detects the alphabet's language in the whole text
	minConfidence = 0.3  // floor for whatlanggo's confidence, which is near zero for related languages even if correct
	bonusChardet  = 0.2  // maximum bonus from chardet's statistics, which only break near-ties

	// Priors favour common encodings when scores are tied.
	priorCommon = 0.05  // the most common encoding of unlabelled files
	priorSubset = -0.02 // nearly the same as a Windows code page, which is more common
	priorSeldom = -0.05 // other code pages with the same letters are more common
	priorOld    = -0.1  // encodings of obsolete systems
	priorOldest = -0.12 // older than another obsolete encoding with the same letters
)

// candidate is an encoding that unlabelled text may have, with its typical characters.
type candidate struct {
	name      string
	alphabets []alphabet // letters of its languages; single-byte encodings only
	common    string     // frequent characters; two-byte encodings only
	level     charLevel  // range of commonly used characters; two-byte encodings only
	prior     float64    // how common the encoding is, on the same scale as scores
}

// candidates lists the encodings in the order they are tried. Ties go to the first.
var candidates = []candidate{
	{name: "windows-1252", alphabets: westernLetters, prior: priorCommon},
	{name: "windows-1251", alphabets: cyrillicLetters},
	{name: "windows-1250", alphabets: centralLetters},
	{name: "gb18030", common: commonSimplified, level: levelGB},
	{name: "shift_jis", common: commonKanji, level: levelJIS},
	{name: "euc-jp", common: commonKanji, level: levelJIS},
	{name: "big5", common: commonTraditional, level: levelBig5},
	{name: "euc-kr", common: commonHangul, level: levelKS},
	{name: "windows-1254", alphabets: turkishLetters},
	{name: "windows-1253", alphabets: greekLetters},
	{name: "iso-8859-7", alphabets: greekLetters, prior: priorSubset},
	{name: "windows-1255", alphabets: hebrewLetters},
	{name: "windows-1256", alphabets: arabicLetters},
	{name: "iso-8859-6", alphabets: arabicLetters, prior: priorSubset},
	{name: "windows-1257", alphabets: balticLetters, prior: priorSeldom},
	{name: "windows-874", alphabets: thaiLetters},
	{name: "koi8-r", alphabets: cyrillicLetters[:1]},
	{name: "koi8-u", alphabets: cyrillicLetters[1:2], prior: priorSubset},
	{name: "ibm866", alphabets: cyrillicLetters},
	{name: "iso-8859-5", alphabets: cyrillicLetters, prior: priorSubset},
	{name: "x-mac-cyrillic", alphabets: cyrillicLetters, prior: priorSubset},
	{name: "iso-8859-2", alphabets: centralLetters, prior: priorSubset},
	{name: "iso-8859-15", alphabets: westernLetters, prior: priorSubset},
	{name: "windows-1258", alphabets: vietLetters, prior: priorOld},
	{name: "macintosh", alphabets: westernLetters, prior: priorOld},
	{name: "cp850", alphabets: westernLetters, prior: priorOld},
	{name: "cp852", alphabets: centralLetters, prior: priorOld},
	{name: "cp437", alphabets: westernLetters, prior: priorOldest},
}

// weights maps each candidate's characters to their scores. It is computed on first use.
var weights = sync.OnceValue(func() map[string][]map[rune]float64 {
	m := make(map[string][]map[rune]float64, len(candidates))
	for _, c := range candidates {
		for _, a := range c.alphabets {
			w := map[rune]float64{}
			n := float64(utf8.RuneCountInString(a.letters))
			i := 0.0
			for _, r := range a.letters {
				if w[r] == 0 {
					w[r] = 1 - (1-scoreRarest)*i/n
				}
				i++
			}
			m[c.name] = append(m[c.name], w)
		}
		if c.common != "" {
			w := c.level.weights()
			for _, r := range c.common {
				w[r] = 1
			}
			m[c.name] = append(m[c.name], w)
		}
	}
	return m
})

// GuessCharset returns the most likely encoding of unlabelled non-UTF-8 text, with the same result as extraction. It
// returns a WHATWG name, or cp437, cp850 or cp852.
func GuessCharset(text []byte) string {
	var evidence Evidence
	evidence.Add(text)
	name, _ := guessEncoding(evidence.sample)
	return name
}

// guessEncoding decodes the sample in every candidate encoding and returns the best-scoring one. If scores are close,
// the chardet library's statistics decide. If all scores are bad, it returns Windows-1252.
func guessEncoding(sample []byte) (name string, score float64) {
	sample = sample[:min(len(sample), evidenceSample)]
	if len(sample) == 0 {
		return "windows-1252", 0
	}
	said := chardet.Detect(sample)
	second := strings.ToLower(said.Encoding)
	if second != "" {
		_, second = ByName(second)
	}
	focus := focusSample(sample)
	best, bestScore := "windows-1252", math.Inf(-1)
	for _, c := range candidates {
		score := c.score(focus)
		if c.name == second {
			score += bonusChardet * said.Confidence
		}
		if score > bestScore {
			best, bestScore = c.name, score
		}
	}
	return best, bestScore
}

// focusSample shortens the sample to the amount needed for a reliable score, because every candidate encoding is tried
// on it.
func focusSample(sample []byte) []byte {
	const enough = 12 << 10
	if len(sample) <= enough {
		return sample
	}
	cut := enough // moved forward to a position between two ASCII bytes, so that no character is split
	for cut < len(sample)-1 && cut < enough+256 && (sample[cut] >= utf8.RuneSelf || sample[cut-1] >= utf8.RuneSelf) {
		cut++
	}
	return sample[:cut]
}

// scoreEncoding returns the score of the sample in the named encoding, or -1 if that encoding is not a candidate.
func scoreEncoding(sample []byte, name string) float64 {
	for _, c := range candidates {
		if c.name == name {
			return c.score(focusSample(sample))
		}
	}
	return -1
}

// score returns the mean score of non-ASCII characters, from about -costImpossible (noise) to 1.
func (c candidate) score(sample []byte) float64 {
	enc, _ := ByName(c.name)
	decoded, err := enc.NewDecoder().Bytes(sample)
	if err != nil {
		return -costImpossible
	}
	text := string(decoded)
	best := math.Inf(-1)
	for i, w := range weights()[c.name] {
		var s float64
		if c.common != "" {
			s = scoreWide(text, w)
		} else {
			s = scoreNarrow(text, w)
		}
		if len(c.alphabets) > i && s > 0 {
			s += languageBonus(text, c.alphabets[i].lang)
		}
		best = max(best, s)
	}
	return best + c.prior
}

// languageBonus returns a bonus of at most bonusLanguage if the text, including its ASCII letters, is in `lang`.
func languageBonus(text, lang string) float64 {
	if lang == "" || len(text) < 40 {
		return 0
	}
	if info := whatlanggo.Detect(text[:min(len(text), 2000)]); info.Lang.Iso6393() == lang {
		return bonusLanguage * max(info.Confidence, minConfidence)
	}
	return 0
}

// scoreNarrow scores text decoded from a single-byte encoding. Letters in the alphabet raise the score. Other letters,
// symbols and capitals within words lower it.
func scoreNarrow(text string, alphabet map[rune]float64) float64 {
	sum, n := 0.0, 0
	prev := ' '
	for i, r := range text {
		if r < utf8.RuneSelf {
			prev = r
			continue
		}
		n++
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		switch lower := unicode.ToLower(r); {
		case r == utf8.RuneError || r < 0xa0 || unicode.Is(unicode.Co, r):
			sum -= costImpossible
		case unicode.Is(unicode.Mn, r) && !unicode.IsLetter(prev) && !unicode.IsMark(prev):
			sum -= costMisplaced // a tone mark or vowel sign without a base letter
		case alphabet[lower] > 0:
			// A lone letter is no evidence: its byte may be a currency sign in another code page. But a lone lower-case
			// Latin letter does count, because it may be a word, such as "à".
			if WordRune(prev) || WordRune(next) || unicode.Is(unicode.Latin, r) && unicode.IsLower(r) {
				sum += alphabet[lower]
			}
			if unicode.IsUpper(r) && unicode.IsLower(prev) {
				sum -= costCapital
			}
			if unicode.IsLower(r) && unicode.IsUpper(prev) && unicode.IsUpper(next) {
				sum -= costCapital
			}
			if isMixedScript(r, prev) {
				sum -= costMisplaced
			}
		case unicode.IsLetter(r) || unicode.IsMark(r):
			sum -= costLetter
		case strings.ContainsRune("’‘“”„«»–—…‚‹›•· ", r):
			sum += scoreQuote
			if unicode.IsLetter(prev) && unicode.IsLetter(next) && r != '’' && r != '–' && r != '—' && r != '·' && r != '‘' && r != ' ' && r != '…' {
				sum -= costMisplaced
			}
		case unicode.IsLetter(prev) && unicode.IsLetter(next):
			sum -= costInWord
		case strings.ContainsRune("€£§°©®™²³½¼№±×µªº´¡¿¢¥", r):
		case r >= 0x2500 && r < 0x2600:
			sum -= costFrame
		default:
			sum -= costSign
		}
		prev = r
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// isMixedScript reports whether a letter from a non-Latin script directly follows a Latin letter.
func isMixedScript(r, prev rune) bool {
	return unicode.IsLetter(prev) && unicode.Is(unicode.Latin, prev) && !unicode.Is(unicode.Latin, r) && !unicode.Is(unicode.Thai, r)
}

// scoreWide scores text decoded from a two-byte encoding.
func scoreWide(text string, common map[rune]float64) float64 {
	sum, n := 0.0, 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		n++
		japanese := common['円'] > 0
		switch {
		case r == utf8.RuneError || r < 0xa0 || unicode.Is(unicode.Co, r):
			sum -= costImpossible
		case common[r] > 0:
			sum += common[r]
		case unicode.Is(unicode.Hiragana, r), unicode.Is(unicode.Katakana, r) && r < 0xff00:
			if japanese {
				sum += scoreKana
			} else {
				sum -= costSign
			}
		case r == 'ー' && japanese:
			sum += scoreKana
		case r >= 0xff61 && r <= 0xff9f: // half-width katakana: one byte each in Shift-JIS, so common in noise
			sum -= costSign
		case unicode.Is(unicode.Hangul, r):
			if common['다'] > 0 { // the encoding is Korean, and hardly any word uses the syllable
				sum -= costRare
			} else {
				sum -= costMisplaced
			}
		case r >= 0x3000 && r <= 0x303f, r >= 0xff01 && r <= 0xff5e, strings.ContainsRune("“”‘’…—·《》「」", r):
			sum += scoreMark
		case unicode.Is(unicode.Han, r):
			switch {
			case common['다'] > 0:
				sum -= costRare
			case r >= 0x4e00 && r <= 0x9fff:
			default:
				sum -= costMisplaced
			}
		case unicode.IsLetter(r):
			sum -= costOther
		default:
			sum -= costFrame
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
