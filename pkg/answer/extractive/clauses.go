package extractive

import syntax "github.com/sluice/sluice/pkg/question"

// clausesOf splits a question into clauses that each ask for one thing.
func clausesOf(text string) []string {
	parts := syntax.Parts(text)
	if parts == nil {
		return []string{text}
	}
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.Text
	}
	return out
}
