package html

import "testing"

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
		"Tue, 17 Feb 2026 06:30:00 CET": "2026-02-17", // the meaning of CET depends on the location
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
