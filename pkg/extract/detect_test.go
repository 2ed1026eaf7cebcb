package extract

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/pdf"
)

func TestDetectType(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		head, name, declared, want string
	}{
		"content beats name and declaration":           {"%PDF-1.4\n", "a.txt", "text/plain", pdf.Format.Type},
		"a PDF header may follow rubbish":              {"\r\n\r\n%PDF-1.4\n", "", "", pdf.Format.Type},
		"a container is known by its parts":            {"PK\x03\x04....word/document.xml", "a.zip", "", ooxml.TypeDocx},
		"a container is known by its name":             {"PK\x03\x04....[Content_Types].xml", "a.PPTX", "", ooxml.TypePptx},
		"a container is known by its declaration":      {"PK\x03\x04....[Content_Types].xml", "", ooxml.TypeXlsx, ooxml.TypeXlsx},
		"an archive is not supported":                  {"PK\x03\x04....holiday.jpg", "a.zip", "", "application/zip"},
		"an encrypted docx keeps its type":             {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.docx", "", ooxml.TypeDocx},
		"a doc is not supported":                       {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc", "application/msword", format.TypeOLE},
		"the extension decides between text formats":   {"a;b\n1;2\n", "A.CSV", "text/plain", format.TypeCSV},
		"the declaration decides without an extension": {"# Title", "upload", "text/markdown; charset=utf-8", format.TypeMarkdown},
		"a page saved under another name is a page":    {"<!DOCTYPE html><html>", "data.json", "", format.TypeHTML},
		"an address with a query has an extension":     {"x", "https://a.example/b.md?raw=1", "", format.TypeMarkdown},
		"JSON is recognised without a name":            {`{"a": 1}`, "", "application/octet-stream", format.TypeJSON},
		"a text that starts with a bracket is text":    {"[see below] or not", "", "", format.TypeText},
		"text is the default":                          {"plain words", "", "", format.TypeText},
		"UTF-16 text is not binary":                    {"\xff\xfeh\x00i\x00", "a.txt", "", format.TypeText},
		"Shift-JIS text is not binary":                 {"\x95\xdb\x8e\xe7\x8c\x5f\x96\xf1", "a.txt", "", format.TypeText},
		"a picture is a picture whatever it is called": {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a.txt", "text/plain", "image/png"},
		"unknown bytes are not text":                   {"\x00\x01\x02\x03\x04", "a.txt", "text/plain", "application/octet-stream"},
		"an empty file goes by its name":               {"", "a.json", "", format.TypeJSON},
		"RTF is not text":                              {`{\rtf1\ansi words}`, "a.rtf", "text/plain", format.TypeRTF},
		"RTF under another name is RTF":                {" {\\rtf\\ansi words}", "a.doc", "application/msword", format.TypeRTF},
		"a brace and a word are text":                  {`{\rtfm} is a macro`, "a.txt", "", format.TypeText},
		"a page named as text is a page":               {"<html lang=en><body>x", "a.txt", "", format.TypeHTML},
		"a piece of a page named as text is text":      {"<body><p>x</p>", "a.txt", "", format.TypeText},
		"a page in UTF-16 is a page":                   {"\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", "", "", format.TypeHTML},
		"JSON named as a table is JSON":                {`{"a": 1}`, "a.csv", "", format.TypeJSON},
		"a text that names the PDF header is text":     {"A file that begins %PDF-1.4 is a PDF.", "a.txt", "", format.TypeText},
		"a zero byte in a long text leaves it text":    {strings.Repeat("words ", 100) + "\x00", "a.log", "", format.TypeText},
		"aliases of declared types are understood":     {"a\tb\n", "", "text/tab-separated-values", format.TypeCSV},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := DetectType([]byte(tt.head), tt.name, tt.declared); got != tt.want {
				t.Errorf("DetectType = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecodeText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data, label, want string
	}{
		"UTF-8 wins over a wrong label": {"größer", "iso-8859-1", "größer"},
		"a mark is removed":             {"\xef\xbb\xbfabc", "", "abc"},
		"UTF-16 with a mark":            {"\xfe\xff\x00h\x00\xe9", "", "hé"},
		"UTF-16 without a mark":         {"h\x00e\x00l\x00l\x00o\x00!\x00", "", "hello!"},
		"a label is believed otherwise": {"caf\xe9", "iso-8859-1", "café"},
		"Japanese escape sequences":     {"\x1b$B$3$s\x1b(B", "", "こん"},
		"a text cut inside a character": {"größer als üblich, schöner möbliert \xc3", "", "größer als üblich, schöner möbliert \uFFFD"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, enc := charset.Decode([]byte(tt.data), tt.label); got != tt.want {
				t.Errorf("decodeText = %q (%s), want %q", got, enc, tt.want)
			}
		})
	}
}
