package crawl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinkHeaders_are_read(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header []string
		want   []headerLink
	}{
		"none": {},
		"one":  {[]string{`<https://a.example/x>; rel="canonical"`}, []headerLink{{target: "https://a.example/x", rel: "canonical"}}},
		"without quotation marks, names in any case": {[]string{`<x>;REL=canonical;Title=y`}, []headerLink{{target: "x", rel: "canonical"}}},
		"several in one header, commas within addresses and quotations": {
			[]string{`<a,b>; title="x, <y>; \"rel=no"; rel="alternate next"; hreflang=de , , <c>; rel=prev`},
			[]headerLink{{target: "a,b", rel: "alternate next", hreflang: "de"}, {target: "c", rel: "prev"}},
		},
		"several headers":                  {[]string{`<a>; rel=next`, `<b>; rel=prev`}, []headerLink{{target: "a", rel: "next"}, {target: "b", rel: "prev"}}},
		"the first relation counts":        {[]string{`<a>; rel=next; rel=canonical`}, []headerLink{{target: "a", rel: "next"}}},
		"one of another page is left out":  {[]string{`<a>; rel=canonical; anchor="/other", <b>; rel=next`}, []headerLink{{target: "b", rel: "next"}}},
		"one without relation is left out": {[]string{`<a>, <b>; hreflang=de`}, nil},
		"malformed ones end the reading":   {[]string{`<a>; rel=next, b; rel=prev, <c>; rel=prev`, `<d`, `<e>; rel=next`}, []headerLink{{target: "a", rel: "next"}, {target: "e", rel: "next"}}},
		"a quotation without end":          {[]string{`<a>; rel="next`}, []headerLink{{target: "a", rel: "next"}}},
		"what is too long is not read":     {[]string{`<a>; rel=next; x="` + strings.Repeat("y", maxLinkHeaderBytes) + `"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, linkHeaders(tc.header), cmp.AllowUnexported(headerLink{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzLinkHeaders(f *testing.F) {
	for _, s := range []string{`<a>; rel="next"`, `<a>;;,<b>;rel`, `<`, `<a>;rel="\`, `<a>; rel = "x" ; hreflang= , <b>`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		links := linkHeaders([]string{v, v})
		if len(links) > maxHeaderLinks {
			t.Errorf("%d links", len(links))
		}
		for _, l := range links {
			if l.rel == "" || !strings.Contains(v, l.target) {
				t.Errorf("%q gives %+v", v, l)
			}
		}
	})
}
