// Package charset detects and decodes text encodings. All text formats use it, as do other packages that need the
// encoding before a document is read.
package charset

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Decode converts bytes to UTF-8. It also returns their encoding, for diagnostics. `label` is the declared encoding,
// which may be wrong, or "".
func Decode(data []byte, label string) (text, name string) {
	var t Evidence
	t.Add(data)
	name, skip := t.Decide(label)
	if stray := t.InvalidEncoding(name); stray != nil {
		return repairUTF8(data[skip:], stray), name
	}
	return DecodeWith(data[skip:], name)
}

// Decide returns the most likely encoding, and the length of the byte order mark to skip. It tries these in order and
// stops at the first that is conclusive:
//   - the byte order mark
//   - the pattern of zero bytes (UTF-16 and UTF-32)
//   - the escape sequences of ISO-2022
//   - the validity of the text as UTF-8 (text in another encoding is almost never valid by chance)
//   - the label, or else the XML declaration
//   - a comparison of decoding scores
func (t *Evidence) Decide(label string) (name string, skip int) {
	if wide, skip := Wide(t.head); wide != "" {
		return wide, skip
	}
	if bytes.HasPrefix(t.head, []byte("\xef\xbb\xbf")) {
		return "utf-8", 3
	}
	if looksISO2022(t.head) && !t.hasNonASCII() {
		return iso2022(t.head), 0
	}
	if label == "" {
		label = xmlDeclaredEncoding(t.head)
	}
	enc, canonical := charset.Lookup(label)
	if enc == nil || wideLabel(canonical) {
		canonical = ""
	}
	if t.isUTF8(canonical) {
		return "utf-8", 0
	}
	if canonical != "" && canonical != "utf-8" && (canonical != "windows-1252" || !t.contradicts(canonical)) {
		return canonical, 0
	}
	guess, score := guessEncoding(t.sample)
	if t.validSequences > 0 && t.mixedScore() > score {
		return "utf-8", 0
	}
	return guess, 0
}

// isUTF8 reports whether the text is UTF-8, possibly with a few stray bytes. Text in another encoding usually has more
// invalid bytes than valid multi-byte sequences. If the label names another encoding, more valid sequences are
// required.
func (t *Evidence) isUTF8(label string) bool {
	cut := len(t.incomplete) > 0 // the text ends in the middle of a multi-byte sequence or is not UTF-8
	switch {
	case t.Bad == 0:
		return !cut || t.validSequences >= 2
	case label == "utf-8":
		return t.validSequences > t.Bad
	case label == "":
		return t.validSequences >= 3 && t.validSequences > t.Bad
	}
	return t.validSequences >= 4 && t.validSequences > 4*t.Bad
}

