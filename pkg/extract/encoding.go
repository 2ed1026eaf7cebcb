package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode/utf32"
)

// decodeText turns bytes of unknown encoding into UTF-8 text. The order is by certainty: byte order mark, the zero
// bytes that UTF-16 and UTF-32 leave in Latin text, well-formed UTF-8 (which other encodings almost never are by
// accident), the label that came with the text, statistics. It returns the encoding's name for diagnosis.
func decodeText(data []byte, label string) (text, name string) {
	if wide, skip := wideEncoding(data); wide != "" {
		return decodeWith(data[skip:], wide)
	}
	if b, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		return string(b), "utf-8"
	}
	if utf8.Valid(data) && !looksISO2022(data) {
		return string(data), "utf-8"
	}
	if mostlyUTF8(data) {
		return strings.ToValidUTF8(string(data), "\uFFFD"), "utf-8"
	}
	if label != "" {
		if enc, canonical := charset.Lookup(label); enc != nil && canonical != "utf-8" {
			return decodeBytes(data, enc, canonical)
		}
	}
	return decodeWith(data, guessEncoding(data))
}

// wideEncoding recognises UTF-16 and UTF-32 by their mark or by where zero bytes stand; skip is the mark's length.
func wideEncoding(data []byte) (name string, skip int) {
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
	var zeros [4]int
	for i, b := range sample {
		if b == 0 {
			zeros[i%4]++
		}
	}
	quarter := len(sample) / 4
	most := func(n int) bool { return n*10 >= quarter*7 }
	few := func(n int) bool { return n*20 <= quarter }
	switch {
	case most(zeros[1]) && most(zeros[2]) && most(zeros[3]) && few(zeros[0]):
		return "utf-32le", 0
	case most(zeros[0]) && most(zeros[1]) && most(zeros[2]) && few(zeros[3]):
		return "utf-32be", 0
	case most(zeros[1]) && most(zeros[3]) && few(zeros[0]) && few(zeros[2]):
		return "utf-16le", 0
	case most(zeros[0]) && most(zeros[2]) && few(zeros[1]) && few(zeros[3]):
		return "utf-16be", 0
	}
	return "", 0
}

// looksISO2022 reports whether ASCII bytes carry the escape sequences of ISO-2022-JP or -KR.
func looksISO2022(data []byte) bool {
	for _, esc := range []string{"\x1b$B", "\x1b$@", "\x1b$)C"} {
		if bytes.Contains(data, []byte(esc)) {
			return true
		}
	}
	return false
}

// mostlyUTF8 reports whether data is UTF-8 with a few broken bytes, such as a text cut in the middle of a rune.
func mostlyUTF8(data []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		i += n
	}
	return good >= 4 && bad*20 <= good
}

// guessEncoding asks statistics; Windows-1252 is the answer when they have none.
func guessEncoding(data []byte) string {
	const sample = 256 << 10
	data = data[:min(len(data), sample)]
	r := chardet.Detect(data)
	name := r.Encoding
	if name == "" || strings.EqualFold(name, "ascii") {
		name = r.Charset
	}
	if name == "" || r.Confidence < 0.2 || strings.EqualFold(name, "ascii") {
		return "windows-1252"
	}
	return strings.ToLower(name)
}

func decodeWith(data []byte, name string) (string, string) {
	switch name {
	case "utf-32le":
		return decodeBytes(data, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), name)
	case "utf-32be":
		return decodeBytes(data, utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), name)
	case "cp949", "johab":
		return decodeBytes(data, korean.EUCKR, name)
	case "gb2312":
		return decodeBytes(data, simplifiedchinese.GB18030, "gb18030")
	case "hz-gb-2312":
		return decodeBytes(data, simplifiedchinese.HZGB2312, name)
	case "cp932":
		name = "shift_jis"
	case "tis-620":
		name = "windows-874"
	case "macroman":
		name = "macintosh"
	case "maccyrillic":
		name = "x-mac-cyrillic"
	case "ibm855":
		return decodeBytes(data, charmap.CodePage855, name)
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		enc, name = charmap.Windows1252, "windows-1252"
	}
	return decodeBytes(data, enc, name)
}

func decodeBytes(data []byte, enc encoding.Encoding, name string) (string, string) {
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		// Decoders replace what they cannot read; an error leaves what was read so far.
		return strings.ToValidUTF8(string(out), "\uFFFD"), name
	}
	return string(out), name
}
