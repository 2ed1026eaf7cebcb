package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/eval/service"
)

const ownSet = "../../testdata/answers"

func TestTheFactsOfTheQuestionSetStandInItsDocuments(t *testing.T) {
	t.Parallel()
	set, err := loadSet(ownSet)
	if err != nil {
		t.Fatal(err)
	}
	tags := regexp.MustCompile(`<[^<>]*>`)
	halves := make(map[string]string) // by document
	kindsOf := make(map[string]map[string]int)
	for _, q := range set.questions {
		name := filepath.Base(q.Document)
		if half, known := halves[name]; known && half != q.half() {
			t.Errorf("%s is in both halves", name)
		}
		halves[name] = q.half()
		if kindsOf[q.half()] == nil {
			kindsOf[q.half()] = make(map[string]int)
		}
		kindsOf[q.half()][q.Kind]++
		content, err := os.ReadFile(filepath.Join(ownSet, q.Document))
		if err != nil {
			t.Errorf("question %s: %v", q.ID, err)
			continue
		}
		switch filepath.Ext(name) {
		case ".pdf", ".docx", ".xlsx":
			continue
		}
		text := tags.ReplaceAllString(html.UnescapeString(string(content)), " ")
		if got := q.statedFacts(text + " Rinnovi: 1"); got < len(q.facts) && q.wrong == nil {
			t.Errorf("question %s: %d of %d facts stand in %s", q.ID, got, len(q.facts), q.Document)
		}
	}
	if len(halves) != len(set.documents) {
		t.Errorf("questions are about %d of %d documents", len(halves), len(set.documents))
	}
	for _, half := range []string{"tuning", "held-out"} {
		for _, kind := range kinds {
			if kindsOf[half][kind] < 10 {
				t.Errorf("%s has %d questions of kind %q", half, kindsOf[half][kind], kind)
			}
		}
	}
}

func TestAQuestionIsCheckedWhenTheSetIsRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"id":"a","kind":"riddle","facts":["x"]}`:                    `kind "riddle" is not one of single`,
		`{"id":"a","kind":"single"}`:                                  "0 facts do not fit",
		`{"id":"a","kind":"near miss","facts":["x"]}`:                 "1 facts do not fit",
		`{"id":"a","kind":"single","facts":["("]}`:                    "missing closing",
		`{"id":"a","kind":"single","facts":["x"],"wrong":"[a"}`:       "missing closing",
		`{"id":"a","kind":"single","facts":["x"]`:                     "unexpected end",
		`{"id":"a","kind":"single","facts":["x"],"document":"h/doc"}`: "",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "questions.jsonl"), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := loadSet(folder)
		switch {
		case want == "" && (err != nil || len(set.questions) != 1 || set.questions[0].half() != "h"):
			t.Errorf("%s: %v, %v", line, set, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

func TestTheTableOfASetCountsEachKind(t *testing.T) {
	t.Parallel()
	single := setQuestion{Document: "tuning/d", Kind: kindSingle, Facts: []string{"six"}, Wrong: "seven"}
	several := setQuestion{Document: "tuning/d", Kind: kindSeveral, Facts: []string{"six", "ten +euros"}}
	miss := setQuestion{Document: "tuning/d", Kind: kindNearMiss}
	tallies := make(map[string]*setTally)
	for _, c := range []struct {
		q     setQuestion
		text  string // "" means declined
		top   string
		right bool
	}{
		{single, "At six.", "At Six.", true},
		{single, "At six, or at seven.", "At nine.", false},
		{single, "", "At six.", false},
		{several, "At six for ten\neuros.", "At six.", true},
		{several, "At six.", "At six for ten euros", false},
		{miss, "", "At six.", true},
		{miss, "At six.", "At six.", false},
	} {
		if err := c.q.compile(); err != nil {
			t.Fatal(err)
		}
		e := exchange{top: []service.Fragment{{Text: c.top}}}
		if c.text != "" {
			e.answer = service.Answer{Text: "So:\n\n" + c.text, Sources: []service.Fragment{{}}}
		}
		name := "| " + c.q.half() + " | " + c.q.Kind + " |"
		if tallies[name] == nil {
			tallies[name] = new(setTally)
		}
		if got := tallies[name].add(c.q, e); got != c.right {
			t.Errorf("%s answered with %q: right is %v", c.q.Kind, c.text, got)
		}
	}
	var out strings.Builder
	writeSet(&out, tallies)
	for _, want := range []string{
		"| tuning | single | 3 | **0.333** | 0.333 | 0.333 | 14 | 0.667 | 7 |\n",
		"| tuning | several | 2 | **0.500** | 1.000 | 0.000 | 14 | 0.500 | 14 |\n",
		"| tuning | near miss | 2 | **0.500** | 0.000 | 0.500 | 7 | 0.000 | 7 |\n",
		"| tuning | **all answerable** | 5 | **0.400** | 0.600 | 0.200 | 14 | 0.600 | 7 |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
