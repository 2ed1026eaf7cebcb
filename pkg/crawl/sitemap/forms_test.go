package sitemap

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

// entries returns the addresses in a sitemap, each with its time if it has one.
func entries(in []byte) ([]string, error) {
	var got []string
	err := Read(bytes.NewReader(in), 1<<20, nil, func(e Entry) error {
		s := e.Loc
		if !e.LastMod.IsZero() {
			s += " " + e.LastMod.Format(time.RFC3339)
		}
		if e.Sitemap {
			s += " (sitemap)"
		}
		if e.Feed {
			s += " (feed)"
		}
		if e.Alternate {
			s += " (alternate)"
		}
		got = append(got, s)
		return nil
	})
	return got, err
}

func TestReadSitemap_accepts_common_deviations(t *testing.T) {
	t.Parallel()
	const one = `<urlset><url><loc>http://e.com/a</loc></url></urlset>`
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"a prefix for every element": {`<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:lastmod>2026-01-05</s:lastmod><s:loc>http://e.com/a</s:loc></s:url></s:urlset>`,
			[]string{"http://e.com/a 2026-01-05T00:00:00Z"}},
		"names in capitals":        {`<URLSET><Url><LOC>http://e.com/a</LOC><LastMod>2026-01</LastMod></Url></URLSET>`, []string{"http://e.com/a 2026-01-01T00:00:00Z"}},
		"no namespace at all":      {one, []string{"http://e.com/a"}},
		"an image of the page":     {`<urlset xmlns="s" xmlns:image="i"><url><image:loc>http://e.com/a.png</image:loc><loc>http://e.com/a</loc><image:image><image:loc>x</image:loc></image:image></url></urlset>`, []string{"http://e.com/a"}},
		"translations of the page": {`<urlset xmlns="s" xmlns:xhtml="x"><url><loc>http://e.com/a</loc><xhtml:link rel="alternate" hreflang="de" href="http://e.com/de"/></url></urlset>`, []string{"http://e.com/a", "http://e.com/de (alternate)"}},
		"translations before the address": {`<urlset xmlns="s" xmlns:xhtml="x"><url><xhtml:link rel="alternate" hreflang="de" href="http://e.com/de"/><xhtml:link rel="alternate" hreflang="en" href="http://e.com/a"/><loc>http://e.com/a</loc><lastmod>2026-01-05</lastmod></url></urlset>`,
			[]string{"http://e.com/a 2026-01-05T00:00:00Z", "http://e.com/de 2026-01-05T00:00:00Z (alternate)"}},
		"the page for small screens":       {`<urlset xmlns="s" xmlns:xhtml="x"><url><loc>http://e.com/a</loc><xhtml:link rel="alternate" media="only screen and (max-width: 640px)" href="http://m.e.com/a"/></url></urlset>`, []string{"http://e.com/a"}},
		"a warning before the declaration": {"<br />\n<b>Warning</b>:  Undefined variable $x in <b>/var/www/map.php</b> on line <b>12</b><br />\n<?xml version=\"1.0\"?>" + one, []string{"http://e.com/a"}},
		"a warning in plain text":          {"\nNotice: Undefined index: lang in /var/www/map.php on line 3\n<?xml version='1.0' encoding='UTF-8'?>\n" + one, []string{"http://e.com/a"}},
		"a warning without a declaration":  {"Deprecated: strftime() in /var/www/map.php\n" + one, []string{"http://e.com/a"}},
		"many warnings":                    {strings.Repeat("Deprecated: strftime() in /var/www/map.php\n", 900) + one, []string{"http://e.com/a"}},
		"a sitemap in a list of pages":     {`<urlset><sitemap><loc>http://e.com/s.xml</loc></sitemap><url><loc>http://e.com/a</loc></url></urlset>`, []string{"http://e.com/s.xml (sitemap)", "http://e.com/a"}},
		"a page in an index":               {`<sitemapindex><url><loc>http://e.com/a</loc></url></sitemapindex>`, []string{"http://e.com/a"}},
		"text with notes":                  {"\ufeffhttp://e.com/a # home\nhttp://e.com/b\t2026-01-05\nhttp://e.com/c d\n", []string{"http://e.com/a", "http://e.com/b", "http://e.com/c d"}},
		"a long comment before the root":   {"<!-- " + strings.Repeat("x", 10_000) + " -->" + one, []string{"http://e.com/a"}},
		"a comment that shows a sitemap":   {"<!-- <urlset><url><loc>http://e.com/x</loc></url></urlset> -->" + one, []string{"http://e.com/a"}},
		"text with comments":               {"# all pages\n\nhttp://e.com/a\n; old ones\nhttp://e.com/b\n// end\n", []string{"http://e.com/a", "http://e.com/b"}},
		"two addresses in one entry":       {`<urlset><url><loc>http://e.com/a</loc><loc>http://e.com/b</loc></url></urlset>`, []string{"http://e.com/a"}},
		"an entry without an address":      {`<urlset><url><lastmod>2026-01-05</lastmod></url><url><loc>http://e.com/a</loc></url></urlset>`, []string{"http://e.com/a"}},
		"a time that is none":              {`<urlset><url><loc>http://e.com/a</loc><lastmod>yesterday</lastmod></url></urlset>`, []string{"http://e.com/a"}},
		"entities of XML":                  {`<urlset><url><loc>http://e.com/?a=1&amp;b=%C3%A4&#38;c</loc></url></urlset>`, []string{"http://e.com/?a=1&b=%C3%A4&c"}},
		"a bare ampersand":                 {`<urlset><url><loc>http://e.com/?a=1&copy=2</loc></url></urlset>`, []string{"http://e.com/?a=1&copy=2"}},
		"entities of its own":              {`<!DOCTYPE urlset [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://e.com/&f;</loc></url></urlset>`, []string{"http://e.com/&f;"}},
		"a byte order mark":                {"\ufeff" + one, []string{"http://e.com/a"}},
		"a mark and blanks":                {"\ufeff \n" + one, []string{"http://e.com/a"}},
		"UTF-16, little end first":         {crawltest.UTF16(t, unicode.LittleEndian, one), []string{"http://e.com/a"}},
		"UTF-16, big end first":            {crawltest.UTF16(t, unicode.BigEndian, `<?xml version="1.0" encoding="UTF-16"?>`+one), []string{"http://e.com/a"}},
		"UTF-8 that says it is UTF-16":     {`<?xml version="1.0" encoding="utf-16"?>` + one, []string{"http://e.com/a"}},
		"a charset that nobody knows":      {`<?xml version="1.0" encoding="UTF8MB4"?>` + one, []string{"http://e.com/a"}},
		"letters of windows-1251":          {"<?xml version='1.0' encoding='windows-1251'?><urlset><url><loc>http://e.com/\xe4</loc></url></urlset>", []string{"http://e.com/д"}},
		"bytes that are no UTF-8":          {"<urlset><!-- \xe9 --><url><loc>http://e.com/a</loc><x>\xe9\x0b</x></url></urlset>", []string{"http://e.com/a"}},
		"an index":                         {`<sitemapindex><sitemap><loc>http://e.com/s.xml</loc><lastmod>2026-01-05T10:00:00+02:00</lastmod></sitemap></sitemapindex>`, []string{"http://e.com/s.xml 2026-01-05T08:00:00Z (sitemap)"}},
		"RSS with times":                   {`<rss><channel><link>http://e.com/</link><item><link>http://e.com/a</link><pubDate>Mon, 05 Jan 2026 08:00:00 GMT</pubDate></item></channel></rss>`, []string{"http://e.com/a 2026-01-05T08:00:00Z (feed)"}},
		"RSS without a link":               {`<rss><channel><item><guid>http://e.com/a</guid></item><item><guid isPermaLink="false">77</guid></item></channel></rss>`, []string{"http://e.com/a (feed)"}},
		"RSS with links of another kind":   {`<rss xmlns:atom="a"><channel><item><atom:link href="http://e.com/x"/><link>http://e.com/a</link></item></channel></rss>`, []string{"http://e.com/a (feed)"}},
		"RSS 1.0":                          {`<rdf:RDF xmlns:rdf="r" xmlns="s" xmlns:dc="d"><item><link>http://e.com/a</link><dc:date>2026-01-05T08:00Z</dc:date></item></rdf:RDF>`, []string{"http://e.com/a 2026-01-05T08:00:00Z (feed)"}},
		"Atom prefers the time of change":  {`<feed><entry><published>2025-01-01T00:00:00Z</published><link href="http://e.com/a"/><updated>2026-01-05T08:00:00.5Z</updated></entry></feed>`, []string{"http://e.com/a 2026-01-05T08:00:00Z (feed)"}},
		"Atom, the other way round":        {`<feed><entry><updated>2026-01-05T08:00:00Z</updated><published>2025-01-01T00:00:00Z</published><link rel="ALTERNATE" href=" http://e.com/a "/></entry></feed>`, []string{"http://e.com/a 2026-01-05T08:00:00Z (feed)"}},
		"a list":                           {"http://e.com/a\r\n\r\n  http://e.com/b\t\nhttp://e.com/c", []string{"http://e.com/a", "http://e.com/b", "http://e.com/c"}},
		"a list in UTF-16":                 {crawltest.UTF16(t, unicode.LittleEndian, "http://e.com/a\nhttp://e.com/b"), []string{"http://e.com/a", "http://e.com/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, in := range map[string][]byte{"plain": []byte(tc.in), "packed": crawltest.Gzip([]byte(tc.in))} {
				got, err := entries(in)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestParseLastMod_reads_the_forms_of_time(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026":                              "2026-01-01T00:00:00Z",
		"2026-03":                           "2026-03-01T00:00:00Z",
		"2026-03-04":                        "2026-03-04T00:00:00Z",
		" 2026-03-04 ":                      "2026-03-04T00:00:00Z",
		"2026-03-04T05:06Z":                 "2026-03-04T05:06:00Z",
		"2026-03-04T05:06+01:00":            "2026-03-04T04:06:00Z",
		"2026-03-04T05:06:07Z":              "2026-03-04T05:06:07Z",
		"2026-03-04T05:06:07.123-05:00":     "2026-03-04T10:06:07Z",
		"2026-03-04T05:06:07":               "2026-03-04T05:06:07Z",
		"2026-03-04T05:06:07+0000":          "2026-03-04T05:06:07Z",
		"2026-03-04 05:06:07":               "2026-03-04T05:06:07Z",
		"2026-03-04 05:06:07 +0100":         "2026-03-04T04:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 GMT":     "2026-03-04T05:06:07Z",
		"Wed, 4 Mar 2026 05:06:07 +0200":    "2026-03-04T03:06:07Z",
		"04 Mar 2026 05:06:07 +0000":        "2026-03-04T05:06:07Z",
		"":                                  "",
		"0001-01-01T00:00:00Z":              "",
		"9999-12-31":                        "",
		"2026-13-01":                        "",
		"now":                               "",
		"20260304":                          "",
		strings.Repeat("2026-03-04", 1_000): "",
	} {
		got := ""
		if at := parseLastMod(in); !at.IsZero() {
			got = at.Truncate(time.Second).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("parseLastMod(%.40q) is %q, want %q", in, got, want)
		}
	}
}

// full returns a sitemap with n entries.
func full(n int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range n {
		fmt.Fprintf(&b, "<url><loc>https://example.com/section/%d/page-%d.html</loc><lastmod>2026-01-05T08:00:00+00:00</lastmod><priority>0.5</priority></url>\n", i%100, i)
	}
	b.WriteString("</urlset>")
	return b.String()
}

// BenchmarkReadSitemap reads 50,000 entries. Each entry is garbage as soon as it has been read.
func BenchmarkReadSitemap(b *testing.B) {
	in := full(MaxEntries)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := Read(strings.NewReader(in), 50<<20, nil, func(Entry) error { n++; return nil }); err != nil || n != MaxEntries {
			b.Fatal(n, err)
		}
	}
}

func FuzzLastMod(f *testing.F) {
	for _, s := range []string{"2026", "2026-01-05T08:00:00.123+01:00", "Mon, 05 Jan 2026 08:00:00 GMT", "2026-01-05 08:00", "0000-00-00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		at := parseLastMod(in)
		if at.IsZero() {
			return
		}
		if again := parseLastMod(at.Format(time.RFC3339Nano)); !again.Equal(at) || at.Location() != time.UTC {
			t.Errorf("%q is %v, and then %v", in, at, again)
		}
	})
}
