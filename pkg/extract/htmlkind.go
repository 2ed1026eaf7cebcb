package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
)

// pageKind is what a page is by its own account: it decides who is trusted to find its content.
type pageKind int

const (
	kindUnknown pageKind = iota
	kindArticle          // one long text: extractors of articles know best
	kindWhole            // documentation, products, forums, questions: all of the main part is content
)

// wholeTypes are the schema.org types of pages whose main part is no article.
var wholeTypes = wordSet(`Product ProductGroup QAPage DiscussionForumPosting FAQPage APIReference ItemList CollectionPage SearchResultsPage
	TechArticle HowTo SoftwareSourceCode SoftwareApplication JobPosting Course DefinedTermSet Question`)

// generators are programs that make documentation, wikis and forums, as they name themselves in the generator element.
var generators = []string{
	"docusaurus", "mkdocs", "sphinx", "vitepress", "vuepress", "rustdoc", "doxygen", "javadoc", "gitbook", "antora", "starlight", "mdbook",
	"docfx", "docsify", "nextra", "mintlify", "jsdoc", "typedoc", "pdoc", "asciidoctor", "swagger", "redoc", "just the docs", "hugo book", "docbook", "quarto",
	"mediawiki", "dokuwiki", "xwiki", "moinmoin", "pukiwiki", "discourse", "phpbb", "vbulletin", "xenforo", "nodebb", "flarum", "mybb", "smf", "invision",
}

// wholeMarks are classes and ids that the themes of such programs give to the main part of a page.
var wholeMarks = []string{
	"theme-doc-markdown", "rst-content", "documentwrapper", "md-content", "vp-doc", "rustdoc", "contents-wrapper", "markdown-section", "mw-parser-output",
	"mw-content-text", "bodyContent", "topic-body", "crawler-post", "postbody", "viewtopic", "js-post-body", "s-prose", "postcontent", "message-body",
	"product-details", "product_page", "single-product", "product-single", "swagger-ui", "javadoc", "api-content", "bd-article", "sl-markdown-content",
	"docMainContainer", "forum-post", "post-stream", "qapage",
}

// kindOf tells what a page is from what it says of itself and from its markup.
func kindOf(f *pageFacts, doc *html.Node) pageKind {
	generator := strings.ToLower(strings.Join(f.all["generator"], " "))
	for _, g := range generators {
		if strings.Contains(generator, g) {
			return kindWhole
		}
	}
	if strings.HasPrefix(f.first("og:type"), "product") || f.types["TechArticle"] || f.types["QAPage"] || f.types["DiscussionForumPosting"] {
		return kindWhole
	}
	article := strings.HasPrefix(f.first("og:type"), "article")
	for t := range f.types {
		article = article || strings.HasSuffix(t, "Article") && t != "TechArticle" || strings.HasSuffix(t, "BlogPosting")
	}
	if marked(doc) {
		return kindWhole
	}
	if article {
		return kindArticle
	}
	for t := range f.types {
		if wholeTypes[t] {
			return kindWhole
		}
	}
	return kindUnknown
}

// marked reports whether an element bears a name of wholeMarks.
func marked(doc *html.Node) bool {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom != atom.Div && n.DataAtom != atom.Main && n.DataAtom != atom.Article && n.DataAtom != atom.Body && n.DataAtom != atom.Section {
			continue
		}
		id := attr(n, "id")
		for _, m := range wholeMarks {
			if id == m || hasClass(n, m) {
				return true
			}
		}
	}
	return false
}

// structured reports whether extractors of articles have lost much of a page's code and rows.
func structured(blocks []htmlBlock, keep []bool) bool {
	all, lost, text := 0, 0, 0
	for i, b := range blocks {
		l := countLetters(b.Text)
		text += l
		switch b.Kind {
		case domain.BlockCode, domain.BlockTableRow:
			all += l
			if !keep[i] {
				lost += l
			}
		}
	}
	return lost*10 > text || lost*2 > all && lost*20 > text
}
