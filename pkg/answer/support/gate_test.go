package support

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// gated passes an answer through a gate, `size` bytes at a time, and returns the output.
func gated(answer string, size int) (text string, pieces []string) {
	g := NewGate([]domain.Fragment{{Text: manual}, {Text: "Synthetic oil is recommended for the gear."}})
	for rest := answer; rest != ""; {
		n := min(size, len(rest))
		pieces = append(pieces, g.Write(rest[:n]))
		rest = rest[n:]
	}
	pieces = append(pieces, g.Close())
	return strings.Join(pieces, ""), pieces
}

func TestAGateRemovesUnsupportedSentences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ answer, want string }{
		"all are supported":   {"The pump has a warranty of 7 years [1]. Synthetic oil is recommended. [2]", "The pump has a warranty of 7 years [1]. Synthetic oil is recommended. [2]"},
		"the last":            {"The pump has a warranty of 7 years [1]. It weighs 93 tonnes [1].", "The pump has a warranty of 7 years [1]. "},
		"the first":           {"It weighs 93 tonnes. [1] The pump has a warranty of 7 years [1].", "The pump has a warranty of 7 years [1]."},
		"one in the middle":   {"Frost damage is not covered [1]. It weighs 93 tonnes [1]. Synthetic oil is recommended [2].", "Frost damage is not covered [1]. Synthetic oil is recommended [2]."},
		"an item of a list":   {"Details:\n\n- warranty of 7 years [1]\n- a weight of 93 tonnes [1]\n- synthetic oil [2]\n", "Details:\n\n- warranty of 7 years [1]\n- synthetic oil [2]\n"},
		"a row":               {"| warranty | 7 years |\n| weight | 93 tonnes |\n", "| warranty | 7 years |\n"},
		"code is kept":        {"```\nweight = 93. Tonnes.\n```\nIt weighs 93 tonnes.", "```\nweight = 93. Tonnes.\n```\n"},
		"everything":          {"It weighs 93 tonnes [2].", ""},
		"the right source":    {"Synthetic oil is recommended [1].", ""},
		"announcements stay":  {"Here it is:\n\nIt weighs 93 tonnes [1].\n\nWould you like more?", "Here it is:\n\n\nWould you like more?"},
		"without citations":   {"The pump has a warranty of 7 years. It weighs 93 tonnes.", "The pump has a warranty of 7 years. "},
		"a decimal and a dot": {"The price is 1,500.00 euros, says Lena Berg. It weighs 93.5 tonnes.", "The price is 1,500.00 euros, says Lena Berg. "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, 7, 1000} {
				if got, _ := gated(test.answer, size); got != test.want {
					t.Errorf("in pieces of %d: %q, want %q", size, got, test.want)
				}
			}
		})
	}
}

func TestAGateHoldsBackOneSentence(t *testing.T) {
	t.Parallel()
	first := "The pump has a warranty of 7 years [1]. "
	_, pieces := gated(first+"Synthetic oil is recommended [2].", 1)
	if got := strings.Join(pieces[:len(first)+1], ""); got != first {
		t.Errorf("when the second sentence begins, %q has been passed on", got)
	}
	g := NewGate([]domain.Fragment{{Text: manual}})
	defer g.Close()
	for range 10_000 {
		g.Write("words without an end ")
		if len(g.held) > maxHeld+100 {
			t.Fatalf("%d bytes are held back", len(g.held))
		}
	}
}
