package eval

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/golden.json contains the metrics that trec_eval computes for the run and judgements in the same directory.
func TestMetricsAgreeWithTrecEval(t *testing.T) {
	t.Parallel()
	read := func(name string) *bufio.Reader {
		f, err := os.Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return bufio.NewReader(f)
	}
	qrels, err := ReadJudgements(read("qrels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := readRun(read("run.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]float64
	if err := json.NewDecoder(read("golden.json")).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	if judged := qrels.Judged(); len(judged) != len(golden) {
		t.Fatalf("questions %v are judged, the golden figures have %d", judged, len(golden))
	}
	for q, want := range golden {
		ranking, grades := run.Ranking(q), qrels.Relevant(q)
		got := map[string]float64{
			"nDCG@10": NDCG(ranking, grades, 10), "R@10": Recall(ranking, grades, 10),
			"R@100": Recall(ranking, grades, 100), "MRR@10": MRR(ranking, grades, 10),
		}
		for name, figure := range want {
			if math.Abs(got[name]-figure) > 1e-9 {
				t.Errorf("question %s: %s is %.12f, trec_eval has %.12f", q, name, got[name], figure)
			}
		}
	}
}

func TestMetricsByHand(t *testing.T) {
	t.Parallel()
	log2 := math.Log2
	grades := Grades{"a": 3, "b": 2, "c": 1}
	for name, c := range map[string]struct {
		ranking           []string
		grades            Grades
		k                 int
		ndcg, recall, mrr float64
	}{
		"the ideal order is 1": {[]string{"a", "b", "c"}, grades, 10, 1, 1, 1},
		"gains are the grades, discounted by place": {
			[]string{"x", "c", "a"}, grades, 10,
			(1/log2(3) + 3/log2(4)) / (3 + 2/log2(3) + 1/log2(4)), 2.0 / 3, 0.5,
		},
		"items after the first k do not count": {[]string{"x", "y", "a"}, grades, 2, 0, 0, 0},
		"the ideal ranking has k items, too":   {[]string{"a"}, grades, 1, 1, 1.0 / 3, 1},
		"nothing found is 0":                   {nil, grades, 10, 0, 0, 0},
		"nothing relevant is 0":                {[]string{"a"}, Grades{}, 10, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for figure, pair := range map[string][2]float64{
				"nDCG": {NDCG(c.ranking, c.grades, c.k), c.ndcg}, "recall": {Recall(c.ranking, c.grades, c.k), c.recall}, "MRR": {MRR(c.ranking, c.grades, c.k), c.mrr},
			} {
				if math.Abs(pair[0]-pair[1]) > 1e-12 {
					t.Errorf("%s is %v, want %v", figure, pair[0], pair[1])
				}
			}
		})
	}
}

func TestARankingPutsTheGreaterIdFirstAmongEqualScores(t *testing.T) {
	t.Parallel()
	r := Run{}
	for _, d := range []string{"b", "a", "c"} {
		r.Add("q", d, 0.5)
	}
	r.Add("q", "z", 0.9)
	r.Add("q", "a", 0.1) // only the higher score counts
	if got := strings.Join(r.Ranking("q"), ""); got != "zcba" {
		t.Errorf("the ranking is %s, want zcba", got)
	}
}

// readRun reads question, document and score from each line.
func readRun(r io.Reader) (Run, error) {
	run := Run{}
	err := eachLine(r, "run", MaxFileBytes, func(_ int, line []byte) error {
		c := columns(string(line))
		if len(c) != 3 {
			return fmt.Errorf("has %d columns", len(c))
		}
		score, err := strconv.ParseFloat(c[2], 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Errorf("%q is no score", c[2])
		}
		run.Add(c[0], c[1], score)
		return nil
	})
	return run, err
}
