package charset

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"
)

const (
	invalidSample       = 8 << 10 // maximum size in bytes of the text collected around all stray bytes
	invalidContextBytes = 60      // context bytes on either side of a stray byte
	minInvalid          = 8       // minimum number of stray bytes for guessing their encoding
)

// addInvalid records piece[at], a byte that can't be UTF-8, with the words around it.
func (t *Evidence) addInvalid(piece []byte, at int) {
	if len(t.invalidContext) >= invalidSample {
		return
	}
	start, end := at, at+1
	for start > 0 && at-start < invalidContextBytes && piece[start-1] < utf8.RuneSelf && piece[start-1] != '\n' {
		start--
	}
	for end < len(piece) && end-at < invalidContextBytes && piece[end] < utf8.RuneSelf && piece[end] != '\n' {
		end++
	}
	if start == at && len(t.invalidContext) > 0 && at > 0 && piece[at-1] >= utf8.RuneSelf {
		t.invalidContext = append(t.invalidContext, piece[at:end]...) // the text before this byte has already been collected
		return
	}
	t.invalidContext = append(append(t.invalidContext, '\n'), piece[start:end]...)
}

// InvalidEncoding returns the encoding of stray bytes in UTF-8 text. `name` is the encoding that Decide returned for
// the text. The result is nil if `name` is not UTF-8, there are no stray bytes, or they are not in a single-byte
// encoding.
func (t *Evidence) InvalidEncoding(name string) *charmap.Charmap {
	if name != "utf-8" || t.Bad == 0 && len(t.incomplete) == 0 {
		return nil
	}
	if t.Bad < minInvalid {
		return charmap.Windows1252
	}
	guess, _ := guessEncoding(t.invalidContext)
	enc, _ := ByName(guess)
	single, _ := enc.(*charmap.Charmap)
	return single
}

// bonusSequence is added to the score of each valid UTF-8 sequence, because such sequences are rare in other encodings.
const bonusSequence = 0.3

// mixedScore returns the sample's score as UTF-8 with stray bytes, on the same scale as other encodings' scores.
func (t *Evidence) mixedScore() float64 {
	stray := t.InvalidEncoding("utf-8")
	if stray == nil {
		return -costImpossible
	}
	text := repairUTF8(focusSample(t.sample), stray)
	best := -costImpossible
	for _, c := range candidates {
		for _, w := range weights()[c.name] {
			if c.common == "" {
				best = max(best, scoreNarrow(text, w))
			}
		}
	}
	return best + bonusSequence*float64(t.validSequences)/float64(t.validSequences+t.Bad)
}

// repairUTF8 decodes the stray bytes in UTF-8 text as `stray` and returns valid UTF-8.
func repairUTF8(data []byte, stray *charmap.Charmap) string {
	// The transformer itself never fails.
	text, _, _ := transform.Bytes(&Repairer{Encoding: stray}, data)
	return string(text)
}

// Repairer decodes UTF-8 mixed with bytes in a single-byte encoding, as in concatenated files and logs. A truncated
// UTF-8 sequence becomes U+FFFD.
type Repairer struct {
	Encoding *charmap.Charmap
	prev     rune // the last character written
}

// Reset implements transform.Transformer.
func (d *Repairer) Reset() { d.prev = 0 }

// Transform implements transform.Transformer.
func (d *Repairer) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		rest := src[nSrc:]
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(rest) && !atEOF {
				return nDst, nSrc, transform.ErrShortSrc
			}
			r, size = d.decode(rest)
		}
		if nDst+utf8.RuneLen(r) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += size
		d.prev = r
	}
	return nDst, nSrc, nil
}

// decode decodes one non-UTF-8 character at the start of `src`. It also returns the number of bytes that the character
// replaces.
func (d *Repairer) decode(src []byte) (r rune, size int) {
	follows := 1 // length of the sequence that the first byte may start
	if src[0] >= 0xc2 && src[0] <= 0xf4 {
		for follows < len(src) && follows < 3 && src[follows]&0xc0 == 0x80 {
			follows++
		}
	}
	r = d.Encoding.DecodeByte(src[0])
	cut := follows > 1 || len(src) == 1 && src[0] >= 0xc2 && src[0] <= 0xf4 && (!unicode.IsLetter(d.prev) || unicode.IsUpper(r))
	if cut || !unicode.IsGraphic(r) || r == utf8.RuneError || d.prev == utf8.RuneError && src[0] < 0xc0 {
		return utf8.RuneError, follows
	}
	return r, 1
}
