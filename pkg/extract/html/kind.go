package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// generators lists documentation, wiki and forum software by the name in its generator meta element.
var generators = []string{
	"docusaurus", "mkdocs", "sphinx", "vitepress", "vuepress", "rustdoc", "doxygen", "javadoc", "gitbook", "antora", "starlight", "mdbook",
	"docfx", "docsify", "nextra", "mintlify", "jsdoc", "typedoc", "pdoc", "asciidoctor", "swagger", "redoc", "just the docs", "hugo book", "docbook", "quarto",
	"mediawiki", "dokuwiki", "xwiki", "moinmoin", "pukiwiki", "discourse", "phpbb", "vbulletin", "xenforo", "nodebb", "flarum", "mybb", "smf", "invision",
}

// mainPartClasses are the classes and ids of the main part in themes for documentation, wikis, forums and shops.
var mainPartClasses = []string{
	"theme-doc-markdown", "rst-content", "documentwrapper", "md-content", "vp-doc", "rustdoc", "contents-wrapper", "markdown-section", "mw-parser-output",
	"mw-content-text", "bodyContent", "topic-body", "crawler-post", "postbody", "viewtopic", "js-post-body", "s-prose", "postcontent", "message-body",
	"product-details", "product_page", "single-product", "product-single", "swagger-ui", "javadoc", "api-content", "bd-article", "sl-markdown-content",
	"docMainContainer", "forum-post", "post-stream", "qapage",
}

// declaresArticle reports whether a page declares itself an article and does not belong to documentation, a forum, a
// wiki or a shop.
func declaresArticle(f *pageFacts, doc *html.Node) bool {
	generator := strings.ToLower(strings.Join(f.all["generator"], " "))
	if slices.ContainsFunc(generators, func(g string) bool { return strings.Contains(generator, g) }) {
		return false
	}
	if strings.HasPrefix(f.first("og:type"), "product") || f.types["TechArticle"] || f.types["QAPage"] || f.types["DiscussionForumPosting"] || hasMainPartClass(doc) {
		return false
	}
	article := strings.HasPrefix(f.first("og:type"), "article")
	for t := range f.types {
		article = article || strings.HasSuffix(t, "Article") || strings.HasSuffix(t, "BlogPosting")
	}
	return article || countEntries(doc) == 1
}

// hasMainPartClass reports whether any element on the page has a class or id from mainPartClasses.
func hasMainPartClass(doc *html.Node) bool {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom != atom.Div && n.DataAtom != atom.Main && n.DataAtom != atom.Article && n.DataAtom != atom.Body && n.DataAtom != atom.Section {
			continue
		}
		id := attr(n, "id")
		if slices.ContainsFunc(mainPartClasses, func(m string) bool { return id == m || hasClass(n, m) }) {
			return true
		}
	}
	return false
}

// countEntries counts blog entries marked up with microformats.
func countEntries(doc *html.Node) int {
	count := 0
	for n := range doc.Descendants() {
		if hasClass(n, "hentry") || hasClass(n, "h-entry") {
			count++
		}
	}
	return count
}
