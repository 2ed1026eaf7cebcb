package extractive

import syntax "github.com/sluice/sluice/pkg/question"

// clausesOf divides a question into the parts that ask for one thing each.
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
