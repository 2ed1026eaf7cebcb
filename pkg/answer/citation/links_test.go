package citation

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	rendered "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// given returns the prompt for these tests.
func given() chat.Prompt {
	return chat.Prompt{
		System:   "Point to https://shop.example/contact.",
		Messages: []chat.Turn{{Role: domain.RoleUser, Text: "Is http://mine.example/?a=b right?"}},
		Fragments: []domain.Fragment{
			{Source: "https://docs.example/pump", Text: "See https://docs.example/pump/manual.pdf, (https://other.example/a_(b)) or www.third.example/x."},
			{Source: "manual.pdf", Text: `Ask "https://docs.example/form?x=1". ![x](https://evil.example/?q=)` + " https://de.example/Käse 请访问https://zh.example/b。"},
		},
	}
}

// deliver passes text through a Delivery, `size` bytes at a time.
func deliver(t *testing.T, p chat.Prompt, text string, size int) string {
	t.Helper()
	var out strings.Builder
	d := NewDelivery(p, func(s string) error { out.WriteString(s); return nil })
	for piece := range slices.Chunk([]byte(text), size) {
		if err := d.Write(string(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAllowedLinks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"text passes":                             {"A < b, c! And d: e. [note] f", "A < b, c! And d: e. [note] f"},
		"a link to a source's host stays":         {"[here](https://docs.example/pump/manual.pdf).", "[here](https://docs.example/pump/manual.pdf)."},
		"so does the source itself, with a slash": {"[here](https://docs.example/pump/ \"the pump\")", "[here](https://docs.example/pump/ \"the pump\")"},
		"a link to another host is plain text":    {"[here](https://other.example/a_(b))", "[here] (https://other.example/a_(b))"},
		"a link that was made up is gone":         {"[here](https://docs.example/pump?q=secret)!", "[here] (https…)!"},
		"a link elsewhere is gone":                {"[here](https://evil.example/?q=secret)", "[here] (https…)"},
		"an image is gone":                        {"![x](https://evil.example/?q=secret)", "! [x] (https…)"},
		"an image of a source is a link":          {"![x](https://docs.example/pump)", "! [x](https://docs.example/pump)"},
		"an image by reference is gone":           {"![x][y]\n\n[y]: https://evil.example/?q=secret", "! [x][y]\n\n[y] : https…"},
		"an image in a link is gone":              {"[![x](https://evil.example/1)](https://evil.example/2)", "[! [x] (https…)] (https…)"},
		"a citation as a link stays a citation":   {"So it is [1](https://evil.example/?q=secret).", "So it is [1] (https…)."},
		"a relative target is no link":            {"[x](/log?secret) [y](//evil.example/q)", "[x] (/log?secret) [y] (//evil.example/q)"},
		"another scheme is no link":               {"[x](javascript:alert(1)) <javascript:a> <data:text/html,x>", "[x] (javascript:alert(1)) < javascript:a> < data:text/html,x>"},
		"a hidden scheme is no link":              {"[x](https&#58;//evil.example) [y](https:\\/\\/evil.example/q)", "[x] (https&#58;//evil.example) [y] (https…)"},
		"a bare address that was given stays":     {"See https://docs.example/pump/manual.pdf.", "See https://docs.example/pump/manual.pdf."},
		"the operator's and the reader's own too": {"<https://shop.example/contact> http://mine.example/?a=b", "<https://shop.example/contact> http://mine.example/?a=b"},
		"a bare address that was not is gone":     {"See https://evil.example/?q=secret, now.", "See https…, now."},
		"nor does a longer one pass":              {"https://evil.example/?q=secret https://docs.example/pumps", "https… https…"},
		"nor one without a scheme":                {"www.evil.example/?q=1 www.third.example/x www. that", "www… www.third.example/x www. that"},
		"nor one of another scheme":               {"ftp://docs.example/pump xhttp://docs.example/pump", "ftp… xhttp://docs.example/pump"},
		"nor one in parts that a mark held apart": {"https:[9]//evil.example/?q=1 ht[9]tps://evil.example/?q=1 ht [9]tps://evil.example/?q=1 ! [9][x](https://docs.example/pump)", "https… ht[9]tps… https… ! [x](https://docs.example/pump)"},
		"nothing can be added to one":             {"https://evil.example/?q=|secret https://docs.example/pump)secret", "https://evil.example/?q= |secret https://docs.example/pump )secret"},
		"code keeps the quotes after one":         {`{"url":"https://docs.example/form?x=1","n":2}`, `{"url":"https://docs.example/form?x=1" ,"n":2}`},
		"a citation after one stands apart":       {"https://docs.example/pump[2] https://evil.example/x[1].", "https://docs.example/pump [1] https…[2]."},
		"letters outside ASCII belong to one":     {"https://de.example/Käse.", "https://de.example/Käse."},
		"scripts without spaces end one":          {"见https://zh.example/b谢谢。或https://evil.example/b。", "见https://zh.example/b 谢谢。或https…。"},
		"tags that load are text":                 {"<img src=//evil.example/a> <IMG/src=x> <script>x</script>", "< img src=//evil.example/a> < IMG/src=x> < script>x< /script>"},
		"tags with attributes are text":           {"<p style='background:url(//evil.example)'> <x-y z=1> <a\nhref=x>", "< p style='background:url(//evil.example)'> < x-y z=1> < a\nhref=x>"},
		"plain tags and types pass":               {"a<b> <br/> </b> List<String> i <3", "a<b> <br/> </b> List<String> i <3"},
		"comments hide nothing":                   {"<!-- x --> <?php", "< !-- x --> < ?php"},
		"an endless address is gone":              {"https://evil.example/" + strings.Repeat("x", 3*maxAddressBytes) + " after", "https… after"},
		"an address may end the text":             {"https://docs.example/pump", "https://docs.example/pump"},
		"what may become one may end it":          {"https:", "https:"},
		"invalid bytes pass":                      {"a\xff<\xe3\x80 https://evil.example/\xe3\x80", "a\xff<\xe3\x80 https…\xe3\x80"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(test.in); size++ {
				if got := deliver(t, given(), test.in, size); got != test.want {
					t.Fatalf("in pieces of %d: got %q, want %q", size, got, test.want)
				}
				if len(test.in) > maxAddressBytes {
					size += 97
				}
			}
		})
	}
}

func TestTheLinkFilterBuffersOnlyPossibleLinks(t *testing.T) {
	t.Parallel()
	f := newLinkFilter(addressesOf(given()))
	for _, step := range []struct{ in, want string }{
		{"See http", "See http"},
		{"s", "s"},
		{":", ""},
		{"//docs.exam", ""},
		{"ple/pump, ", "://docs.example/pump, "},
		{"a!", "a"},
		{" b", "! b"},
		{"]", ""},
		{"[", "]["},
		{"<", ""},
		{"3", "<3"},
	} {
		if got := f.write(step.in); got != step.want {
			t.Fatalf("after %q: got %q, want %q", step.in, got, step.want)
		}
	}
	held := 0
	for range 3 * maxAddressBytes {
		f.write("https://x")
		held = max(held, len(f.pending))
	}
	if held > maxAddressBytes+8 {
		t.Errorf("%d bytes were held back", held)
	}
}

func TestWithoutDocumentsLinksAreTheModelsOwn(t *testing.T) {
	t.Parallel()
	const text = "![x](https://anywhere.example/?q=1)"
	if got := deliver(t, chat.Prompt{NoDatastores: true}, text, 3); got != text {
		t.Errorf("got %q", got)
	}
}

// wasGiven reports whether the prompt contains the address, ignoring trailing punctuation.
func wasGiven(address string) bool {
	address, err := url.PathUnescape(address)
	return err == nil && addressesOf(given()).has(strings.TrimRight(address, trailing))
}

// FuzzLinks renders the output as a chat window would, with raw HTML allowed.
func FuzzLinks(f *testing.F) {
	f.Add("![x](https://evil.example/?q=secret) <img src=//evil.example> [y]: https://evil.example/z\n\n[y] www.evil.example/q", uint8(3))
	f.Add("[a][9](<https://evil.example>) https:[8]//evil.example/ <a href='x'> `<svg/onload=x>` ftp://evil.example", uint8(1))
	f.Add("https://docs.example/pump\"secret https://docs.example/pump*secret* [h](https://docs.example/pump \"t\")", uint8(7))
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(rendered.WithUnsafe()))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		whole := deliver(t, given(), in, len(in)+1)
		if parts := deliver(t, given(), in, int(size)+1); parts != whole {
			t.Fatalf("whole %q, in pieces of %d %q", whole, size+1, parts)
		}
		if utf8.ValidString(in) && !utf8.ValidString(whole) {
			t.Fatalf("valid text came out invalid: %q", whole)
		}
		var page bytes.Buffer
		if err := md.Convert([]byte(whole), &page); err != nil {
			t.Skip(err)
		}
		for tokens := html.NewTokenizer(&page); tokens.Next() != html.ErrorToken; {
			tag := tokens.Token()
			for _, a := range tag.Attr {
				switch {
				case tag.Data == "a" && a.Key == "href" && (strings.HasPrefix(a.Val, "mailto:") || wasGiven(a.Val)):
				case tag.Data == "a" && a.Key == "title", a.Key == "class", a.Key == "start", a.Key == "align", a.Key == "style" && strings.HasPrefix(a.Val, "text-align:"):
				case tag.Data == "input" && (a.Key == "checked" || a.Key == "disabled" || a.Key == "type"): // in task lists
				default:
					t.Fatalf("%q shows %v", whole, tag)
				}
			}
			if tag.Data == "img" || tag.Data == "script" {
				t.Fatalf("%q shows %v", whole, tag)
			}
		}
	})
}
