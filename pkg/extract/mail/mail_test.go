package mail_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/mail"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	sample = "From: =?utf-8?q?J=C3=B6rg?= <joerg@a.example>\r\nTo: Ann Lee <ann@b.example>, ben@b.example\r\nSubject: =?iso-8859-1?Q?Gr=F6=DFe?=\r\n of the door\r\n" +
		"Date: Tue, 02 Jan 2024 10:00:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"B\"\r\n\r\npreamble\r\n" +
		"--B\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nThe door is 2 m hi=\r\ngh, gr=F6=DFer = than 50 % before.\r\n" +
		"--B\r\nContent-Type: text/csv; name=prices.csv\r\nContent-Disposition: attachment; filename=\"prices.csv\"\r\nContent-Transfer-Encoding: base64\r\n\r\nSXRlbSxQcmljZQ0KRG9vciwxMA0KV2luZG93LDUNCg==\r\n--B--\r\n"
)

func TestMailIsReadWithItsAttachments(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.eml", []byte(sample))
	want := []string{"heading 1: Größe of the door", "paragraph: From: Jörg <joerg@a.example>\nTo: Ann Lee <ann@b.example>, ben@b.example\nDate: Tue, 02 Jan 2024 10:00:00 +0100",
		"paragraph: The door is 2 m high, größer = than 50 % before.", "heading 2: prices.csv", "table_row: Item\tPrice", "table_row: Item: Door; Price: 10", "table_row: Item: Window; Price: 5"}
	if diff := cmp.Diff(want, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if doc.MIMEType != format.TypeMail || doc.Title != "Größe of the door" || doc.Metadata[domain.MetaAuthor] != "Jörg <joerg@a.example>" || doc.Metadata[domain.MetaCreated] != "2024-01-02T10:00:00+01:00" {
		t.Errorf("type %q, title %q, metadata %v", doc.MIMEType, doc.Title, doc.Metadata)
	}
	if len(doc.Warnings) > 0 {
		t.Errorf("warnings = %q", doc.Warnings)
	}
}

// messageOf returns a message with the given body, which may start with more header fields.
func messageOf(body string) string {
	return "From: a@a.example\nTo: b@b.example\nSubject: Doors\nDate: Tue, 02 Jan 2024 10:00:00 +0100\nMIME-Version: 1.0\n" + body
}

// multipartOf returns a multipart body with the given parts.
func multipartOf(kind string, parts ...string) string {
	return "Content-Type: multipart/" + kind + "; boundary=" + kind + "\n\n--" + kind + "\n" + strings.Join(parts, "\n--"+kind+"\n") + "\n--" + kind + "--\n"
}

func TestPartsOfMail(t *testing.T) {
	t.Parallel()
	const plain, page = "Content-Type: text/plain; charset=utf-8\n\nA door of oak, größer.", "Content-Type: text/html; charset=utf-8\n\n<p>A <b>door</b> of oak, größer.</p><style>p { margin: 0; padding: 0; border: 0; color: black }</style>"
	attached := func(name, kind string, content []byte) string {
		return fmt.Sprintf("Content-Type: %s; name=%q\nContent-Disposition: attachment; filename=%q\nContent-Transfer-Encoding: base64\n\n%s", kind, name, name, base64.StdEncoding.EncodeToString(content))
	}
	deep := "Content-Type: text/plain\n\nthe end"
	for range 10 {
		deep = "Content-Type: message/rfc822\n\n" + messageOf(deep)
	}
	tests := map[string]struct {
		body, has, lacks, warning string
	}{
		"text alone":         {body: plain, has: "A door of oak, größer."},
		"no type at all":     {body: "\nA door of oak.", has: "A door of oak."},
		"a page alone":       {body: page, has: "A door of oak, größer."},
		"an unknown charset": {body: "Content-Type: text/plain; charset=x-unknown\n\ngr\xf6\xdfer als", has: "größer als"},
		"text before the page that says the same":   {body: multipartOf("alternative", plain, page), has: "A door of oak, größer."},
		"the page where the text says nothing":      {body: multipartOf("alternative", "Content-Type: text/plain\n\nUse HTML.", "Content-Type: text/html\n\n<p>A door of oak, a window of pine</p>"), has: "A door of oak", lacks: "Use HTML"},
		"a page with its pictures":                  {body: multipartOf("related", page, "Content-Type: image/png; name=a.png\nContent-ID: <1>\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo="), has: "A door of oak", lacks: "a.png"},
		"a docx":                                    {body: multipartOf("mixed", plain, attached("a.docx", "application/octet-stream", extracttest.Word(t, extracttest.WordPara("", "A window of pine")))), has: "A window of pine"},
		"a file of unknown kind":                    {body: multipartOf("mixed", plain, attached("a.zip", "application/zip", extracttest.Zip(t, map[string]string{"x": "y"}, 1))), has: "A door", warning: `the attachment "a.zip"`},
		"a picture":                                 {body: multipartOf("mixed", plain, attached("a.png", "image/png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"))), has: "A door", warning: `the attachment "a.png"`},
		"a damaged file":                            {body: multipartOf("mixed", plain, attached("a.pdf", "application/pdf", []byte("%PDF-1.4 nothing"))), has: "A door", warning: `the attachment "a.pdf"`},
		"a message inside":                          {body: multipartOf("mixed", plain, "Content-Type: message/rfc822\n\n"+strings.Replace(messageOf("\nA window."), "Doors", "Windows", 1)), has: "Windows\n"},
		"a mail as an attachment":                   {body: multipartOf("mixed", plain, attached("b.eml", "application/octet-stream", []byte(messageOf("\nA window.")))), has: "A window."},
		"messages inside messages":                  {body: multipartOf("mixed", plain, deep), has: "A door", lacks: "the end", warning: "nested too deeply"},
		"a signature":                               {body: multipartOf("signed", plain, "Content-Type: application/pgp-signature; name=s.asc\n\nxyz"), has: "A door", lacks: "xyz"},
		"a message that is encrypted":               {body: multipartOf("mixed", plain, multipartOf("encrypted", "Content-Type: application/octet-stream\n\nxyz")), has: "A door", warning: "encrypted"},
		"a last boundary that is missing":           {body: strings.TrimSuffix(multipartOf("mixed", plain), "\n--mixed--\n"), has: "A door of oak"},
		"lines that flow":                           {body: "Content-Type: text/plain; format=flowed\n\nA door \nof oak.\n> quoted \n> line\n", has: "A door of oak.\n> quoted line"},
		"a body without its boundary":               {body: "Content-Type: multipart/mixed\n\nA door of oak.", has: "A door of oak.", warning: "the boundary between its parts"},
		"an attachment with a path is named by its": {body: multipartOf("mixed", plain, attached(`..\..\c.txt`, "text/plain", []byte("A window"))), has: "c.txt\nA window", lacks: ".."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.eml", []byte(messageOf(tt.body)))
			var b strings.Builder
			for _, block := range doc.Blocks {
				b.WriteString(block.Text + "\n")
			}
			if text := b.String(); !strings.Contains(text, tt.has) || tt.lacks != "" && strings.Contains(text, tt.lacks) || strings.Contains(text, "Content-T") {
				t.Errorf("read %q", text)
			}
			if warnings := strings.Join(doc.Warnings, "\n"); !strings.Contains(warnings, tt.warning) || tt.warning == "" && warnings != "" {
				t.Errorf("warnings = %q", warnings)
			}
		})
	}
}

