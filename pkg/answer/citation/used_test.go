package citation

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestFragmentsUsedByAnAnswerWithoutCitations(t *testing.T) {
	t.Parallel()
	given := []domain.Fragment{
		{ChunkID: "hours", Text: "The north gate of the weir opens at six in the morning and closes at ten."},
		{ChunkID: "ducks", Text: "Ducks live near the north gate. They are fed by the keeper."},
		{ChunkID: "zh", Text: "水闸每天早上六点打开。"},
	}
	for name, test := range map[string]struct{ text, want string }{
		"a sentence in other order":      {"In the morning, the gate opens at six.", "hours"},
		"a sentence from each of two":    {"The keeper feeds the ducks near the gate. The weir closes at ten.", "hours ducks"},
		"a few words":                    {"At six.", "hours"},
		"a script without spaces":        {"水闸早上六点打开。", "zh"},
		"nothing of what it says":        {"Pumps weigh a hundred kilograms and run on diesel.", ""},
		"that the documents say nothing": {"The documents provided do not contain any information about warranty.", ""},
		"no words":                       {"— … !", ""},
		"no text":                        {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range usedFragments(test.text, given) {
				got = append(got, f.ChunkID)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
