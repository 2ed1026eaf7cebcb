package extractive

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestPartsOf(t *testing.T) {
	t.Parallel()
	const names = "Part\tStock"
	tests := map[string]struct {
		text string
		want []part
	}{
		"a wrapped sentence is one": {
			"Trains are the rule. Flights are allowed only when the\nJourney takes longer than seven hours in all.",
			[]part{{text: "Trains are the rule."}, {text: "Flights are allowed only when the Journey takes longer than seven hours in all."}},
		},
		"an announcement takes the code after it along": {
			"Reset the lock with this command and wait for the green\nlight:\n\nlockctl reset --code L-3\nlockctl status\n\nThen go on.",
			[]part{
				{kind: partCode, intro: "Reset the lock with this command and wait for the green light:", text: "lockctl reset --code L-3\nlockctl status"},
				{text: "Then go on."},
			},
		},
		"code without fences goes on over empty lines": {
			"Waiting\n\ndef wait():\n    sleep(3)\n\nif late():\n    wait()",
			[]part{
				{kind: partHeading, text: "Waiting", under: "Waiting"},
				{kind: partCode, under: "Waiting", text: "def wait():\n    sleep(3)\n\nif late():\n    wait()"},
			},
		},
		"code between fences keeps its lines": {
			"The settings:\n\n```yaml\nlock:\n  code: L-3\n\n  names: [a, b]\n```\nThey are read once.",
			[]part{
				{kind: partCode, intro: "The settings:", lang: "yaml", text: "lock:\n  code: L-3\n\n  names: [a, b]"},
				{text: "They are read once."},
			},
		},
		"a fragment that begins within code": {
			"  names: [a, b]\n```\n\nThey are read once.",
			[]part{{kind: partCode, text: "  names: [a, b]"}, {text: "They are read once."}},
		},
		"a fragment that ends within code": {
			"The settings:\n\n```yaml\nlock:\n  code: L-3",
			[]part{{kind: partCode, intro: "The settings:", lang: "yaml", text: "lock:\n  code: L-3"}},
		},
		"tildes underline": {
			"The weir\n~~~~~~~~\n\nIt is old.",
			[]part{{kind: partEntry, text: "The weir"}, {kind: partEntry, text: "~~~~~~~~"}, {text: "It is old."}},
		},
		"an announcement takes a list along": {
			"Bring these things to the weir:\n- a torch\n- a rope",
			[]part{
				{text: "Bring these things to the weir:\n- a torch\n- a rope"},
				{kind: partEntry, text: "- a torch"}, {kind: partEntry, text: "- a rope"},
			},
		},
		"an announcement does not take a heading along": {
			"See what follows:\n\nFirst start\n\nOpen the valve.",
			[]part{{text: "See what follows:"}, {kind: partHeading, text: "First start", under: "First start"}, {text: "Open the valve.", under: "First start"}},
		},
		"what stands under a question answers it": {
			"Is there a trial?\n\nYes. It takes 14 days. No card is asked for.\n\nPrices\n\nThey change.",
			[]part{
				{kind: partHeading, text: "Is there a trial?", under: "Is there a trial?"},
				{text: "Yes.", under: "Is there a trial?", asked: "Is there a trial?"}, {text: "It takes 14 days.", under: "Is there a trial?", asked: "Is there a trial?"},
				{text: "No card is asked for.", under: "Is there a trial?", asked: "Is there a trial?"},
				{kind: partHeading, text: "Prices", under: "Prices"},
				{text: "They change.", under: "Prices"},
			},
		},
		"a question within prose is answered by the next sentence": {
			"When does it open? At six every day. The gate is old.",
			[]part{{text: "When does it open?"}, {text: "At six every day.", asked: "When does it open?"}, {text: "The gate is old."}},
		},
		"records stay apart": {
			"id: G-1; station: Northweir; cause: a broken seal of the impeller\nid: G-2; station: Southweir; cause: lightning",
			[]part{
				{kind: partRow, text: "id: G-1; station: Northweir; cause: a broken seal of the impeller"},
				{kind: partRow, text: "id: G-2; station: Southweir; cause: lightning"},
			},
		},
		"names of columns are a heading": {
			"Stock of May\n" + names + "\nPart: Seal; Stock: 4",
			[]part{{kind: partEntry, text: "Stock of May"}, {kind: partHeading, text: names}, {kind: partRow, text: "Part: Seal; Stock: 4"}},
		},
		"rows get the names of their columns": {
			names + "\nSeal\t4\nHose\t",
			[]part{{kind: partHeading, text: names}, {kind: partRow, text: "Part: Seal; Stock: 4"}, {kind: partRow, text: "Part: Hose"}},
		},
		"a table of figures has no names": {
			"2024\t4\n2025\t5",
			[]part{{kind: partRow, text: "2024\t4"}, {kind: partRow, text: "2025\t5"}},
		},
		"entries in capitals stay apart": {
			"Prototype of the new gate in October of next year\nField test at the weir with three gates\nSeries production from May",
			[]part{
				{kind: partEntry, text: "Prototype of the new gate in October of next year"}, {kind: partEntry, text: "Field test at the weir with three gates"},
				{kind: partEntry, text: "Series production from May"},
			},
		},
		"lines that are sentences each are entries": {
			"Bring a photo of yourself.\nTools come back clean, otherwise we charge for it.\nLate returns cost a day.",
			[]part{{kind: partEntry, text: "Bring a photo of yourself."}, {kind: partEntry, text: "Tools come back clean, otherwise we charge for it."}, {kind: partEntry, text: "Late returns cost a day."}},
		},
		"what a document begins with for programs is left out": {
			"---\ntitle: Travel rules\ntags:\n  - travel\n- rail\n\n# by hand\ndate: 2026-01-01\n---\n\nTrains are the rule.",
			[]part{{text: "Trains are the rule."}},
		},
		"so is what is written with signs of equality": {
			"+++\ntitle = \"Travel rules\"\n[menu]\nweight = 3\n+++\nTrains are the rule.",
			[]part{{text: "Trains are the rule."}},
		},
		"a sentence between rules stays": {
			"---\nTrains are the rule: all take them.\n---\n",
			[]part{{kind: partEntry, text: "---"}, {kind: partEntry, text: "Trains are the rule: all take them."}, {kind: partEntry, text: "---"}},
		},
		"Japanese wrapped in a sentence is one": {
			"水門は毎朝六時に開きますが、冬の間は七時になることもあり\nます。",
			[]part{{text: "水門は毎朝六時に開きますが、冬の間は七時になることもあります。"}},
		},
		"a heading with nothing below is a line like others": {"Spare parts", []part{{text: "Spare parts", under: "Spare parts"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, partsOf(domain.Fragment{Text: test.text}), cmp.AllowUnexported(part{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsTakenAlongIsBounded(t *testing.T) {
	t.Parallel()
	code := partsOf(domain.Fragment{Text: "Run this:\n\n" + strings.Repeat("step --next\n", 500)})[0]
	if lines := strings.Count(code.text, "\n") + 1; lines != maxCodeLines || !code.cut {
		t.Errorf("took %d lines of code along, cut: %v, want %d", lines, code.cut, maxCodeLines)
	}
	list := partsOf(domain.Fragment{Text: "Bring these:\n" + strings.Repeat("- a torch\n", 500)})[0]
	if lines := strings.Count(list.text, "\n"); lines != maxTakenLines {
		t.Errorf("took %d entries along, want %d", lines, maxTakenLines)
	}
}

func TestCodeIsToldFromProse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"pip install sluicectl\nsluicectl init":     true,
		"go to the lock\nmake sure that it is shut": false,
		"$ make install":                              true,
		"sluice serve --addr :8080":                   true,
		"x = 3\ny = x * 2":                            true,
		"{\n  \"a\": 1\n}":                            true,
		"SELECT id FROM parts\nWHERE stock > 3;":      true,
		"Open the valve (see above) and wait":         false,
		"Core hours are from 9:30 to 15:00.":          false,
		"Steering committee: 12 October, room Fjord":  false,
		"- run it --fast\n- stop it --now":            false,
		"Part: Seal; Stock: 4\nPart: Hose; Stock: 9;": false,
		"Name\tvalue = 3":                             false,
		"水門 = 六時":                                     false,
		"Kind regards\nThe team of the north gate":    false,
	} {
		if got := looksLikeCode(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzPartsOf(f *testing.F) {
	f.Add("---\na: b\n  c\n---\nd")
	f.Add("a:\n\n- b\n- c\n\n\n\nd\te\n:\n")
	f.Add("```\na\n~~~\n````x\nb\n\nWhy?\n\nc\td\ne\tf")
	f.Fuzz(func(t *testing.T, text string) {
		total, cells := 0, 0
		for _, p := range partsOf(domain.Fragment{Text: text}) {
			total += len(p.words())
			if p.kind == partRow {
				cells += (1 + strings.Count(p.text, "; ")) * (maxColumnBytes + len(": ; "))
			}
		}
		if total > 4*len(text)+maxTakenLines*len("\n")*(1+strings.Count(text, "\n"))+cells {
			t.Fatalf("%d bytes of text became %d", len(text), total)
		}
	})
}
