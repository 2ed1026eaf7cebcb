package analysis

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

// maxNamedPages is the maximum number of pages that a query can name.
const maxNamedPages = 8

// pagePrefix begins the terms of pages. It ends with a space, which no term of a word contains.
const pagePrefix = "page "

// pageCount is the Count of a query term for pages. The term therefore weighs as much as a word that occurs this many
// times in the query, because naming a page is a condition rather than a subject.
const pageCount = 4

// PageTerm returns the index term that is added to rows on the given page, or "" if page is not positive. Only queries
// that name the page contain this term. Words never yield it, because their terms contain no space.
func PageTerm(page int) string {
	if page <= 0 {
		return ""
	}
	return pagePrefix + strconv.Itoa(page)
}

// IsPageTerm reports whether a term is the result of PageTerm.
func IsPageTerm(term string) bool { return strings.HasPrefix(term, pagePrefix) }

// namedPage matches a page, or a range of pages, that a query names: "page 12", "pp. 12–14", "Seite 12", "第12页".
var namedPage = regexp.MustCompile(`(?i)(?:^|[^\p{L}\p{N}])(?:pages?|pp?\.|pg\.?|slides?|seiten?|folien?|páginas?|págs?\.|pagin[ae]|pagg?\.|blz\.|stron[aiey]|str\.|sida|sidan|` +
	`страниц[аеуы]|стр\.|сторінк[аи]|σελίδα|σελ\.|sayfa|trang|पृष्ठ|صفحة|صفحه)\s*(?:no\.?\s*|nr\.?\s*|#\s*)?(\d{1,5})(?:\s*(?:-|–|—|to|bis|à|a|al|до|and|und|et|y|e|,|&)\s*(\d{1,5}))?(?:$|[^\p{L}\p{N}])` +
	`|第\s*(\d{1,5})\s*[页頁]|(\d{1,5})\s*(?:ページ|쪽|페이지)`)

// PageTerms returns a query term for the pages that a query names, or none. A range of pages is one term, so that it
// weighs as much as one page.
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
	for _, m := range namedPage.FindAllStringSubmatch(text, maxNamedPages) {
		first, _ := strconv.Atoi(m[1] + m[3] + m[4]) // one of them is not empty
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
