package epub_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	containerFile = `<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`
	metadata      = `<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Lamp</dc:title><dc:creator>Ann Oake</dc:creator><dc:creator>Bo Reed</dc:creator><dc:language>en-GB</dc:language><dc:date>2021-05-04</dc:date><dc:subject>Light</dc:subject><meta property="dcterms:modified">2022-01-02T03:04:05Z</meta></metadata>`
	page          = `<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title/><script src="a.js"/></head><body>`
)

// bookOf returns a book with the given manifest, spine and parts.
func bookOf(t testing.TB, manifest, spine string, parts ...extracttest.Part) []byte {
	t.Helper()
	return extracttest.Office(t, append([]extracttest.Part{
		{"mimetype", "application/epub+zip"}, {"META-INF/container.xml", containerFile},
		{"OPS/book.opf", `<package xmlns="http://www.idpf.org/2007/opf" version="3.0">` + metadata + `<manifest>` + manifest + `</manifest>` + spine + `</package>`},
	}, parts...)...)
}

func itemOf(id, href, more string) string {
	return `<item id="` + id + `" href="` + href + `" media-type="application/xhtml+xml" ` + more + `/>`
}

// sample returns an EPUB 3 book that contains most of what real books contain.
func sample(t testing.TB) []byte {
	t.Helper()
	return bookOf(t,
		itemOf("nav", "nav.xhtml", `properties="nav"`)+itemOf("c1", "text/one.xhtml", "")+itemOf("c2", "text/two%20b.xhtml", "")+itemOf("n", "text/notes.xhtml", "")+
			`<item id="cover" href="cover.svg" media-type="image/svg+xml"/>`,
		`<spine><itemref idref="nav"/><itemref idref="cover"/><itemref idref="n" linear="no"/><itemref idref="c2"/><itemref idref="c1"/><itemref idref="lost"/></spine>`,
		extracttest.Part{"OPS/nav.xhtml", page + `<nav epub:type="landmarks"><ol><li><a href="text/one.xhtml">Begin here</a></li></ol></nav><nav epub:type="toc"><h1>Contents</h1><ol><li><a href="text/two%20b.xhtml">Oil <i>and</i> wick</a><ol><li><a href="text/one.xhtml#top">Glass</a></li></ol></li></ol></nav></body></html>`},
		extracttest.Part{"OPS/text/one.xhtml", page + `<h2>Of glass</h2><p>The <a id="x"/>chimney is blown.</p><table><tr><th>Part</th><th>Price</th></tr><tr><td>Chimney</td><td>4</td></tr><tr><td>Wick</td><td>1</td></tr></table></body></html>`},
		extracttest.Part{"OPS/text/two b.xhtml", page + `<p>Fill it at dusk.<a epub:type="noteref" href="#n1">1</a></p><ul><li>Trim</li></ul><p hidden="hidden">Never shown.</p><aside epub:type="footnote" id="n1"><p>1. Not with petrol.</p></aside></body></html>`},
		extracttest.Part{"OPS/text/notes.xhtml", page + `<p>A note at the end.</p></body></html>`})
}

func TestGolden(t *testing.T) {
	t.Parallel()
	got := readtest.Render(readtest.MustParse(t, "lamp.epub", sample(t)))
	const file = "testdata/lamp.golden"
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

func TestMetadataIsThatOfThePackage(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "lamp.epub", sample(t))
	want := map[string]string{domain.MetaAuthor: "Ann Oake; Bo Reed", domain.MetaCreated: "2021-05-04", domain.MetaModified: "2022-01-02T03:04:05Z", domain.MetaKeywords: "Light"}
	if diff := cmp.Diff(want, doc.Metadata); diff != "" || doc.Title != "The Lamp" || doc.Language != "en-GB" {
		t.Errorf("title %q, language %q, metadata (-want +got):\n%s", doc.Title, doc.Language, diff)
	}
}

