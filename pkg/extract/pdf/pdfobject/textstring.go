package pdfobject

import (
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// TextString decodes a PDF text string: UTF-16 or UTF-8 if it has a byte order mark, or else Latin-1.
func TextString(s string) string {
	if strings.HasPrefix(s, "\xfe\xff") {
		out, err := unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().String(s)
		if err == nil {
			return out
		}
	}
	if rest, ok := strings.CutPrefix(s, "\xef\xbb\xbf"); ok {
		return rest
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
