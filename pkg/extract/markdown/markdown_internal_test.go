package markdown

import "testing"

func TestRulesAroundWordsAreNoFrontMatter(t *testing.T) {
	t.Parallel()
	if front, body := splitFrontMatter("---\nwords\n---\nmore"); front != "" || body != "---\nwords\n---\nmore" {
		t.Errorf("front matter %q, body %q", front, body)
	}
}
