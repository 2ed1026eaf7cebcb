package html_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// TestSmallPagesKeepTheirStructure reads pages with too little text for article extractors.
func TestSmallPagesKeepTheirStructure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		page string
		want []domain.Block
	}{
		"a heading and a paragraph are told apart and told once": {
			`<html><head><title>Team page</title></head><body><h1>Team</h1><p>The head mechanic is Olivia Penhaligon.</p></body></html>`,
			[]domain.Block{
				{Kind: domain.BlockHeading, Level: 1, Text: "Team"},
				{Kind: domain.BlockParagraph, Text: "The head mechanic is Olivia Penhaligon."},
			},
		},
		"a table keeps its cells and a list its items": {
			`<h1>Price list</h1><table><tr><th>Tool</th><th>Price</th></tr><tr><td>Spade</td><td>12 euros</td></tr></table>` +
				`<h2>Hours</h2><ul><li>Monday</li><li>Tuesday</li></ul>`,
			[]domain.Block{
				{Kind: domain.BlockHeading, Level: 1, Text: "Price list"},
				{Kind: domain.BlockTableRow, Text: "Tool\tPrice"},
				{Kind: domain.BlockTableRow, Text: "Tool: Spade; Price: 12 euros"},
				{Kind: domain.BlockHeading, Level: 2, Text: "Hours"},
				{Kind: domain.BlockListItem, Level: 1, Text: "Monday"},
				{Kind: domain.BlockListItem, Level: 1, Text: "Tuesday"},
			},
		},
		"properties stand above a table of items": {
			`<table><tr><td>Customer</td><td colspan=2>Nord AG</td></tr><tr><td>Order</td><td colspan=2>R 5</td></tr><tr><th>Item</th><th>Quantity</th><th>Price</th></tr><tr><td>Lamp</td><td>2</td><td>10.00</td></tr></table>`,
			[]domain.Block{
				{Kind: domain.BlockTableRow, Text: "Customer: Nord AG"},
				{Kind: domain.BlockTableRow, Text: "Order: R 5"},
				{Kind: domain.BlockTableRow, Text: "Item\tQuantity\tPrice"},
				{Kind: domain.BlockTableRow, Text: "Item: Lamp; Quantity: 2; Price: 10.00"},
			},
		},
		"properties stand side by side": {
			`<table><tr><th>Fuel</th><td>Diesel</td><th>Seats</th><td>5</td></tr><tr><th>Doors</th><td>3</td><th>Paint</th><td>red</td></tr></table>`,
			[]domain.Block{
				{Kind: domain.BlockTableRow, Text: "Fuel: Diesel; Seats: 5"},
				{Kind: domain.BlockTableRow, Text: "Doors: 3; Paint: red"},
			},
		},
		"what surrounds the content is left out": {
			`<header>Bicycle Ltd.</header><nav><a>Home</a></nav><main><aside>Bring a pump.</aside><p>We mend <b>by</b>cycles.</p></main>` +
				`<aside>Advertisement</aside><footer>© 2020</footer><script>track()</script>`,
			[]domain.Block{
				{Kind: domain.BlockParagraph, Text: "Bring a pump."},
				{Kind: domain.BlockParagraph, Text: "We mend bycycles."},
			},
		},
		"the main heading is kept where it stands in the header": {
			`<header><h1>Team</h1><p>Menu</p></header><p>The head mechanic is Olivia Penhaligon.</p>`,
			[]domain.Block{
				{Kind: domain.BlockHeading, Level: 1, Text: "Team"},
				{Kind: domain.BlockParagraph, Text: "The head mechanic is Olivia Penhaligon."},
			},
		},
		"a page of nothing but a header and a footer is read": {
			`<header><h1>Closed</h1></header><footer>Back on Monday.</footer>`,
			[]domain.Block{
				{Kind: domain.BlockHeading, Level: 1, Text: "Closed"},
				{Kind: domain.BlockParagraph, Text: "Back on Monday."},
			},
		},
		"divisions without paragraphs do not run into each other": {
			`<div>Opens at nine</div><div>Closes at five<br>or later</div>`,
			[]domain.Block{
				{Kind: domain.BlockParagraph, Text: "Opens at nine"},
				{Kind: domain.BlockParagraph, Text: "Closes at five\nor later"},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "page.html", []byte(tt.page))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(tt.want, doc.Blocks, cmpopts.IgnoreFields(domain.Block{}, "Offset")); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPagesOfEveryLengthAreReadOnce grows a page beyond the length at which main content extraction starts. At every
// length, each paragraph must appear exactly once.
func TestPagesOfEveryLengthAreReadOnce(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("<html><body><nav><a>Home</a></nav><h1>Riverbank almanac</h1>")
	for _, month := range []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"} {
		page.WriteString("<h2>" + month + "</h2><p>In " + month + " the water stands at its usual height, and the keeper of the lock, who has seen " +
			"many a year, expects the gate to stay shut until the week that follows.</p>")
		doc, err := readtest.Parse(t, "page.html", []byte(page.String()))
		if err != nil {
			t.Fatalf("up to %s: %v", month, err)
		}
		text := readtest.Render(doc)
		if n := strings.Count(text, "In "+month+" the water"); n != 1 {
			t.Errorf("up to %s (%s): its paragraph is there %d times", month, doc.Route, n)
		}
		if !strings.Contains(text, "[heading 2] "+month+"\n") {
			t.Errorf("up to %s (%s): its heading is not there", month, doc.Route)
		}
	}
}

func TestAPageWithoutTextSaysWhy(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<!doctype html><title>App</title><script src="/app.js"></script><div id="root"></div>`: "scripts build it in the browser",
		`<!doctype html><script type="application/ld+json">{}</script><p></p>`:                  "the file contains no text",
	} {
		if _, err := readtest.Parse(t, "page.html", []byte(page)); format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", page, err, want)
		}
	}
}
