package content

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/sluice/sluice/pkg/extract"
	textenc "github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Type is what a body is: the media type that we go by, and the character encoding that the server declared.
type Type struct {
	Media   string
	Charset string // as declared in the header; "" when it was not
}

// String is the form kept with the content: extraction trusts a declared charset before anything else.
func (t Type) String() string {
	if t.Charset == "" {
		return t.Media
	}
	return mime.FormatMediaType(t.Media, map[string]string{"charset": t.Charset})
}

// IsGzip reports a packed file.
func (t Type) IsGzip() bool {
	return t.Media == "application/gzip" || t.Media == "application/x-gzip"
}

// IsHTML reports a page.
func (t Type) IsHTML() bool {
	return t.Media == "text/html" || t.Media == "application/xhtml+xml"
}

// maxMediaBytes bounds a media type. RFC 6838, section 4.2: at most 127 characters on each side of the slash.
const maxMediaBytes = 255

// Declared reads a Content-Type leniently: a broken parameter does not lose the type.
func Declared(header string) Type {
	media, params, err := mime.ParseMediaType(header)
	if err != nil {
		media, _, _ = strings.Cut(header, ";")
		media = strings.ToLower(strings.TrimSpace(media))
		if strings.Count(media, "/") != 1 || strings.ContainsAny(media, " ,\"<>") {
			media = ""
		}
	}
	if len(media) > maxMediaBytes {
		media = ""
	}
	t := Type{Media: media}
	if cs := params["charset"]; len(cs) <= 40 {
		t.Charset = strings.ToLower(cs)
	}
	return t
}

// Effective decides what a body is from the declared type, its first bytes, and its names, of which the first that
// says something counts. The declaration wins, unless it says nothing or the bytes plainly contradict it.
func Effective(header string, head []byte, names ...string) Type {
	t := Declared(header)
	sniffed, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case sniffed == "application/pdf", len(head) > 0 && IsBinary(sniffed):
		return Type{Media: sniffed}
	case sniffed == "application/zip":
		if f := extract.Declared(t.Media); f != nil && f.Packed || strings.Contains(t.Media, "officedocument") {
			return t
		}
		return Type{Media: byName(isPacked, names, sniffed)}
	case t.Media == "" || isDownload(t.Media):
		t.Media = sniffed
		if sniffed == "text/plain" {
			t.Media = byName(isTextFormat, names, sniffed)
		}
	case t.Media == "text/plain":
		t.Media = byName(isTextFormat, names, t.Media)
	}
	return t
}

// isDownload reports types that servers put on whatever they do not know.
func isDownload(media string) bool {
	switch media {
	case "application/octet-stream", "binary/octet-stream", "application/x-download", "application/force-download",
		"application/download", "application/unknown", "unknown/unknown", "application/x-unknown-content-type":
		return true
	}
	return false
}

// byName is the type of the first name that has the extension of such a format.
func byName(such func(*format.Format) bool, names []string, otherwise string) string {
	for _, name := range names {
		if f := extract.Named(name); f != nil && such(f) {
			return f.Type
		}
	}
	return otherwise
}

// isPacked reports formats that are zip files, which sniffing cannot tell apart.
func isPacked(f *format.Format) bool { return f.Packed }

// isTextFormat reports formats that sniffing takes for plain text, and that are something else.
func isTextFormat(f *format.Format) bool {
	return f.Text && f.Type != format.TypeHTML && f.Type != format.TypeText
}

const maxFileNameBytes = 255

// FileName is the name that a Content-Disposition (RFC 6266) gives the content, without any path; "" if it gives none.
func FileName(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil && len(params) == 0 {
		return ""
	}
	name := strings.ReplaceAll(strings.ToValidUTF8(params["filename"], ""), `\`, "/")
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, path.Base("/"+name)))
	if name == "/" || name == "." || name == ".." || len(name) > maxFileNameBytes {
		return ""
	}
	return name
}

// PageCharset finds the encoding of HTML by what is most certain: a byte order mark, well-formed UTF-8 beyond ASCII
// (which other encodings almost never are by accident, while headers and meta elements of converted pages are often
// wrong), the header, a meta element, and how the text reads best, by which extraction goes too.
func PageCharset(head []byte, declared string) string {
	wide := bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
	if !wide && !isASCII(head) && validUTF8Prefix(head) {
		return "utf-8"
	}
	if known(declared) && !wide && (declared != "utf-8" || isASCII(head)) {
		return declared
	}
	_, name, certain := charset.DetermineEncoding(head, "")
	switch {
	case !certain && isASCII(head):
		return "utf-8"
	case certain || name != fallbackCharset || bytes.Contains(bytes.ToLower(head[:min(len(head), metaBytes)]), []byte("charset")):
		return name
	}
	if guess := textenc.GuessCharset(head); known(guess) {
		return guess
	}
	return fallbackCharset
}

const (
	fallbackCharset = "windows-1252" // of pages that do not declare any, in browsers
	metaBytes       = 1024           // of a page in which browsers look for a meta element that does
)

func known(label string) bool {
	enc, _ := charset.Lookup(label)
	return enc != nil
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// validUTF8Prefix ignores a rune that the end of head cuts in two.
func validUTF8Prefix(head []byte) bool {
	for cut := range min(utf8.UTFMax, len(head)+1) {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}
