package content

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/sluice/sluice/pkg/extract"
	textenc "github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Type is a body's effective media type, with the character encoding declared by the server.
type Type struct {
	Media   string
	Charset string // from the header; "" if not declared
}

// String returns the type in its stored form. The charset is included only if the server declared one, because
// extraction trusts it.
func (t Type) String() string {
	if t.Charset == "" {
		return t.Media
	}
	return mime.FormatMediaType(t.Media, map[string]string{"charset": t.Charset})
}

// IsGzip reports whether the type is gzip.
func (t Type) IsGzip() bool {
	return t.Media == "application/gzip" || t.Media == "application/x-gzip"
}

// IsHTML reports whether the type is HTML or XHTML.
func (t Type) IsHTML() bool {
	return t.Media == "text/html" || t.Media == "application/xhtml+xml"
}

// Maximum length of a media type in bytes. RFC 6838, section 4.2, allows 127 characters on each side of the slash.
const maxMediaBytes = 255

// Declared parses a Content-Type leniently: an invalid parameter does not make the whole type invalid.
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

// Effective determines a body's type from the declared type, the first bytes and the file names. The declaration wins
// unless it is generic or clearly contradicts the bytes. Among the names, the first with a known extension counts.
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

// isDownload reports whether a media type is one of the generic types that servers use for any download.
func isDownload(media string) bool {
	switch media {
	case "application/octet-stream", "binary/octet-stream", "application/x-download", "application/force-download",
		"application/download", "application/unknown", "unknown/unknown", "application/x-unknown-content-type":
		return true
	}
	return false
}

// byName determines each name's format from its extension and returns the media type of the first one that `matches`
// accepts. If there is none, it returns `otherwise`.
func byName(matches func(*format.Format) bool, names []string, otherwise string) string {
	for _, name := range names {
		if f := extract.Named(name); f != nil && matches(f) {
			return f.Type
		}
	}
	return otherwise
}

// isPacked reports whether files in the format f are zip containers. Their first bytes look the same as those of any
// other zip file.
func isPacked(f *format.Format) bool { return f.Packed }

// isTextFormat reports whether a format is text other than HTML and plain text. Sniffing mistakes such formats for
// plain text.
func isTextFormat(f *format.Format) bool {
	return f.Text && f.Type != format.TypeHTML && f.Type != format.TypeText
}

const maxFileNameBytes = 255

// FileName returns the name from a Content-Disposition header (RFC 6266) without any path, or "" if there is none.
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

// PageCharset determines an HTML page's encoding in the same way as extraction. It uses the first of these that
// applies: a byte order mark, valid UTF-8 that is not just ASCII, the header, a meta element, the most plausible
// decoding. Valid UTF-8 comes before the header, because text in another encoding is almost never valid UTF-8 by
// accident, whereas headers and meta elements are often wrong on converted pages.
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
	fallbackCharset = "windows-1252" // like browsers, for pages that declare none
	metaBytes       = 1024           // browsers look for a meta element with the charset in this many bytes
)

func known(label string) bool {
	enc, _ := charset.Lookup(label)
	return enc != nil
}

func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

// validUTF8Prefix reports whether `head` is valid UTF-8, ignoring a character truncated at the end.
func validUTF8Prefix(head []byte) bool {
	for cut := range min(utf8.UTFMax, len(head)+1) {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}
