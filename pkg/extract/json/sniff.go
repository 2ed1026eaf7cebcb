package json

import (
	"bytes"

	"github.com/sluice/sluice/pkg/extract/format"
)

// Format describes JSON and JSON Lines.
var Format = format.Format{
	Type: format.TypeJSON, Aliases: []string{"text/json", "application/x-ndjson", "application/jsonl", "application/ld+json", "application/geo+json"},
	Extensions: []string{".json", ".jsonl", ".ndjson", ".geojson"},
	Name:       "JSON", Label: "JSON", Text: true, Sniff: sniffJSON, Read: read, Piece: piece,
}

// sniffJSON recognises JSON by its first bytes. `named` is the type that the file's name or declared type suggests. If
// `named` is Markdown or plain text, sniffJSON always returns false. If `named` is CSV, the file must start with an
// object.
func sniffJSON(head []byte, named string) bool {
	switch named {
	case format.TypeJSON:
		return true
	case format.TypeMarkdown, format.TypeText:
		return false
	case format.TypeCSV:
		return looksJSON(head) && bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")[0] == '{'
	}
	return looksJSON(head)
}

func looksJSON(head []byte) bool {
	s := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(s) < 2 {
		return false
	}
	rest := bytes.TrimLeft(s[1:], " \t\r\n")
	switch s[0] {
	case '{':
		return len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
	case '[':
		return len(rest) > 0 && bytes.IndexByte([]byte(`{["]-0123456789`), rest[0]) >= 0 && bytes.ContainsAny(s, ",]")
	}
	return false
}
