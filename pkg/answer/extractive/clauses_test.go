package extractive

import (
	"slices"
	"testing"
)

func TestAQuestionIsDividedIntoWhatItAsksFor(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]string{
		"How high is the weir, and when was it built?":                {"How high is the weir", "when was it built?"},
		"How high is the weir and who built it?":                      {"How high is the weir", "who built it?"},
		"Who owns it, who keeps it, and until when is it open?":       {"Who owns it", "who keeps it", "until when is it open?"},
		"How high is the weir? When was it built?":                    {"How high is the weir", "When was it built?"},
		"Wie hoch ist das Wehr, und bis wann ist es offen?":           {"Wie hoch ist das Wehr", "bis wann ist es offen?"},
		"Quanto è alto lo sbarramento e in quale anno fu costruito?":  {"Quanto è alto lo sbarramento", "in quale anno fu costruito?"},
		"Какова высота плотины и когда её построили?":                 {"Какова высота плотины", "когда её построили?"},
		"How high are the weir and the lock?":                         {"How high are the weir and the lock?"},
		"When is the weir, which was built in May, open?":             {"When is the weir", "which was built in May, open?"},
		"In the report, what is said about salt and sand?":            {"In the report, what is said about salt and sand?"},
		"Who is A, who is B, who is C, who is D, who is E, who is F?": {"Who is A, who is B, who is C, who is D, who is E, who is F?"},
		"": {""},
	} {
		if got := clausesOf(question); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", question, got)
		}
	}
}
