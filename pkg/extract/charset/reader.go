package charset

import (
	"encoding/base64"
	"io"
	"strings"
	"unicode"
)

// WordRune reports whether the character is a letter or a number.
func WordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// DecodeBase64 decodes Base64 and ignores characters outside the Base64 alphabet, as RFC 2045 requires.
func DecodeBase64(data []byte) []byte {
	clean := make([]byte, 0, len(data))
	for _, c := range data {
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' {
			clean = append(clean, c)
		}
	}
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1] // truncated: a single character encodes no byte
	}
	n, _ := base64.RawStdEncoding.Decode(clean, clean)
	return clean[:n]
}

// maxDeclared is the maximum size, in bytes, of an XML part that isn't UTF-8 or UTF-16. Such a part is decoded in
// memory.
const maxDeclared = 128 << 20

// Reader returns a reader that decodes an XML part from the labelled encoding to UTF-8.
func Reader(label string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf-16", "utf-8", "utf8": // the declaration was readable, so the part is not UTF-16
		return r, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDeclared))
	if err != nil {
		return nil, err
	}
	text, _ := Decode(data, label)
	return strings.NewReader(text), nil
}
