package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentencesOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"a wrapped sentence is one": {
			"Trains are the rule. Flights are allowed only when the\nJourney takes longer than seven hours in all.",
			[]string{"Trains are the rule.", "Flights are allowed only when the Journey takes longer than seven hours in all."},
		},
		"an announcement takes the code after it along, line by line": {
			"Reset the lock with this command and wait for the green\nlight:\n\nlockctl reset --code L-3\nlockctl status\n\nThen go on.",
			[]string{"Reset the lock with this command and wait for the green light:\nlockctl reset --code L-3\nlockctl status", "lockctl reset --code L-3", "lockctl status", "Then go on."},
		},
		"an announcement takes a list along": {
			"Bring these things to the weir:\n- a torch\n- a rope",
			[]string{"Bring these things to the weir:\n- a torch\n- a rope", "- a torch", "- a rope"},
		},
		"an announcement does not take a heading along": {
			"See what follows:\n\nFirst start\n\nOpen the valve.",
			[]string{"See what follows:", "First start", "Open the valve."},
		},
		"records stay apart": {
			"id: G-1; station: Northweir; cause: a broken seal of the impeller\nid: G-2; station: Southweir; cause: lightning",
			[]string{"id: G-1; station: Northweir; cause: a broken seal of the impeller", "id: G-2; station: Southweir; cause: lightning"},
		},
		"entries in capitals stay apart": {
			"Prototype of the new gate in October of next year\nField test at the weir with three gates\nSeries production from May",
			[]string{"Prototype of the new gate in October of next year", "Field test at the weir with three gates", "Series production from May"},
		},
		"Japanese wrapped in a sentence is one": {
			"水門は毎朝六時に開きますが、冬の間は七時になることもあり\nます。",
			[]string{"水門は毎朝六時に開きますが、冬の間は七時になることもあります。"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, sentencesOf(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAnnouncementTakesABoundedPartAlong(t *testing.T) {
	t.Parallel()
	got := sentencesOf("Run this:\n\n" + strings.Repeat("step --next\n", 500))
	if lines := strings.Count(got[0], "\n"); lines != maxTakenLines {
		t.Errorf("took %d lines along, want %d", lines, maxTakenLines)
	}
}

func FuzzSentencesOf(f *testing.F) {
	f.Add("a:\n\n- b\n- c\n\n\n\nd\te\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, s := range sentencesOf(text) {
			total += len(s)
		}
		if total > 4*len(text)+maxTakenLines*len("\n")*(1+strings.Count(text, "\n")) {
			t.Fatalf("%d bytes of text became %d", len(text), total)
		}
	})
}
