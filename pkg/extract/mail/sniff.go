package mail

import (
	"bytes"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
)

// messageType recognises mail and web archives by their header. It returns "" for other text. If the file has the
// extension of a mail or a web archive, any two header fields are enough. Otherwise there must be fields typical of
// MIME or mail.
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
	case format.TypeMail, format.TypeMHTML:
		if len(fields) < 2 && !isMIME {
			return ""
		}
		return named
	case "", format.TypeText, format.TypeHTML:
		if !isMIME && (!isMail || named == format.TypeHTML) {
			return ""
		}
	default:
		return ""
	}
	if _, to := fields["to"]; !to && !received && strings.HasPrefix(content, "multipart/related") {
		return format.TypeMHTML
	}
	return format.TypeMail
}

// headerFields returns a message's header fields by lower-case name, or nil if a header line is not a field.
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
