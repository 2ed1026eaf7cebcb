package pdftext

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// manyNames returns a page with n font names and n form names in its resources and `rounds` uses of each in its
// content. All form names refer to one form, which shares the page's resources.
func manyNames(n, rounds int) []byte {
	var fonts, forms, content strings.Builder
	for i := range n {
		fmt.Fprintf(&fonts, "/F%d %s ", i, strings.ReplaceAll(helvetica, "Helvetica", fmt.Sprint("Helvetica", i)))
		fmt.Fprintf(&forms, "/X%d 6 0 R ", i)
	}
	for i := range n * rounds {
		fmt.Fprintf(&content, "BT /F%d 10 Tf 1 0 0 1 %d %d Tm (a) Tj ET /X%[1]d Do\n", i%n, i%50*10, i%80*10)
	}
	return showing(extracttest.Stream("", content.String()), "/MediaBox [0 0 600 850] /Resources 5 0 R", "",
		"<< /Font << "+fonts.String()+">> /XObject << "+forms.String()+">> >>",
		extracttest.Stream("/Type /XObject /Subtype /Form /Resources 5 0 R", "BT ET"))
}

func TestResourcesAreReadOnce(t *testing.T) { // not parallel, because it counts allocations
	d, err := Open(manyNames(20, 1))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	in := &interpreter{ctx: t.Context(), doc: d, shared: map[uint32]*resources{}}
	list := d.pageResources(d.pages[0])
	r := in.resourcesOf(list)
	if again := in.resourcesOf(list); again != r {
		t.Error("resources that a page and its forms share are read again")
	}
	font := r.font("F7")
	if r.font("F7") != font || r.font("F8") == font {
		t.Error("the font of a name is not the one that was found, or that of another name")
	}
	form := r.get("XObject", "X7")
	if form.Key("Subtype").Name() != "Form" {
		t.Fatalf("/X7 is %v, want a form", form)
	}
	if n := testing.AllocsPerRun(100, func() { r.get("XObject", "X7"); r.font("F7") }); n > 0 {
		t.Errorf("found resources are looked up again: %v allocations", n)
	}
}

func TestNamesOfResourcesAreBounded(t *testing.T) {
	t.Parallel()
	d, err := Open(manyNames(1, 1))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	r := newResources(d, d.pageResources(d.pages[0]))
	for i := range 3 * maxNamed {
		r.font(fmt.Sprint("missing", i))
	}
	if len(r.named) > maxNamed+1 || len(r.fonts) > maxNamed {
		t.Errorf("%d names and %d fonts are remembered, want at most %d", len(r.named), len(r.fonts), maxNamed)
	}
	if f := r.font("F0"); f == nil || f != d.fonts.Load(r.get("Font", "F0")) {
		t.Errorf("the font of a name that is not kept is %+v, not that of the document", f)
	}
}

func BenchmarkManyNamesOfResources(b *testing.B) {
	data := manyNames(200, 4)
	for b.Loop() {
		d, err := Open(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Page(b.Context(), 0); err != nil && !errors.Is(err, errBudget) {
			b.Fatal(err)
		}
	}
}
