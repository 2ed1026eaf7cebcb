package extract

import (
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestDatesOfPages(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"2026-02-17T06:30:00+01:00": "2026-02-17T06:30:00+01:00",
		"2026-02-17T06:30:00+0100":  "2026-02-17T06:30:00+01:00",
		"2026-02-17T06:30:00":       "2026-02-17",
		"2026-02-17":                "2026-02-17",
		"February 17, 2026":         "2026-02-17",
		"yesterday":                 "",

		"2026-02-17 06:30:00 UTC":       "2026-02-17T06:30:00Z",
		"Tue, 17 Feb 2026 06:30:00 GMT": "2026-02-17T06:30:00Z",
		"Tue, 17 Feb 2026 06:30:00 CET": "2026-02-17", // what CET is depends on whom one asks
		"0000-00-00":                    "",
		"9999-12-31":                    "",
	}
	for in, want := range tests {
		if got := dateText(in); got != want {
			t.Errorf("dateText(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTitlesLoseTheNameOfTheSite(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ title, h1, site, host, want string }{
		"after a bar":                        {"Pumps | Wellhead", "", "Wellhead", "", "Pumps"},
		"before a dash":                      {"Wellhead - Pumps", "", "Wellhead", "", "Pumps"},
		"known from the address":             {"Pumps - Wellhead", "", "", "www.wellhead.example", "Pumps"},
		"known from the heading":             {"Pumps – Some Shop", "Pumps", "", "", "Pumps"},
		"between other parts":                {"shell - Pumps - Ask", "Pumps", "", "", "Pumps"},
		"a dash within the title is kept":    {"Pumps - an overview", "", "Wellhead", "wellhead.example", "Pumps - an overview"},
		"the heading is the site's name":     {"Wellhead - Pumps", "Wellhead", "Wellhead", "", "Pumps"},
		"a title that is the site is kept":   {"Wellhead", "", "Wellhead", "", "Wellhead"},
		"Japanese titles have their own bar": {"手順｜灯台", "", "灯台", "", "手順"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := withoutSite(tt.title, tt.h1, tt.site, tt.host); got != tt.want {
				t.Errorf("withoutSite = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMetadataOfPages(t *testing.T) {
	t.Parallel()
	doc, err := parseBytes(t, "page.html", []byte(`<html lang="en_GB"><head><title>Boilers</title><meta name=author content="By Lene Marsk">
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
		doc, err := parseBytes(t, "a.html", []byte("<html><body>"+page+"</body></html>"))
		if err != nil {
			t.Fatal(err)
		}
		if doc.Title != want {
			t.Errorf("title of %q = %q, want %q", page, doc.Title, want)
		}
	}
}