func TestTheTextMayBeRTF(t *testing.T) {
	t.Parallel()
	const page = "Content-Type: text/rtf\n\n{\\rtf1\\ansi The \\b door\\b0  is open.\\par}"
	for name, body := range map[string]string{"alone": page, "an alternative": multipartOf("alternative", page), "in parts": multipartOf("mixed", page)} {
		doc := readtest.MustParse(t, "a.eml", []byte(messageOf(body)))
		if text := readtest.Text(doc); !strings.HasSuffix(text, "The door is open.") {
			t.Errorf("%s: text = %q, want the words of the RTF", name, text)
		}
	}
	both := readtest.MustParse(t, "a.eml", []byte(messageOf(multipartOf("alternative", "Content-Type: text/plain\n\nThe plain words.", page))))
	if text := readtest.Text(both); !strings.HasSuffix(text, "The plain words.") {
		t.Errorf("text = %q, want the plain text", text)
	}
}

func TestAttachmentsAreBounded(t *testing.T) {
	t.Parallel()
	var parts []string
	for i := range mail.MaxMailParts + 500 {
		parts = append(parts, fmt.Sprintf("Content-Type: text/plain\nContent-Disposition: attachment; filename=%d.txt\n\nwords", i))
	}
	doc := readtest.MustParse(t, "a.eml", []byte(messageOf(multipartOf("mixed", parts...))))
	if n := strings.Count(strings.Join(readtest.Office(doc), "\n"), "words"); n != mail.MaxAttachments {
		t.Errorf("%d attachments were read, want %d", n, mail.MaxAttachments)
	}
	large := messageOf(multipartOf("mixed", "Content-Type: text/plain\n\n"+strings.Repeat("words ", 1000)))
	if _, err := extract.Parse(t.Context(), format.Source{Data: strings.NewReader(large), Size: int64(len(large)), Name: "a.eml"}, format.Limits{MaxUnpacked: 1000}); format.KindOf(err) != format.TooLarge {
		t.Errorf("error = %v, want that it is too large", err)
	}
}

