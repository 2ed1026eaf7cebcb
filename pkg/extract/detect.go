package extract

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The MIME types of the formats that can be read.
const (
	TypeCSV      = "text/csv"
	TypeText     = "text/plain"
	TypeMarkdown = "text/markdown"
	TypeHTML     = "text/html"
	TypeJSON     = "application/json"
	TypePDF      = "application/pdf"
	TypeDocx     = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	TypePptx     = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	TypeXlsx     = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	TypeMail     = "message/rfc822"
	TypeMHTML    = "multipart/related" // a page saved with its parts in one file
)

// typeOLE is what Word, Excel and PowerPoint files before 2007 are, and encrypted ones of today.
const typeOLE = "application/x-ole-storage"

// typeRTF is markup in plain letters, which would be read as text if it were not recognised.
const typeRTF = "application/rtf"

// SupportedTypes lists the MIME types that Parse reads.
func SupportedTypes() []string {
	return []string{TypeCSV, TypeText, TypeMarkdown, TypePDF, TypeJSON, TypePptx, TypeDocx, TypeXlsx, TypeHTML, TypeMail, TypeMHTML}
}

// Supported reports whether the MIME type, as DetectType gives it, can be read.
func Supported(mimeType string) bool { return slices.Contains(SupportedTypes(), mimeType) }

var typeByExtension = map[string]string{
	".csv": TypeCSV, ".tsv": TypeCSV, ".tab": TypeCSV,
	".txt": TypeText, ".text": TypeText, ".log": TypeText, ".rst": TypeText, ".adoc": TypeText,
	".md": TypeMarkdown, ".markdown": TypeMarkdown, ".mdown": TypeMarkdown, ".mkd": TypeMarkdown, ".mdx": TypeMarkdown,
	".html": TypeHTML, ".htm": TypeHTML, ".xhtml": TypeHTML, ".shtml": TypeHTML,
	".json": TypeJSON, ".jsonl": TypeJSON, ".ndjson": TypeJSON, ".geojson": TypeJSON,
	".pdf":  TypePDF,
	".docx": TypeDocx, ".docm": TypeDocx, ".dotx": TypeDocx,
	".pptx": TypePptx, ".pptm": TypePptx, ".ppsx": TypePptx,
	".xlsx": TypeXlsx, ".xlsm": TypeXlsx, ".xltx": TypeXlsx,
	".eml": TypeMail, ".mht": TypeMHTML, ".mhtml": TypeMHTML,
}

// typeAliases are other names under which senders declare the same formats.
var typeAliases = map[string]string{
	"application/csv": TypeCSV, "text/comma-separated-values": TypeCSV, "text/tab-separated-values": TypeCSV,
	"text/x-markdown": TypeMarkdown, "application/xhtml+xml": TypeHTML, "application/x-pdf": TypePDF,
	"text/json": TypeJSON, "application/x-ndjson": TypeJSON, "application/jsonl": TypeJSON,
	"application/ld+json": TypeJSON, "application/geo+json": TypeJSON,
	"message/global": TypeMail, "application/x-mimearchive": TypeMHTML,
}

// DetectType says what a document is from its first bytes (give it some 4 KiB), its file name or address, and the
// type its sender declared; each may be empty. The bytes decide between the families (PDF, containers, pictures,
// text), the name and then the declaration between formats of one family. The result is a MIME type without
// parameters; whether it can be read is for Supported to say.
func DetectType(head []byte, name, declared string) string {
	named := typeByName(name)
	if named == "" {
		named = canonicalType(declared)
	}
	switch {
	case len(head) == 0:
		if named == "" {
			return TypeText
		}
		return named
	case isPDF(head):
		return TypePDF
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return zipType(head, named)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		if isContainer(named) {
			return named // an encrypted document of today; Parse says so
		}
		return typeOLE
	}
	if wide, _ := wideEncoding(head); wide == "" && looksBinary(head, named) {
		sniffed, _, _ := strings.Cut(http.DetectContentType(head), ";")
		if strings.HasPrefix(sniffed, "text/") {
			return "application/octet-stream"
		}
		return sniffed
	}
	if looksRTF(head) {
		return typeRTF
	}
	return textType(head, named)
}

// textType tells the text formats apart. A whole page saved under another format's name is still a page, and so are
// JSON records under the name of a table; a piece of a page named as text is text about pages.
func textType(head []byte, named string) string {
	if wide, skip := wideEncoding(head); wide != "" {
		text, _ := decodeWith(head[skip:len(head)-(len(head)-skip)%4], wide)
		head = []byte(text)
	}
	if flat := flatOPCType(head); flat != "" {
		return flat
	}
	if message := messageType(head, named); message != "" {
		return message
	}
	switch named {
	case TypeHTML, TypeMarkdown:
		return named
	case TypeJSON:
		if looksHTML(head) {
			return TypeHTML
		}
		return named
	case TypeCSV:
		switch {
		case looksHTML(head):
			return TypeHTML
		case looksJSON(head) && bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")[0] == '{':
			return TypeJSON
		}
		return named
	case TypeText, TypeMail, TypeMHTML:
		switch {
		case looksWholePage(head):
			return TypeHTML
		case named == TypeText:
			return named
		}
	}
	switch {
	case looksHTML(head):
		return TypeHTML
	case looksJSON(head):
		return TypeJSON
	}
	return TypeText
}

