package markdown_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestMarkdownIsReadAsRendered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"headings of both kinds":         {"# One {#one}\n\nTwo\n---\n", "heading 1: One\nheading 2: Two"},
		"line ends within paragraphs":    {"a\nb  \nc\n\n合同\n期限", "paragraph: a b\nc\nparagraph: 合同期限"},
		"links beside their text":        {"See [the *guide*](/guide), <https://a.example/x> and [ref][r].\n\n[r]: https://b.example \"B\"\n", "paragraph: See the guide, https://a.example/x and ref. <the guide=https://docs.example/guide> <https://a.example/x=https://a.example/x> <ref=https://b.example>"},
		"what a picture shows":           {"![a pump](p.png) <img src=x alt=\"a valve\">", "paragraph: a pump a valve"},
		"code with its language":         {"```go title=\"x\"\na := `b`\n```\n\n    plain\n", "code: ```go title=\"x\"\na := `b`\n```\ncode: plain"},
		"marks within code stay":         {"Use `a\\*b` and `{{% x %}}` \\*here\\* &amp; there.", "paragraph: Use a\\*b and {{% x %}} *here* & there."},
		"lists with numbers":             {"3. x\n   - y\n4. z\n", "list_item 1: 3. x\nlist_item 2: y\nlist_item 1: 4. z"},
		"tasks":                          {"- [x] done\n- [ ] open\n", "list_item 1: [x] done\nlist_item 1: [ ] open"},
		"tables":                         {"| a | b |\n|---|---|\n| [x](https://x.example) | 1 |\n", "table_row: a\tb\ntable_row: a: x; b: 1 <x=https://x.example>"},
		"footnotes":                      {"Text[^n].\n\n[^n]: The note.\n", "paragraph: Text[1].\nparagraph: [1] The note."},
		"definitions":                    {"Term\n: What it is.\n", "paragraph: Term\nparagraph: What it is."},
		"HTML":                           {"<div>\n<p>one</p>\n</div>\n\ntwo<br>three <b>bold</b> <!-- none -->", "paragraph: one\nparagraph: two\nthree bold"},
		"what is for site generators":    {"{{< figure src=\"x\" >}} Text {% include x %} here.", "paragraph: Text  here."},
		"quotes":                         {"> a\n> > b\n", "paragraph: a\nparagraph: b"},
		"struck text and bare addresses": {"~~a~~ www.example.com", "paragraph: a www.example.com <www.example.com=http://www.example.com>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader([]byte(tt.text)), Size: int64(len(tt.text)), Name: "a.md", URL: "https://docs.example/a/b.md"}, format.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlainMarkdownShowsAddressesAndHTML(t *testing.T) {
	t.Parallel()
	text := "A [link](https://a.example \"Title\").\n\n<p>one</p>\n"
	doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader([]byte(text)), Size: int64(len(text)), Name: "a.md", PlainRows: true}, format.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := "paragraph: A link (https://a.example Title). <link=https://a.example>\nparagraph: <p>one</p>"
	if diff := cmp.Diff(want, readtest.Lines(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestFrontMatterIsMetadata(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"YAML": "---\ntitle: \"The pump\" \nauthors:\n  - Ann\n  - name: Ben\ndate: 2024-05-06 10:00:00\ntags: [a, \"b c\"]\nlang: de\ndraft: false # not yet\nnested:\n  deep: {x: 1}\n---\n\nText\n",
		"TOML": "+++\ntitle = 'The pump'\nauthors = [\"Ann\", \"Ben\"]\ndate = 2024-05-06T10:00:00Z\ntags = [\"a\", \"b c\"]\nlang = \"de\"\ndraft = false\n[nested]\ndeep = 1\n+++\nText\n",
	}
	want := map[string]string{domain.MetaAuthor: "Ann; Ben", domain.MetaCreated: "2024-05-06", domain.MetaKeywords: "a; b c", "draft": "false"}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.md", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, doc.Metadata); diff != "" || doc.Title != "The pump" || doc.Language != "de" {
				t.Errorf("title %q, language %q, metadata (-want +got):\n%s", doc.Title, doc.Language, diff)
			}
			if lines := readtest.Lines(doc); lines != "paragraph: Text" {
				t.Errorf("blocks:\n%s", lines)
			}
		})
	}
}

func TestFrontMatterIsTheTextOfANoteWithoutOne(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "a.md", []byte("---\ntitle: Pump\nserial: AX-7\n---\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := readtest.Lines(doc); doc.Title != "Pump" || lines != "paragraph: title: Pump\nserial: AX-7" {
		t.Errorf("title %q, blocks:\n%s", doc.Title, lines)
	}
}

func TestOnlyASingleHeadingOfLevelOneIsATitle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Refunds\n\na\n\n## Times\n\nb":                   "Refunds",
		"# Refunds\n\na\n\n# Shipping\n\nb":                 "",
		"Refunds\n=======\n\na\n\nShipping\n========\n\nb":  "",
		"<h1>Pump</h1>\n\na\n\n# Licence\n\nb":              "",
		"## Refunds\n\na":                                   "",
		"---\ntitle: Terms\n---\n# Refunds\n\n# Shipping\n": "Terms",
	} {
		doc, err := readtest.Parse(t, "a.md", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if doc.Title != want {
			t.Errorf("title of %q = %q, want %q", text, doc.Title, want)
		}
	}
}