func TestWebArchivesAreTheirPage(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"a.mht": extracttest.ArchiveSample, "xhtml.mht": strings.ReplaceAll(extracttest.ArchiveSample, "text/html", "application/xhtml+xml"), "a.mhtml": extracttest.ArchiveSample, "page": extracttest.ArchiveSample, "a.doc": extracttest.ArchiveSample} {
		doc := readtest.MustParse(t, name, []byte(data))
		if diff := cmp.Diff([]string{"paragraph: A door costs € 500, see the list. <see the list https://a.example/list>"}, readtest.Office(doc)); diff != "" {
			t.Errorf("%s: blocks (-want +got):\n%s", name, diff)
		}
		if doc.MIMEType != format.TypeMHTML || doc.Title != "Doors" {
			t.Errorf("%s: type %q, title %q", name, doc.MIMEType, doc.Title)
		}
	}
}

func TestMessagesAreKnownByTheirHeader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ head, name, declared, want string }{
		{sample, "a.eml", "", format.TypeMail},
		{sample, "a.txt", "text/plain", format.TypeMail},
		{sample, "upload", "application/octet-stream", format.TypeMail},
		{"From ann Tue Jan 2\n" + sample, "a", "", format.TypeMail},
		{"Received: from x by y\nMessage-ID: <1>\nSubject: x\n\nx", "", "", format.TypeMail},
		{extracttest.ArchiveSample, "a.mht", "", format.TypeMHTML},
		{extracttest.ArchiveSample, "", "application/x-mimearchive", format.TypeMHTML},
		{extracttest.ArchiveSample, "a.doc", "application/msword", format.TypeMHTML},
		{extracttest.ArchiveSample, "a.html", "", format.TypeMHTML},
		{"Subject: x\nTo: y\n\nwords", "a.eml", "", format.TypeMail},
		{"words alone", "a.eml", "", format.TypeText},
		{"<html><body>x", "a.mht", "", format.TypeHTML},
		{"From: here\nTo: there\n\nA route.", "a.txt", "", format.TypeText},
		{"Title: x\nDate: y\nFrom us to you all.", "", "", format.TypeText},
		{sample, "a.csv", "", format.TypeCSV},
	} {
		if got := extract.DetectType([]byte(tt.head), tt.name, tt.declared); got != tt.want {
			t.Errorf("DetectType(%.30q, %q, %q) = %q, want %q", tt.head, tt.name, tt.declared, got, tt.want)
		}
	}
}