func TestTheContentsOfEPUB2NameChapters(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.epub", bookOf(t, itemOf("c1", "one.xhtml", "")+`<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>`, `<spine toc="ncx"><itemref idref="c1"/></spine>`,
		extracttest.Part{"OPS/toc.ncx", `<ncx><navMap><navPoint><navLabel><text>Part I</text></navLabel><navPoint><navLabel><text>Dusk</text></navLabel><content src="one.xhtml"/></navPoint></navPoint></navMap></ncx>`},
		extracttest.Part{"OPS/one.xhtml", page + `<p>Dusk</p><p>It falls.</p></body></html>`}))
	if diff := cmp.Diff([]string{"heading 2: Dusk", "paragraph: It falls."}, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestBooksAreRefusedWithTheCause(t *testing.T) {
	t.Parallel()
	one := extracttest.Part{"OPS/one.xhtml", page + `<p>Sealed.</p></body></html>`}
	lock := func(part string) extracttest.Part {
		return extracttest.Part{"META-INF/encryption.xml", `<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><CipherData><CipherReference URI="` + part + `"/></CipherData></EncryptedData></encryption>`}
	}
	manifest, spine := itemOf("c1", "one.xhtml", ""), `<spine><itemref idref="c1"/></spine>`
	for name, tt := range map[string]struct {
		data []byte
		kind extract.Kind
		want string
	}{
		"DRM":                    {bookOf(t, manifest, spine, one, lock("OPS/one.xhtml")), extract.Encrypted, "DRM"},
		"obscured fonts":         {bookOf(t, manifest, spine, one, lock("OPS/font.otf")), "", ""},
		"no spine":               {bookOf(t, manifest, "", one), extract.Damaged, "EPUB book"},
		"no package":             {extracttest.Office(t, extracttest.Part{"mimetype", "application/epub+zip"}), extract.Damaged, "EPUB book"},
		"no text":                {bookOf(t, manifest, spine), extract.NoText, "no text"},
		"a package that is torn": {bookOf(t, manifest+`<item`, spine, one), extract.Damaged, "EPUB book"},
		"tags that never end":    {bookOf(t, manifest, spine, extracttest.Part{"OPS/one.xhtml", strings.Repeat("<div>", 100_000) + "deep words"}), "", ""},
		"deep XML":               {bookOf(t, strings.Repeat("<a>", 100_000), spine, one), extract.TooLarge, "nested deeper"},
		"entities": {bookOf(t, manifest, spine, extracttest.Part{"OPS/one.xhtml", `<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>` + "<p>words &b;</p>"}),
			"", ""},
		"a bomb":                 {bookOf(t, manifest, spine, one, extracttest.Part{"OPS/two.xhtml", strings.Repeat(" ", 130<<20)}), extract.TooLarge, "unpacks to"},
		"parts outside the book": {bookOf(t, itemOf("c1", "../../../../etc/passwd", ""), spine, one), extract.NoText, "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readtest.Parse(t, "a.epub", tt.data)
			if extract.KindOf(err) != tt.kind || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v (kind %q), want kind %q with %q", err, extract.KindOf(err), tt.kind, tt.want)
			}
		})
	}
}

func TestABookIsKnownWithoutItsName(t *testing.T) {
	t.Parallel()
	if doc := readtest.MustParse(t, "upload", sample(t)); doc.MIMEType != "application/epub+zip" {
		t.Errorf("type = %s", doc.MIMEType)
	}
}

func FuzzEPUB(f *testing.F) {
	f.Add([]byte(`<item id="a" href="one.xhtml"/>`), []byte(`<p>words</p>`))
	f.Add([]byte(itemOf("a", "one.xhtml", `properties="nav"`)), []byte(page+`<nav><ol><li><a href="one.xhtml">x</a></li></ol></nav>`))
	f.Fuzz(func(t *testing.T, manifest, chapter []byte) {
		readtest.Check(t, "fuzz.epub", bookOf(t, string(manifest), `<spine toc="a"><itemref idref="a"/></spine>`, extracttest.Part{"OPS/one.xhtml", string(chapter)}))
	})
}
