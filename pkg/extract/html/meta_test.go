package html_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestMetadataOfPages(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "page.html", []byte(`<html lang="en_GB"><head><title>Boilers</title><meta name=author content="By Lene Marsk">
<script type="application/ld+json">{"@graph":[{"@type":"NewsArticle","author":[{"name":"Lene Marsk"},{"name":"Jo Adebayo"}],
"datePublished":"2026-02-17T06:30:00Z","publisher":{"name":"The Post"},"keywords":"oil, heat"},[[[[{"@type":"Product"}]]]]]}</script>
<script type="application/ld+json">{not json</script></head><body><p>They are gone.</p></body></html>`))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		domain.MetaAuthor: "Lene Marsk; Jo Adebayo", domain.MetaCreated: "2026-02-17T06:30:00Z", domain.MetaSite: "The Post", domain.MetaKeywords: "oil; heat",
	} {
		if got := doc.Metadata[key]; got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if doc.Language != "en-GB" || doc.Title != "Boilers" {
		t.Errorf("language %q, title %q", doc.Language, doc.Title)
	}
}

func TestOnlyASingleMainHeadingIsTheTitleOfAPage(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"<h1>Refunds</h1><p>We pay.</p>":                                                     "Refunds",
		"<h1>Refunds</h1><p>We pay.</p><h1>Shipping</h1><p>Parcels leave.</p>":               "",
		"<title>Terms</title><h1>Refunds</h1><p>We pay.</p><h1>Shipping</h1><p>Parcels.</p>": "Terms",
	} {
		doc, err := readtest.Parse(t, "a.html", []byte("<html><body>"+page+"</body></html>"))
		if err != nil {
			t.Fatal(err)
		}
		if doc.Title != want {
			t.Errorf("title of %q = %q, want %q", page, doc.Title, want)
		}
	}
}
