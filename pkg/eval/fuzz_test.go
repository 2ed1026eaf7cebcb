package eval

import (
	"bytes"
	"math"
	"testing"
)

// FuzzReaders feeds arbitrary files to the readers. No reader may panic, and scoring must work for anything a reader
// accepts.
func FuzzReaders(f *testing.F) {
	f.Add([]byte("query-id\tcorpus-id\tscore\nq\td\t1\nq\te\t-3\n"))
	f.Add([]byte("q 0 d 9223372036854775807\nq Q0 d 1 1e308 tag"))
	f.Add([]byte(`{"_id": 1, "title": null, "text": "a", "relevant": ["d"], "answer": "x"}`))
	f.Add([]byte("\xef\xbb\xbf{}\n\t\t\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		questions, err := ReadQuestions(bytes.NewReader(data))
		if err == nil && len(questions) == 0 {
			t.Error("no questions and no error")
		}
		for _, q := range questions {
			if q.ID == "" || q.Text == "" {
				t.Errorf("question %+v", q)
			}
		}
		_ = ReadDocuments(bytes.NewReader(data), func(d Document) error {
			if d.ID == "" {
				t.Error("a document without an id")
			}
			return nil
		})
		run, _ := readRun(bytes.NewReader(data))
		judgements, _ := ReadJudgements(bytes.NewReader(data))
		for _, q := range judgements.Judged() {
			ranking, grades := run.Ranking(q), judgements.Relevant(q)
			for name, figure := range map[string]float64{"nDCG": NDCG(ranking, grades, 10), "recall": Recall(ranking, grades, 10), "MRR": MRR(ranking, grades, 10)} {
				if math.IsNaN(figure) || figure < 0 || figure > 1+1e-9 {
					t.Errorf("%s of question %q is %v", name, q, figure)
				}
			}
		}
	})
}