// messageType recognises mail and web archives by their header, and returns "" for other texts. A file with an extension of
// these formats needs two header lines; other files need MIME or mail fields.
func messageType(head []byte, named string) string {
	fields := headerFields(head)
	_, mimeVersion := fields["mime-version"]
	content, typed := fields["content-type"]
	_, from := fields["from"]
	_, date := fields["date"]
	_, received := fields["received"]
	_, id := fields["message-id"]
	isMIME := mimeVersion && typed
	isMail := from && (date || received || id) || received && (id || date)
	switch named {
	case TypeMail, TypeMHTML:
		if len(fields) < 2 && !isMIME {
			return ""
		}
		return named
	case "", TypeText, TypeHTML:
		if !isMIME && (!isMail || named == TypeHTML) {
			return ""
		}
	default:
		return ""
	}
	if _, to := fields["to"]; !to && !received && strings.HasPrefix(content, "multipart/related") {
		return TypeMHTML
	}
	return TypeMail
}

// headerFields returns the fields of a message's header by name in lower case, or nothing if a line of it is not a field.
func headerFields(head []byte) map[string]string {
	fields := map[string]string{}
	lines := bytes.Split(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), "\r\n"), []byte("\n"))
	for i, line := range lines {
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		switch {
		case line[0] == ' ' || line[0] == '\t', i == 0 && bytes.HasPrefix(line, []byte("From ")), i == len(lines)-1:
		case !ok || len(name) == 0 || bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil
		default:
			fields[strings.ToLower(string(name))] = strings.ToLower(string(bytes.TrimSpace(value)))
		}
	}
	return fields
}

func typeByName(name string) string {
	name, _, _ = strings.Cut(name, "?")
	name, _, _ = strings.Cut(name, "#")
	return typeByExtension[strings.ToLower(path.Ext(name))]
}

// canonicalType strips parameters and resolves aliases; "" where the declaration says nothing ("octet-stream").
func canonicalType(declared string) string {
	t, _, err := mime.ParseMediaType(declared)
	if err != nil {
		t, _, _ = strings.Cut(declared, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	if alias, ok := typeAliases[t]; ok {
		return alias
	}
	if Supported(t) {
		return t
	}
	return ""
}

func isContainer(t string) bool { return t == TypeDocx || t == TypePptx || t == TypeXlsx }

// isPDF looks for the header where readers tolerate it: anywhere in the first 1,024 bytes, unless these are the words
// of a text that speaks of it.
func isPDF(head []byte) bool {
	at := bytes.Index(head[:min(len(head), 1024)], []byte("%PDF-"))
	return at == 0 || at > 0 && (!utf8.Valid(head[:at]) || countLetters(string(head[:at])) == 0 || head[at-1] == '\n' || head[at-1] == '\r')
}

// zipType tells containers apart by the part names that happen to stand in the first bytes.
func zipType(head []byte, named string) string {
	for _, c := range []struct{ part, t string }{{"word/", TypeDocx}, {"ppt/", TypePptx}, {"xl/", TypeXlsx}} {
		if bytes.Contains(head, []byte(c.part)) {
			return c.t
		}
	}
	if isContainer(named) {
		return named
	}
	return "application/zip"
}

// looksBinary reports whether the bytes cannot be text of a single-byte or multi-byte encoding. Files with the
// extension of a text format may contain more zero bytes.
func looksBinary(head []byte, named string) bool {
	control, zeros := 0, 0
	for _, b := range head {
		switch {
		case b == 0:
			zeros++
		case b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1b && b != 0x1a && b != '\b' && b != 0x1e && b != 0x1f:
			control++
		}
	}
	if control*50 > len(head) {
		return true
	}
	// A text may contain a few zero bytes: programs that crash while writing leave them, and others pad fields with them.
	switch named {
	case TypeCSV, TypeText, TypeMarkdown, TypeHTML, TypeJSON, TypeMail, TypeMHTML:
		if zeros*4 > len(head) {
			return true
		}
	default:
		if zeros*200 > len(head) || zeros > 0 && (control > 0 || !utf8.Valid(head)) {
			return true
		}
	}
	sniffed := http.DetectContentType(head)
	return !strings.HasPrefix(sniffed, "text/") && sniffed != "application/octet-stream" && !utf8.Valid(head)
}

// looksRTF looks for the group that every RTF file begins with.
func looksRTF(head []byte) bool {
	s, found := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte(`{\rtf`))
	return found && (len(s) == 0 || s[0] >= '0' && s[0] <= '9' || bytes.IndexByte([]byte(`\{} `), s[0]) >= 0)
}

// looksWholePage reports whether the text is surely a page from its first element on, not a piece of one.
func looksWholePage(head []byte) bool {
	s := pageStart(head)
	return bytes.HasPrefix(s, []byte("<!doctype html")) || bytes.HasPrefix(s, []byte("<html")) ||
		bytes.HasPrefix(s, []byte("<?xml")) && bytes.Contains(s, []byte("<html"))
}

// pageStart is the text's first bytes in small letters, without what may stand before a page.
func pageStart(head []byte) []byte {
	return bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head[:min(len(head), 2048)], []byte("\xef\xbb\xbf")), " \t\r\n"))
}

func looksHTML(head []byte) bool {
	s := pageStart(head)
	for _, p := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(s, []byte(p)) {
			return true
		}
	}
	return (bytes.HasPrefix(s, []byte("<?xml")) || bytes.HasPrefix(s, []byte("<!--"))) && bytes.Contains(s, []byte("<html"))
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
