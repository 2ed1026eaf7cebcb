package longdocs_test

import (
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/tools/internal/longdocs"
)

func TestEachQuestionHasItsAnswerInItsDocument(t *testing.T) {
	t.Parallel()
	for _, set := range []longdocs.Set{longdocs.Contracts(1), longdocs.Filings(1)} {
		texts := map[string]string{}
		longest := 0
		for _, d := range set.Documents {
			if texts[d.Name] != "" {
				t.Errorf("%s: two documents are named %s", set.Name, d.Name)
			}
			texts[d.Name] = html.UnescapeString(d.Text)
			longest = max(longest, len(d.Text))
		}
		asked := map[string]bool{}
		for _, q := range set.Questions {
			if !strings.Contains(texts[q.Document], q.Answer) || q.Answer == "" {
				t.Errorf("%s: %s lacks the answer %q to %q", set.Name, q.Document, q.Answer, q.Text)
			}
			if asked[q.Text] {
				t.Errorf("%s: the question %q is asked twice", set.Name, q.Text)
			}
			asked[q.Text] = true
		}
		if len(set.Questions) < 200 || len(set.Documents) < 20 || longest < 40_000 {
			t.Errorf("%s has %d questions and %d documents of up to %d bytes", set.Name, len(set.Questions), len(set.Documents), longest)
		}
	}
}

func TestTheSameSeedGivesTheSameDocuments(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(longdocs.Filings(3), longdocs.Filings(3)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(longdocs.Filings(3).Documents[0], longdocs.Filings(4).Documents[0]) {
		t.Error("two seeds give the same document")
	}
}
