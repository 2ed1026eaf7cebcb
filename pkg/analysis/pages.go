package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Maximum number of pages that a query can name.
const maxNamedPages = 8

// pagePrefix is the prefix of page terms. It ends with a space, which no word's term contains.
const pagePrefix = "page "

// pageCount is the Count of a query's page terms. They weigh as much as a word that the query repeats pageCount times,
// because naming a page is a condition rather than a topic.
const pageCount = 4

// PageTerm returns the index term for rows on a page, or "" if page is not positive. It contains a space, so words
// never yield it; only queries that name the page do.
func PageTerm(page int) string {
	if page <= 0 {
		return ""
	}
	return pagePrefix + strconv.Itoa(page)
}

// IsPageTerm reports whether PageTerm produced the term.
func IsPageTerm(term string) bool { return strings.HasPrefix(term, pagePrefix) }

// namedPage matches a page or page range named in a query: "page 12", "pp. 12–14", "Seite 12", "第12页".
var namedPage = lazyregexp.New(`(?i)(?:^|[^\p{L}\p{N}])(?:pages?|pp?\.|pg\.?|slides?|seiten?|folien?|páginas?|págs?\.|pagin[ae]|pagg?\.|blz\.|stron[aiey]|str\.|sida|sidan|` +
	`страниц[аеуы]|стр\.|сторінк[аи]|σελίδα|σελ\.|sayfa|trang|पृष्ठ|صفحة|صفحه)\s*(?:no\.?\s*|nr\.?\s*|#\s*)?(\d{1,5})(?:\s*(?:-|–|—|to|bis|à|a|al|до|and|und|et|y|e|,|&)\s*(\d{1,5}))?(?:$|[^\p{L}\p{N}])` +
	`|第\s*(\d{1,5})\s*[页頁]|(\d{1,5})\s*(?:ページ|쪽|페이지)`)

// PageTerms returns a query term for the pages that a query names, or none. A range becomes one term, so it doesn't
// weigh more than a page.
func PageTerms(text string) []QueryTerm {
	text = bounded.Prefix(text, maxQueryBytes)
	if !strings.ContainsAny(text, "0123456789") {
		return nil
	}
	var q QueryTerm
	add := func(page int) {
		if term := PageTerm(page); term != "" && len(q.Forms) < maxNamedPages && !slices.Contains(q.Forms, term) {
			q.Forms = append(q.Forms, term)
		}
	}
	for _, m := range namedPage().FindAllStringSubmatch(text, maxNamedPages) {
		first, _ := strconv.Atoi(m[1] + m[3] + m[4]) // exactly one of them is not empty
		last, _ := strconv.Atoi(m[2])
		add(first)
		for page := first + 1; page <= min(last, first+maxNamedPages); page++ {
			add(page)
		}
	}
	if len(q.Forms) == 0 {
		return nil
	}
	q.Name, q.Count = q.Forms[0], pageCount
	return []QueryTerm{q}
}
