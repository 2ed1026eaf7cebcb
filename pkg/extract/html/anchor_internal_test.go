package html

import (
	"fmt"
	"strings"
	"testing"
)

// TestAnchorsOfAHostilePageAreFast reads thousands of headings, each with an id, nested as deeply as the parser allows.
func TestAnchorsOfAHostilePageAreFast(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range 400 {
		fmt.Fprintf(&page, `<div id="d%d">`, i)
	}
	for i := range 20_000 {
		fmt.Fprintf(&page, `<div role="heading" id="h%d">x</div>`, i)
	}
	doc, err := parseHTML(page.String())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(headingAnchors(doc)); got != 20_000 {
		t.Errorf("%d headings have an anchor, want 20000", got)
	}
}
