package charset

import "unicode/utf8"

// charLevel is the section of a two-byte character set that holds the common characters. Asian character sets keep rare
// characters in separate ranges, so many rare characters indicate a wrong decoder.
type charLevel struct {
	encoding    string
	first, last byte // range of its characters' first bytes
	score       float64
}

// Score of a character in a charLevel; a frequent character scores 1. The score is above 0, because a table of names
// has few frequent characters, and below 1, because noise can hit the level by chance. The Korean level holds only a
// fifth of all syllables, so chance hits are rarer and its score is higher.
const (
	scoreLevel  = 0.5
	scoreKorean = 0.6
)

var (
	levelGB   = charLevel{"gb18030", 0xb0, 0xd7, scoreLevel} // level 1 of GB 2312: 3,755 hanzi
	levelJIS  = charLevel{"euc-jp", 0xb0, 0xcf, scoreLevel}  // level 1 of JIS X 0208: 2,965 kanji
	levelBig5 = charLevel{"big5", 0xa4, 0xc6, scoreLevel}    // level 1 of Big5: 5,401 hanzi
	levelKS   = charLevel{"euc-kr", 0xb0, 0xc8, scoreKorean} // KS X 1001: 2,350 syllables, of 11,172
)

// weights maps each of the level's characters to l.score.
func (l charLevel) weights() map[rune]float64 {
	enc, _ := ByName(l.encoding)
	dec := enc.NewDecoder()
	w := map[rune]float64{}
	for lead := l.first; lead <= l.last; lead++ {
		for trail := byte(0x40); trail < 0xff; trail++ {
			if trail < 0xa1 && l.encoding != "big5" {
				continue
			}
			decoded, err := dec.Bytes([]byte{lead, trail})
			if r, size := utf8.DecodeRune(decoded); err == nil && r != utf8.RuneError && size == len(decoded) {
				w[r] = l.score
			}
		}
	}
	return w
}