var xmlDeclaration = regexp.MustCompile(`^\s*<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// xmlDeclaredEncoding returns the encoding named in the text's XML declaration, or "" if there is none.
func xmlDeclaredEncoding(head []byte) string {
	if m := xmlDeclaration.FindSubmatch(head[:min(len(head), 1024)]); m != nil {
		return string(m[1])
	}
	return ""
}

// wideLabel reports whether the label names UTF-16 or UTF-32. Callers ignore such labels, because the bytes alone show
// whether the text is in one of these encodings.
func wideLabel(label string) bool {
	return strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "utf-32")
}

// Wide returns the encoding's name if the text is UTF-16 or UTF-32, judging by the byte order mark and zero bytes, and
// "" otherwise. `skip` is the byte order mark's length.
func Wide(data []byte) (name string, skip int) {
	for _, m := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "utf-32le"}, {"\x00\x00\xfe\xff", "utf-32be"},
		{"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
	} {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return m.name, len(m.mark)
		}
	}
	sample := data[:min(len(data), 4096)&^3]
	if len(sample) < 4 {
		return "", 0
	}
	for _, order := range []struct {
		name string
		get  func([]byte) uint32
	}{{"utf-32le", binary.LittleEndian.Uint32}, {"utf-32be", binary.BigEndian.Uint32}} {
		if allRunes(sample, order.get) {
			return order.name, 0
		}
	}
	var zeros [4]int
	for i, b := range sample {
		if b == 0 {
			zeros[i%4]++
		}
	}
	quarter := len(sample) / 4
	limit := func(n int) bool { return n*10 >= quarter*7 }
	few := func(n int) bool { return n*20 <= quarter }
	switch {
	case limit(zeros[1]) && limit(zeros[3]) && few(zeros[0]) && few(zeros[2]):
		return "utf-16le", 0
	case limit(zeros[0]) && limit(zeros[2]) && few(zeros[1]) && few(zeros[3]):
		return "utf-16be", 0
	}
	return wideByScript(sample)
}

// allRunes reports whether the sample consists of printable UTF-32 characters, decoded by `get`. Text in other
// encodings almost never passes, because every UTF-32 character begins or ends with a zero byte.
func allRunes(sample []byte, get func([]byte) uint32) bool {
	for i := 0; i < len(sample); i += 4 {
		if c := get(sample[i:]); c > unicode.MaxRune || !unicode.IsGraphic(rune(c)) && !unicode.IsSpace(rune(c)) && c != '\ufeff' {
			return false
		}
	}
	return true
}

// wideByScript recognises UTF-16 without a byte order mark in non-Latin scripts and returns its name. In such text,
// hardly any byte pairs except spaces and line ends contain a zero byte. The zero byte comes first in big-endian text
// and second in little-endian text.
func wideByScript(sample []byte) (name string, skip int) {
	var ascii, other [2]int // number of byte pairs by the index of their zero byte, for ASCII and for other characters
	for i := 0; i+1 < len(sample); i += 2 {
		for side := range 2 {
			if sample[i+side] != 0 {
				continue
			}
			if b := sample[i+1-side]; b == ' ' || b == '\n' || b == '\r' || b >= '!' && b < 0x7f {
				ascii[side]++
			} else {
				other[side]++
			}
		}
	}
	const few = 100 // at least one pair in this many must have a zero byte; text in other encodings has none
	pairs := len(sample) / 2
	for zero, order := range []struct {
		name string
		get  func([]byte) uint16
	}{{"utf-16be", binary.BigEndian.Uint16}, {"utf-16le", binary.LittleEndian.Uint16}} {
		// Most zero bytes must come from ASCII characters. A few may be the low bytes of other characters, such as
		// U+AC00.
		if n := ascii[zero]; n < 2 || n*few < pairs || ascii[1-zero] > 0 || other[0]+other[1] >= n {
			continue
		}
		graphic := 0
		for i := 0; i+1 < len(sample); i += 2 {
			if r := rune(order.get(sample[i:])); unicode.IsGraphic(r) || unicode.IsSpace(r) || utf16.IsSurrogate(r) {
				graphic++
			}
		}
		if graphic*20 >= pairs*19 {
			return order.name, 0
		}
	}
	return "", 0
}

// looksISO2022 reports whether `data` contains the escape sequences of ISO-2022-JP, ISO-2022-KR or HZ.
func looksISO2022(data []byte) bool { return iso2022(data) != "" }

func iso2022(data []byte) string {
	for _, esc := range []struct{ seq, name string }{
		{"\x1b$B", "iso-2022-jp"}, {"\x1b$@", "iso-2022-jp"}, {"\x1b(I", "iso-2022-jp"}, {"\x1b$)C", "iso-2022-kr"},
	} {
		if bytes.Contains(data, []byte(esc.seq)) {
			return esc.name
		}
	}
	if start := bytes.Index(data, []byte("~{")); start >= 0 {
		if n := bytes.Index(data[start:], []byte("~}")); n > 2 && n%2 == 0 {
			return "hz-gb-2312"
		}
	}
	return ""
}

// Evidence records what a text's bytes reveal about its encoding. Add receives the text in chunks; only a sample is
// kept.
type Evidence struct {
	head                []byte // the first bytes
	sample              []byte // excerpts with non-ASCII bytes
	validSequences, Bad int    // number of valid multi-byte UTF-8 sequences, and of bytes that cannot be UTF-8
	Feeds               bool   // the text contains a form feed
	incomplete          []byte // an incomplete sequence that the next chunk may complete
	invalidContext      []byte // text around bytes that cannot be UTF-8
}

const (
	evidenceHead   = 64 << 10
	evidenceSample = 192 << 10
)

func (t *Evidence) hasNonASCII() bool { return len(t.sample) > 0 }

// Add examines the next chunk of the text.
func (t *Evidence) Add(piece []byte) {
	if capacity := evidenceHead - len(t.head); capacity > 0 {
		t.head = append(t.head, piece[:min(capacity, len(piece))]...)
	}
	t.Feeds = t.Feeds || bytes.IndexByte(piece, '\f') >= 0
	const stretch = 4 << 10
	for at := 0; at < len(piece) && len(t.sample) < evidenceSample; at += stretch {
		part := piece[at:min(at+stretch, len(piece))]
		if !IsASCII(part) {
			t.sample = append(t.sample, part...)
		}
	}
	if len(t.incomplete) > 0 {
		piece = append(t.incomplete, piece...)
		t.incomplete = nil
	}
	for i := 0; i < len(piece); {
		if piece[i] < utf8.RuneSelf {
			i++
			continue
		}
		if !utf8.FullRune(piece[i:]) {
			t.incomplete = append([]byte(nil), piece[i:]...)
			return
		}
		if _, n := utf8.DecodeRune(piece[i:]); n > 1 {
			t.validSequences++
			i += n
		} else {
			t.Bad++
			t.addInvalid(piece, i)
			i++
		}
	}
}

// IsASCII reports whether all bytes are ASCII.
func IsASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

// minLead is how far another encoding must outscore the labelled one before the label is ignored. Correctly decoded
// text scores about 1, inconclusive text about 0.
const minLead = 0.5

// contradicts reports whether another encoding fits so much better that the label must be wrong. Some senders put the
// same label on all their documents.
func (t *Evidence) contradicts(name string) bool {
	const enough = 6 // minimum number of non-ASCII sequences for a judgement
	if t.validSequences+t.Bad < enough {
		return false
	}
	best, _ := guessEncoding(t.sample)
	return best != name && scoreEncoding(t.sample, best) > scoreEncoding(t.sample, name)+minLead
}

// ByName returns the encoding with the given name, and its canonical name. The name may come from a detector or from a
// label. For an unknown name, it returns windows-1252.
func ByName(name string) (encoding.Encoding, string) {
	switch name {
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), name
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), name
	case "cp949", "johab":
		return korean.EUCKR, name
	case "gb2312", "gbk":
		return simplifiedchinese.GB18030, "gb18030"
	case "hz-gb-2312":
		return simplifiedchinese.HZGB2312, name
	case "cp932":
		name = "shift_jis"
	case "tis-620":
		name = "windows-874"
	case "macroman":
		name = "macintosh"
	case "maccyrillic":
		name = "x-mac-cyrillic"
	case "ibm855":
		return charmap.CodePage855, name
	case "cp437":
		return charmap.CodePage437, name
	case "cp850":
		return charmap.CodePage850, name
	case "cp852":
		return charmap.CodePage852, name
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return charmap.Windows1252, "windows-1252"
	}
	return enc, name
}

// DecodeWith converts bytes in a named encoding to UTF-8 text. It also returns the name of the encoding it used.
func DecodeWith(data []byte, name string) (string, string) {
	if name == "utf-8" {
		return strings.ToValidUTF8(string(data), "\uFFFD"), name
	}
	enc, name := ByName(name)
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		// Decoders replace invalid bytes. If decoding fails anyway, out is the text decoded so far.
		return strings.ToValidUTF8(string(out), "\uFFFD"), name
	}
	return string(out), name
}

// Known reports whether the label names a known encoding.
func Known(label string) bool {
	enc, _ := charset.Lookup(label)
	return enc != nil
}
