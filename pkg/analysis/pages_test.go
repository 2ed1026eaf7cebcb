package analysis_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
)

func TestAQueryNamesPages(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"What is on page 12?":     "page 12",
		"Page 3":                  "page 3",
		"the table on p. 7":       "page 7",
		"pp. 12–14 of the report": "page 12|page 13|page 14",
		"pages 4 and 5":           "page 4|page 5",
		"pages 4 to 400":          "page 4|page 5|page 6|page 7|page 8|page 9|page 10|page 11",
		"pages 9 to 2":            "page 9",
		"page no. 8 and slide 2":  "page 8|page 2",
		"Was steht auf Seite 31?": "page 31",
		"¿Qué dice la página 5?":  "page 5",
		"Что на странице 9?":      "page 9",
		"第12页的内容":                 "page 12",
		"12ページの表":                 "page 12",
		"共12页":                    "",
		"page 0":                  "",
		"homepage 12":             "",
		"page 12a":                "",
		"12 pages":                "",
		"web page":                "",
		"page":                    "",
		"page 1234567":            "",
		strings.Repeat("page 1, ", 5) + "and page 2": "page 1|page 2",
	} {
		var got []string
		for _, q := range analysis.PageTerms(query) {
			got = append(got, q.Forms...)
			if q.Name != q.Forms[0] {
				t.Errorf("%q has the term %+v", query, q)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q names %q, want %q", query, got, want)
		}
	}
}

func TestNoTextHasThePageTerm(t *testing.T) {
	t.Parallel()
	for _, term := range analysis.Terms("page 12, page-12, page_12, page\u00a012, 12 page", analysis.English) {
		if strings.Contains(term, " ") {
			t.Errorf("a text has the term %q", term)
		}
	}
	if !analysis.IsPageTerm(analysis.PageTerm(3)) || analysis.IsPageTerm("page") || analysis.PageTerm(0) != "" || analysis.PageTerm(12) != "page 12" {
		t.Error("the terms of pages are wrong")
	}
}
