package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

func TestATextHoldsAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, answer string
		want         bool
	}{
		"with other case and punctuation": {"It was “Andrew  Jackson”.", "andrew jackson", true},
		"as whole words":                  {"It came nearly late.", "early", false},
		"within Chinese":                  {"路德早期的作品。", "早期", true},
		"in Chinese with a space":         {"杰克 逊", "杰克逊", true},
		"not without its words":           {"Andrew came.", "Andrew Jackson", false},
		"never one without letters":       {"a - b", "-", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := containsAnswer(c.text, []string{c.answer}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWhatIsQuotedIsWithoutIntroductionAndCitations(t *testing.T) {
	t.Parallel()
	if got := quoted("In the words:\n\n“At six.” [1]\n\n“Or seven.” [12]"); got != "“At six.” \n\n“Or seven.” " {
		t.Errorf("got %q", got)
	}
}

func TestATallyCountsWhatHolds(t *testing.T) {
	t.Parallel()
	var got tally
	got.add(exchange{
		answer: service.Answer{Text: "So:\n\n“At six.” [1]", Sources: []service.Fragment{{CustomID: "d"}, {CustomID: "e"}}},
		top:    []service.Fragment{{CustomID: "e", Text: "at six"}},
	}, []string{"six"}, map[string]int{"d": 1})
	got.add(exchange{answer: service.Answer{Text: "The documents do not answer this question."}, top: []service.Fragment{{CustomID: "d", Text: "x"}}}, []string{"question"}, map[string]int{"d": 1})
	want := tally{questions: 2, answered: 1, held: 1, cited: 2, citedGold: 1, characters: 10, topHeld: 1, topGold: 1, topLength: 7}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// written creates a folder with a collection: four documents, and a question about each.
func written(t *testing.T) settings {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{"c/qrels.tsv": "query-id\tcorpus-id\tscore\n", "c/corpus.jsonl": "", "c/queries.jsonl": "", "c.json": ""}
	var answers []string
	for i := range 4 {
		files["c/corpus.jsonl"] += fmt.Sprintf("{\"_id\":\"d%d\",\"title\":\"\",\"text\":\"text %d\"}\n", i, i)
		files["c/queries.jsonl"] += fmt.Sprintf("{\"_id\":\"%d\",\"text\":\"what is %d?\"}\n", i, i)
		files["c/qrels.tsv"] += fmt.Sprintf("%d\td%d\t1\n", i, i)
		answers = append(answers, fmt.Sprintf(`{"id":%d,"answers":[{"text":"text %d"}]}`, i, i))
	}
	files["c.json"] = `{"data":[{"paragraphs":[{"qas":[` + strings.Join(answers[:3], ",") + `]}]}]}`
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return settings{data: folder, answers: folder}
}

func TestPartsLeaveOutWhatAnswers(t *testing.T) {
	t.Parallel()
	s := written(t)
	list, err := names(s)
	if err != nil || strings.Join(list, " ") != "c" {
		t.Fatalf("collections are %v, %v", list, err)
	}
	c, err := load(s, "c")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		documents, questions := p.selectFrom(c)
		line := ""
		for _, d := range documents {
			line += d.CustomID + " "
		}
		for _, q := range questions {
			line += q.ID
		}
		got = append(got, line)
	}
	want := []string{"d0 d1 d2 d3 012", "d0 d2 1", "d0 d1 2"} // question 3 is unanswerable
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.questions = 1
	if c, err = load(s, "c"); err != nil || len(c.Questions) != 1 {
		t.Errorf("%d questions, %v", len(c.Questions), err)
	}
}

func TestASmallDatastoreIsAskedWhatItAnswersAndAsMuchThatItDoesNot(t *testing.T) {
	t.Parallel()
	c, err := load(written(t), "c")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{1: 1, 2: 1, 9: 0} { // foreign questions out of three
		for seed := range uint64(20) {
			documents, own, foreign := draw(c, size, rand.New(rand.NewPCG(seed, 0)))
			if len(documents) != min(size, 4) {
				t.Fatalf("%d documents in place of %d", len(documents), size)
			}
			in := map[string]bool{}
			for _, d := range documents {
				in[d.CustomID] = true
			}
			for _, q := range own {
				if !in["d"+q.ID] {
					t.Errorf("question %s is put to %v as if they answered", q.ID, in)
				}
			}
			for _, q := range foreign {
				if in["d"+q.ID] {
					t.Errorf("question %s is put to %v as if they did not answer", q.ID, in)
				}
			}
			if len(foreign) > len(own) || len(foreign) > want {
				t.Errorf("%d questions of its own and %d of others, with %d documents", len(own), len(foreign), size)
			}
		}
	}
}

func TestTheTableOfSmallDatastoresAddsThemUp(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	writeSmall(&out, []smallResult{
		{name: "c", documents: 1, own: tally{questions: 4, answered: 2, held: 1}, foreign: tally{questions: 4, answered: 1}},
		{name: "d", documents: 1, own: tally{questions: 4, answered: 4, held: 3}, foreign: tally{questions: 4}},
	})
	for _, want := range []string{"| c | 1 | 4 | **0.250** | 0.500 | 0.750 |\n", "| **all** | 1 | 8 | **0.500** | 0.750 | 0.875 |\n", "| **all** | 3 | 0 | **–** | – | – |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestTheTableSaysWhatWasMeasured(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := result{
		name:     "c",
		answered: tally{questions: 4, answered: 2, held: 1, cited: 4, citedGold: 3, characters: 30, topHeld: 3, topGold: 4, topLength: 400},
		foreign:  []tally{{questions: 4, answered: 1}, {questions: 2}},
	}
	none := result{name: "d", answered: tally{questions: 2}, foreign: []tally{{}, {}}}
	writeFigures(&out, []result{r, none})
	const want = "| c | 4 | **0.250** | 0.500 | 0.750 | 15 | 0.750 | 1.000 | 100 | 0.750 | 1.000 |\n" +
		"| d | 2 | **0.000** | 0.000 | – | – | 0.000 | 0.000 | 0 | – | – |\n" +
		"| **mean** |  | **0.125** | 0.250 | 0.750 | 15 | 0.375 | 0.500 | 50 | 0.750 | 1.000 |\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %s", out.String())
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-answers", "x", "more"}, {"-answers", ""}, {"-answers", "x", "-questions", "-1"}, {"-answers", "x", "-small", "-write", "f"},
		{"-answers", "x", "-half", "tuning"}, {"-set", "x", "-half", "third"}, {"-set", "x", "-small"}, {"-answers", "x", "-small", "-joined"},
		{"-answers", "x", "-wrong"}, {"-answers", "x", "-first-token"}, {"-set", "x", "-base", "y"}, {"-set", "x", "-first-token", "-rounds", "0"}} {
		if _, err := parse(args, &strings.Builder{}); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

func TestJoinedQuestionsCountThePartsThatAnAnswerHolds(t *testing.T) {
	t.Parallel()
	gold := map[string][]string{"a": {"Lund"}, "b": {"1987"}}
	q := bench.Joined{Text: "Where was the pump built? When was the mill built?", Parts: []string{"a", "b"}}
	text := func(t string) service.Fragment { return service.Fragment{Text: t} }
	both := []service.Fragment{text("The pump was built in Lund."), text("The mill was built in 1987.")}
	answered := func(said string, sources, found []service.Fragment) exchange {
		return exchange{answer: service.Answer{Text: "From the documents:\n\n" + said, Sources: sources}, top: found}
	}
	for name, c := range map[string]struct {
		q    bench.Joined
		e    exchange
		want []fault
	}{
		"both parts":                {q, answered("In Lund [1], in 1987 [2].", both, both), []fault{"", ""}},
		"a part is not found":       {q, answered("In Lund [1].", both[:1], both[:1]), []fault{"", notFound}},
		"a part is declined":        {q, answered("In Lund [1].\n\nNo answer to “When was the mill built?”", both[:1], both), []fault{"", partDeclined}},
		"everything is declined":    {q, answered("No answer.", nil, both), []fault{partDeclined, partDeclined}},
		"another passage":           {q, answered("In Lund [1], it turns [2].", []service.Fragment{both[0], text("It turns.")}, both), []fault{"", otherText}},
		"another part of a passage": {q, answered("In Lund [1]. The mill was built [2].", both, both), []fault{"", cutOff}},
		"not divided":               {bench.Joined{Text: "The pump, the mill?", Parts: q.Parts}, answered("In Lund [1].", both, both), []fault{"", notDivided}},
	} {
		r := joinedResult{faults: make(map[fault]int)}
		if diff := cmp.Diff(c.want, r.add(c.e, c.q, gold)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if all, some := c.want[0]+c.want[1] == "", c.want[0] == ""; (r.all == 1) != all || (r.some == 1) != some || (r.declined == 1) != (len(c.e.answer.Sources) == 0) {
			t.Errorf("%s: the figures are %+v", name, r)
		}
	}
}
