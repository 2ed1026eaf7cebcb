package content

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

// elements parses a page like colly and returns the number of elements and the text.
func elements(t *testing.T, page []byte, label string) (n int, text string) {
	t.Helper()
	r, err := charset.NewReaderLabel(label, bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for c := range doc.Descendants() {
		n++
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return n, b.String()
}

func TestSanitize_bounds_the_parsed_page(t *testing.T) {
	t.Parallel()
	paragraphs := strings.Repeat("<p>x", 2_000)
	for name, tc := range map[string]struct{ page, label string }{
		"elements that are opened anew":           {crawltest.Formats(450) + paragraphs, "utf-8"},
		"in capitals":                             {strings.ToUpper(crawltest.Formats(450)) + paragraphs, "utf-8"},
		"of few kinds":                            {"<p><b><b><b><i><i><i><u><u><u><s><s><s><tt><tt><tt><em><em><em><code><code><code><big><big><big>" + strings.Repeat("<p>x", 60_000), "utf-8"},
		"with end tags that close nothing":        {crawltest.Formats(450) + strings.Repeat("<p>x<!--</b></b>-->", 2_000), "utf-8"},
		"in what is style for the tokenizer only": {"<svg><style>" + crawltest.Formats(450) + paragraphs, "utf-8"},
		"behind a comment for the tokenizer only": {"<script>'<!--'</script>" + crawltest.Formats(450) + paragraphs, "utf-8"},
		"in UTF-16":                               {crawltest.UTF16(t, unicode.LittleEndian, crawltest.Formats(450)+paragraphs), "utf-16le"},
		"in UTF-16, the other way round":          {crawltest.UTF16(t, unicode.BigEndian, crawltest.Formats(450)+paragraphs), "utf-16be"},
		"nothing but elements":                    {strings.Repeat("<p>", 1_000_000), "utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := strings.Clone(tc.page)
			page, label := Sanitize([]byte(tc.page), tc.label)
			if n, _ := elements(t, page, label); n > maxHTMLNodes {
				t.Errorf("%d bytes have become %d elements", len(tc.page), n)
			}
			if tc.page != given {
				t.Error("the page was changed")
			}
		})
	}
}

func TestSanitize_keeps_text_and_links(t *testing.T) {
	t.Parallel()
	const page = "<title>Zwölf</title><body class=a><p>Ein <b>fettes</b> Wort <a href=/x>und <i>ein</i> Verweis</a>. "
	for name, tc := range map[string]struct {
		page  string
		tamed bool
	}{
		"an ordinary page":         {page, false},
		"a page that is tamed":     {page + strings.Repeat("<p><strong>a</strong> <em>b</em>", 2_000), true},
		"a tamed page in UTF-16":   {crawltest.UTF16(t, unicode.LittleEndian, page+strings.Repeat("<p><STRONG>a</STRONG> <em>b</em>", 2_000)), true},
		"many tags without format": {page + strings.Repeat("<p>a<br>b", 20_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			label := "utf-8"
			if strings.Contains(name, "UTF-16") {
				label = "utf-16le"
			}
			_, want := elements(t, []byte(tc.page), label)
			out, label := Sanitize([]byte(tc.page), label)
			if tamed := !bytes.Equal(out, []byte(tc.page)); tamed != tc.tamed {
				t.Errorf("tamed: %t, want %t", tamed, tc.tamed)
			}
			if _, got := elements(t, out, label); got != want {
				t.Errorf("the text has become %.200q, want %.200q", got, want)
			}
			doc, err := html.Parse(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			links := 0
			for n := range doc.Descendants() {
				if n.Data == "a" && len(n.Attr) == 1 && n.Attr[0].Val == "/x" {
					links++
				}
			}
			if links == 0 && label == "utf-8" {
				t.Error("the link is lost")
			}
		})
	}
}

func TestSanitize_keeps_one_body(t *testing.T) {
	t.Parallel()
	out, _ := Sanitize([]byte("<html lang=en>"+crawltest.Bodies(100)+"</body></html>"), "utf-8")
	if n := bytes.Count(out, []byte("<body")); n != 1 {
		t.Errorf("%d bodies are left", n)
	}
}
