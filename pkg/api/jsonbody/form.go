package jsonbody

import (
	"bytes"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Patterns for the start of form-encoded and multipart bodies. Some clients send these by default instead of JSON.
var (
	formEncoded = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.%\[\]-]{0,100}=`)
	multipartIn = lazyregexp.New(`(?i)^--[^\r\n]{1,100}\r?\ncontent-`)
)

const fileHint = "; to upload a file, send multipart/form-data: curl -F datastoreId=ID -F file=@NAME"

// FormFaults explains how to send a body correctly if it is a form or a bare file instead of JSON. It returns nil for
// other bodies.
func FormFaults(body []byte, takesFile bool) []domain.FieldError {
	body = bytes.TrimLeft(body, " \t\r\n")
	way := "; send a JSON object"
	file := ""
	if takesFile {
		way, file = way+` such as {"datastoreId": "ID", "type": "web_page", "config": {"source_url": "https://…"}}`, fileHint
	}
	switch {
	case formEncoded().Match(body):
		return Fault("is form-encoded, %s%s%s", excerpt(body), way, file)
	case multipartIn().Match(body) && takesFile:
		return Fault("is multipart/form-data, but the Content-Type header is not; let the HTTP client set the header, including its boundary")
	case multipartIn().Match(body):
		return Fault("is multipart/form-data, which this endpoint does not accept%s", way)
	case takesFile && isFile(body):
		return Fault("is a plain file that begins with %s%s", excerpt(body), file)
	}
	return nil
}

// isFile reports whether a body is binary or starts like a file in a common format.
func isFile(body []byte) bool {
	const head = 4 << 10 // bytes
	for _, magic := range []string{"%PDF-", "PK\x03\x04", "<!DOCTYPE", "<!doctype", "<html", "<?xml"} {
		if bytes.HasPrefix(body, []byte(magic)) {
			return true
		}
	}
	return bytes.IndexByte(body[:min(len(body), head)], 0) >= 0
}

// excerpt returns the start of a body for an error message.
func excerpt(body []byte) string {
	const limit = 200 // bytes; Describe shortens the text further
	return Describe(string(bytes.ToValidUTF8(body[:min(len(body), limit)], []byte("\ufffd"))))
}
