package opendocument_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	typeODP = "application/vnd.oasis.opendocument.presentation"
	// slides is the body of a presentation as LibreOffice Impress writes it: frames have classes, and notes include an
	// image of the slide.
	slides = `<presentation:footer-decl presentation:name="f">Footer of every slide</presentation:footer-decl>` +
		`<draw:page draw:name="page1" draw:master-page-name="Default"><draw:frame presentation:class="subtitle"><draw:text-box><text:p>Ghent, May</text:p></draw:text-box></draw:frame>` +
		`<draw:frame presentation:class="title"><draw:text-box><text:p>The house</text:p><text:p>and its rooms</text:p></draw:text-box></draw:frame>` +
		`<draw:frame presentation:class="page-number"><draw:text-box><text:p>1</text:p></draw:text-box></draw:frame>` +
		`<presentation:notes><draw:page-thumbnail/><draw:frame presentation:class="notes"><draw:text-box><text:p>Say hello first.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>` +
		`<draw:page draw:name="page2"><office:forms/><draw:frame presentation:class="title" presentation:placeholder="true"><draw:text-box/></draw:frame>` +
		`<draw:frame presentation:class="outline"><draw:text-box><text:list><text:list-item><text:p>Attic</text:p><text:list><text:list-item><text:p>cold</text:p></text:list-item></text:list></text:list-item></text:list></draw:text-box></draw:frame>` +
		`<draw:g><draw:custom-shape><text:p>Shape <text:span>words</text:span></text:p></draw:custom-shape></draw:g><draw:line/>` +
		`<draw:frame><table:table><table:table-row><table:table-cell><text:p>Room</text:p></table:table-cell><table:table-cell><text:p>Tenant</text:p></table:table-cell><table:table-cell><text:p>Rent</text:p></table:table-cell></table:table-row>` +
		`<table:table-row><table:table-cell><text:p>Attic</text:p></table:table-cell><table:table-cell><text:p>Cy</text:p></table:table-cell><table:table-cell><text:p>90</text:p></table:table-cell></table:table-row></table:table><draw:image/></draw:frame>` +
		`<draw:frame><draw:image xlink:href="a.png"/><svg:desc>A plan of the house</svg:desc></draw:frame><office:annotation><dc:creator>Bo</dc:creator><text:p>Add the cellar.</text:p></office:annotation></draw:page>` +
		`<presentation:settings/>`
)

func presentationOf(t testing.TB, body string) []byte {
	t.Helper()
	return extracttest.Office(t, extracttest.Part{"mimetype", typeODP},
		extracttest.Part{"content.xml", `<office:document-content xmlns:presentation="p" ` + spaces + `><office:body><office:presentation>` + body + `</office:presentation></office:body></office:document-content>`})
}

func TestSlidesAreReadInOrder(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "house.odp", presentationOf(t, slides))
	want := `heading 1 on 1: The house and its rooms
paragraph on 1: Ghent, May
paragraph on 1: Say hello first.
list_item 1 on 2: Attic
list_item 2 on 2: cold
paragraph on 2: Shape words
table_row on 2: Room	Tenant	Rent
table_row on 2: Room: Attic; Tenant: Cy; Rent: 90
paragraph on 2: A plan of the house
paragraph on 2: Add the cellar.`
	if diff := cmp.Diff(want, readtest.Lines(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if doc.Title != "The house and its rooms" || doc.Pages != 2 || doc.Blocks[0].Apart || !doc.Blocks[3].Apart || len(doc.Warnings) != 0 {
		t.Errorf("title %q, %d pages, warnings %q", doc.Title, doc.Pages, doc.Warnings)
	}
}

func TestPresentationsAreBounded(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.odp", presentationOf(t, strings.Repeat(`<draw:page><draw:frame><draw:text-box><text:p>x</text:p></draw:text-box></draw:frame></draw:page>`, 20_001)))
	if doc.Pages != 20_000 || len(doc.Warnings) != 1 {
		t.Errorf("%d pages, warnings %q, want 20,000 and a warning", doc.Pages, doc.Warnings)
	}
	readtest.Check(t, "a.odp", presentationOf(t, strings.Repeat("<draw:page>", 100)+strings.Repeat("<draw:g><draw:frame>", 10_000)))
	readtest.Check(t, "a.odp", presentationOf(t, strings.Repeat("<presentation:notes>", 10_000)))
}

func FuzzODP(f *testing.F) {
	f.Add([]byte(slides))
	f.Fuzz(func(t *testing.T, body []byte) { readtest.Check(t, "fuzz.odp", presentationOf(t, string(body))) })
}
