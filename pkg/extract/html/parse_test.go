package html

import (
	"strings"
	"testing"
)

func TestElementsHiddenFromScreenReadersAloneAreShown(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<body aria-hidden=true><p>seen</body>`:                                      "seen",
		`<div aria-hidden=true><div aria-hidden=true><b>x</b><p>seen</div></div>`:    "xseen",
		`<div aria-hidden=true>not</div><span aria-hidden=true>not</span><p>seen`:    "seen",
		`<p>seen</p><div hidden><div aria-hidden=true><p>not</div></div>`:            "seen",
		`<main aria-hidden=true>seen</main><main style="display: none">not</main>`:   "seen",
		`<div aria-hidden=true role=tabpanel>seen</div><div aria-hidden=true></div>`: "seen",
	} {
		doc, err := parseHTML(page)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(nodeText(doc), " ", ""); got != want {
			t.Errorf("%s shows %q, want %q", page, got, want)
		}
	}
}
