package opendocument_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	mimeType = "application/vnd.oasis.opendocument.text"
	spaces   = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="t" xmlns:table="b" xmlns:style="s" xmlns:fo="f" xmlns:draw="d" xmlns:svg="v" xmlns:meta="m" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="x"`

	metaPart = `<office:meta><dc:title>House rules</dc:title><meta:initial-creator>Ann Oake</meta:initial-creator><dc:creator>Bo Reed</dc:creator><meta:creation-date>2021-05-04T10:00:00</meta:creation-date><meta:keyword>house</meta:keyword><meta:keyword>rules</meta:keyword></office:meta>`
	styles   = `<office:styles><style:default-style style:family="paragraph"><style:text-properties fo:language="en" fo:country="GB"/></style:default-style><style:style style:name="P1" style:parent-style-name="Title"/>` +
		`<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/></text:list-style></office:styles>`
	body = `<text:tracked-changes><text:changed-region><text:deletion><text:p>Deleted words.</text:p></text:deletion></text:changed-region></text:tracked-changes>` +
		`<text:p text:style-name="P1">House rules</text:p>` +
		`<text:table-of-content><text:index-body><text:p>Keys 1</text:p></text:index-body></text:table-of-content>` +
		`<text:h text:outline-level="1">Keys</text:h>` +
		"<text:p>Every   tenant<text:s text:c=\"2\"/>has\n two <text:span>keys</text:span><text:note text:note-class=\"footnote\"><text:note-citation>1</text:note-citation><text:note-body><text:p>Copies cost 5 pounds.</text:p></text:note-body></text:note>." +
		`<office:annotation><dc:creator>Bo</dc:creator><text:p>Is it still two?</text:p></office:annotation> See <text:a xlink:href="https://house.example/">the house</text:a>.</text:p>` +
		`<text:p><draw:frame><draw:text-box><text:p>Text in a box.</text:p></draw:text-box></draw:frame></text:p>` +
		`<text:list text:style-name="L1"><text:list-item><text:p>Lock the door.</text:p><text:list><text:list-item><text:p>At night.</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>Keep quiet.</text:p></text:list-item></text:list>` +
		`<text:h text:outline-level="2">Rent</text:h>` +
		`<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Room</text:p></table:table-cell><table:table-cell><text:p>Tenant</text:p></table:table-cell><table:table-cell><text:p>Rent</text:p></table:table-cell></table:table-row></table:table-header-rows>` +
		`<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>Attic</text:p></table:table-cell><table:table-cell><text:p>Cy</text:p></table:table-cell><table:table-cell><text:p>90</text:p></table:table-cell></table:table-row>` +
		`<table:table-row><table:covered-table-cell/><table:table-cell><text:p>Di</text:p></table:table-cell><table:table-cell><text:p>95</text:p></table:table-cell></table:table-row>` +
		`<table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>Cellar</text:p></table:table-cell><table:covered-table-cell/><table:table-cell><text:p>20</text:p></table:table-cell></table:table-row></table:table>`
	master = `<office:master-styles><style:master-page><style:header><text:p>Header of every page</text:p></style:header></style:master-page></office:master-styles>`
)

func contentOf(body string) extracttest.Part {
	return extracttest.Part{"content.xml", `<office:document-content ` + spaces + `><office:body><office:text>` + body + `</office:text></office:body></office:document-content>`}
}

// textOf returns a packed document with the given parts.
func textOf(t testing.TB, parts ...extracttest.Part) []byte {
	t.Helper()
	return extracttest.Office(t, append([]extracttest.Part{{"mimetype", mimeType}}, parts...)...)
}

func sample(t testing.TB) []byte {
	t.Helper()
	return textOf(t, contentOf(body),
		extracttest.Part{"meta.xml", `<office:document-meta ` + spaces + `>` + metaPart + `</office:document-meta>`},
		extracttest.Part{"styles.xml", `<office:document-styles ` + spaces + `>` + styles + master + `</office:document-styles>`})
}

const flat = `<?xml version="1.0" encoding="UTF-8"?><office:document ` + spaces + ` office:mimetype="` + mimeType + `">` + metaPart + styles + master + `<office:body><office:text>` + body + `</office:text></office:body></office:document>`

func TestGoldenText(t *testing.T) {
	t.Parallel()
	got := readtest.Render(readtest.MustParse(t, "rules.odt", sample(t)))
	const file = "testdata/rules.golden"
	if *readtest.Update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestAFlatDocumentIsReadAsAPackedOne(t *testing.T) {
	t.Parallel()
	packed, one := readtest.MustParse(t, "rules.odt", sample(t)), readtest.MustParse(t, "upload", []byte(flat))
	one.Route = packed.Route
	if diff := cmp.Diff(packed, one); diff != "" {
		t.Errorf("flat document (-packed +flat):\n%s", diff)
	}
	want := map[string]string{domain.MetaAuthor: "Ann Oake", domain.MetaCreated: "2021-05-04T10:00:00", domain.MetaKeywords: "house; rules"}
	if diff := cmp.Diff(want, packed.Metadata); diff != "" || packed.Language != "en-GB" || packed.Title != "House rules" {
		t.Errorf("title %q, language %q, metadata (-want +got):\n%s", packed.Title, packed.Language, diff)
	}
}

func TestTextsAreRefusedWithTheCause(t *testing.T) {
	t.Parallel()
	words := contentOf(`<text:p>Some words.</text:p>`)
	for name, tt := range map[string]struct {
		data []byte
		kind extract.Kind
		want string
	}{
		"with a password": {textOf(t, words, extracttest.Part{"META-INF/manifest.xml", `<manifest><file-entry><encryption-data/></file-entry></manifest>`}), extract.Encrypted, "password"},
		"no content":      {textOf(t), extract.NoText, "no text"},
		"a drawing":       {extracttest.Office(t, extracttest.Part{"mimetype", "application/vnd.oasis.opendocument.graphics"}, words), extract.Unsupported, "cannot be read"},
		"torn":            {textOf(t, contentOf(`<text:p>Some words.</text:p><text:p`)), "", ""},
		"deep elements":   {textOf(t, contentOf(strings.Repeat("<text:span>", 100_000))), extract.TooLarge, "nested deeper"},
		"deep tables":     {textOf(t, contentOf(strings.Repeat("<table:table><table:table-row><table:table-cell>", 50_000))), extract.TooLarge, "nested deeper"},
		"deep lists":      {textOf(t, contentOf(strings.Repeat("<text:list><text:list-item>", 50_000))), extract.TooLarge, "nested deeper"},
		"columns without end": {textOf(t, contentOf(`<table:table>`+strings.Repeat(`<table:table-row table:number-rows-repeated="999999999"><table:table-cell table:number-columns-repeated="999999999"><text:p>x</text:p></table:table-cell></table:table-row>`, 60)+`</table:table>`)),
			extract.TooLarge, "cells"},
		"a bomb": {textOf(t, words, extracttest.Part{"Pictures/a.svm", strings.Repeat(" ", 130<<20)}), extract.TooLarge, "unpacks to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readtest.Parse(t, "a.odt", tt.data)
			if extract.KindOf(err) != tt.kind || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v (kind %q), want kind %q with %q", err, extract.KindOf(err), tt.kind, tt.want)
			}
		})
	}
}

func TestCommentsAreLeftOutOfPlainText(t *testing.T) {
	t.Parallel()
	data := sample(t)
	doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), PlainRows: true}, extract.Limits{})
	if err != nil || strings.Contains(readtest.Text(doc), "still two") || len(doc.Warnings) != 1 {
		t.Errorf("error %v, text %q, warnings %q, want a warning in place of the comment", err, readtest.Text(doc), doc.Warnings)
	}
}

func FuzzODT(f *testing.F) {
	f.Add([]byte(body), []byte(styles))
	f.Fuzz(func(t *testing.T, body, styles []byte) {
		readtest.Check(t, "fuzz.odt", textOf(t, contentOf(string(body)), extracttest.Part{"styles.xml", `<s>` + string(styles) + `</s>`}))
	})
}

func FuzzFlatODT(f *testing.F) {
	readtest.Format(f, ".fodt", flat)
}
