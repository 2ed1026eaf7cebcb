package crawl

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// contentType is what a body is: the media type that we go by, and the character encoding that the server declared.
type contentType struct {
	media   string
	charset string // as declared in the header; "" when it was not
}

// String is the form kept with the content: extraction trusts a declared charset before anything else.
func (t contentType) String() string {
	if t.charset == "" {
		return t.media
	}
	return mime.FormatMediaType(t.media, map[string]string{"charset": t.charset})
}

func (t contentType) isHTML() bool {
	return t.media == "text/html" || t.media == "application/xhtml+xml"
}

// isPlainMedia reports types that hold no text for us; their bodies are not even read.
func isPlainMedia(media string) bool {
	for _, p := range []string{"image/", "video/", "audio/", "font/"} {
		if strings.HasPrefix(media, p) {
			return true
		}
	}
	return media == "text/css" || media == "text/javascript" || media == "application/javascript"
}

// maxMediaBytes bounds a media type. RFC 6838, section 4.2: at most 127 characters on each side of the slash.
const maxMediaBytes = 255

// declaredType reads a Content-Type leniently: a broken parameter does not lose the type.
func declaredType(header string) contentType {
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
	t := contentType{media: media}
	if cs := params["charset"]; len(cs) <= 40 {
		t.charset = strings.ToLower(cs)
	}
	return t
}

// extensionTypes settle what sniffing cannot tell apart: zip containers and kinds of plain text.
var extensionTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".csv":  "text/csv", ".json": "application/json", ".md": "text/markdown", ".markdown": "text/markdown",
}

// effectiveType decides what a body is from the declared type, its first bytes and the address. The declaration
// wins, unless it says nothing or the bytes plainly contradict it.
func effectiveType(header string, head []byte, urlPath string) contentType {
	t := declaredType(header)
	sniffed, _, _ := strings.Cut(http.DetectContentType(head), ";")
	byExtension := extensionTypes[strings.ToLower(path.Ext(urlPath))]
	switch {
	case sniffed == "application/pdf":
		t = contentType{media: sniffed}
	case sniffed == "application/zip" && !strings.Contains(t.media, "officedocument"):
		t = contentType{media: sniffed}
		if strings.Contains(byExtension, "officedocument") {
			t.media = byExtension
		}
	case t.media == "" || t.media == "application/octet-stream" || t.media == "binary/octet-stream" ||
		t.media == "application/x-download" || t.media == "application/force-download":
		t.media = sniffed
		if sniffed == "text/plain" && byExtension != "" && !strings.Contains(byExtension, "officedocument") {
			t.media = byExtension
		}
	case t.media == "text/plain" && strings.HasPrefix(byExtension, "text/"):
		t.media = byExtension
	}
	return t
}

// guessCharset finds the encoding of HTML whose header declares none: a byte order mark, else UTF-8 if that is
// valid, else what a meta element says, else what browsers fall back to. UTF-8 before meta, because pages that were
// converted often kept their old meta element.
func guessCharset(head []byte) string {
	if !bytes.HasPrefix(head, []byte{0xff, 0xfe}) && !bytes.HasPrefix(head, []byte{0xfe, 0xff}) && validUTF8Prefix(head) {
		return "utf-8"
	}
	_, name, _ := charset.DetermineEncoding(head, "")
	return name
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
