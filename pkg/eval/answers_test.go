package eval

import "testing"

func TestContainsAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, answer string
		want         bool
	}{
		"as it stands": {"The trial lasts 30 days.", "30 days", true},
		"with other case, spacing and punctuation": {"The Trial\n lasts “thirty” days", "trial lasts thirty DAYS!", true},
		"with other forms of the same letters":     {"Ｃａｆｅ\u0301 ﬁrst", "café first", true},
		"only as whole words":                      {"It lasts 300 days.", "30", false},
		"only in this order":                       {"days: 30", "30 days", false},
		"in a script without spaces":               {"保証期間は三年です。", "三年", true},
		"not in a text without the answer":         {"保証期間は三年です。", "五年", false},
		"not an answer without a word":             {"anything ?!", "?!", false},
		"at the beginning and at the end alike":    {"alpha beta", "alpha beta", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ContainsAnswer(c.text, c.answer); got != c.want {
				t.Errorf("%q holds %q: %v", c.text, c.answer, got)
			}
		})
	}
	if !ContainsAnyAnswer("a b", []string{"c", "b"}) || ContainsAnyAnswer("a b", nil) {
		t.Error("a text must contain at least one of the answers")
	}
}
