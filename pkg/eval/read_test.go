package eval

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuestionsAreRead(t *testing.T) {
	t.Parallel()
	got, err := ReadQuestions(strings.NewReader("\uFEFF" + `{"_id": "q1", "text": "How long?", "metadata": {"x": 1}}` + "\r\n\n" +
		`{"_id": 7, "text": "Where?", "relevant": "doc-1", "answer": ["in Riga", " "]}` + "\n" +
		`{"text": "Who?", "relevant": ["a", "b"], "answer": "Ada"}`))
	want := []Question{
		{ID: "q1", Text: "How long?"},
		{ID: "7", Text: "Where?", Relevant: []string{"doc-1"}, Answers: []string{"in Riga"}},
		{ID: "4", Text: "Who?", Relevant: []string{"a", "b"}, Answers: []string{"Ada"}},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsNameTheirLine(t *testing.T) {
	t.Parallel()
	questions := func(s string) error { _, err := ReadQuestions(strings.NewReader(s)); return err }
	judgements := func(s string) error { _, err := ReadJudgements(strings.NewReader(s)); return err }
	documents := func(s string) error {
		return ReadDocuments(strings.NewReader(s), func(Document) error { return nil })
	}
	for name, c := range map[string]struct {
		read func(string) error
		text string
		want string
	}{
		"a question that is no JSON":        {questions, "{\"text\":\"a\"}\nhow long?", "questions, line 2: is not a JSON object"},
		"a question that is a list":         {questions, `["a"]`, "line 1: is not a JSON object"},
		"a question without text":           {questions, `{"_id":"1"}`, "line 1: has no text"},
		"a question whose text is a number": {questions, `{"text":1}`, "line 1: text has the wrong type: it must not be a JSON number"},
		"a question twice":                  {questions, "{\"_id\":\"1\",\"text\":\"a\"}\n{\"_id\":\"1\",\"text\":\"b\"}", `line 2: question "1" is already on line 1`},
		"an answer that is an object":       {questions, `{"text":"a","answer":{}}`, "line 1: is not a JSON object: {} is neither a string nor a list of strings"},
		"an id that is a list":              {questions, `{"_id":[1],"text":"a"}`, "is neither a string nor a whole number"},
		"an id with a tab":                  {questions, `{"_id":"a\tb","text":"a"}`, "contains a tab"},
		"a long id":                         {questions, `{"_id":"` + strings.Repeat("a", 1001) + `","text":"a"}`, "1001 bytes; the limit is 1000"},
		"no question":                       {questions, "\n\n", "there are no questions"},
		"bytes that are not text":           {questions, "{\"text\":\"\xff\"}", "line 1: is not UTF-8"},
		"a grade that is not a number":      {judgements, "q\td\t1\nq\td\tyes", `judgements, line 2: the grade "yes" is not a whole number`},
		"a heading alone":                   {judgements, "query-id\tcorpus-id\tscore", "there are no judgements"},
		"too few columns":                   {judgements, "q\t1", "line 1: has 2 columns"},
		"an empty document":                 {judgements, "q\t\t1", "line 1: has an empty id"},
		"a document without an id":          {documents, `{"text":"a"}`, "documents, line 1: has an empty id"},
		"a line without an end":             {documents, strings.Repeat(" ", MaxLine+1), "line 1: is longer than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.read(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestJudgementsAreReadInBothForms(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"BEIR":          "query-id\tcorpus-id\tscore\nq 1\td\t1\nq 1\te\t0\nq2\td\t2\nq2\td\t3\n",
		"TREC":          "q 1\t0\td\t1\nq 1\t0\te\t0\r\nq2\t0\td\t3",
		"BEIR headless": "q 1\td\t1\nq 1\te\t0\nq2\td\t3\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadJudgements(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Judgements{"q 1": {"d": 1, "e": 0}, "q2": {"d": 3}}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadDocumentsStopsAtTheErrorOfItsCallback(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	n := 0
	err := ReadDocuments(strings.NewReader("{\"_id\":\"1\"}\n{\"_id\":\"2\"}\n{\"_id\":\"3\"}"), func(Document) error {
		if n++; n == 2 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || n != 2 || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("after %d documents: %v", n, err)
	}
}

func TestAWrittenRunHasFullPrecision(t *testing.T) {
	t.Parallel()
	run := Run{"q1": {"a": 0.1, "b": 1.0 / 3}, "q0": {"c": 2}}
	var b bytes.Buffer
	if err := run.Write(&b); err != nil {
		t.Fatal(err)
	}
	if want := "q0\tc\t2\nq1\tb\t0.3333333333333333\nq1\ta\t0.1\n"; b.String() != want {
		t.Errorf("the output is %q, want %q", b.String(), want)
	}
	again, err := readRun(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run, again); diff != "" {
		t.Error(diff)
	}
}

func TestTheSizeOfFilesIsBounded(t *testing.T) {
	t.Parallel()
	read := func(limit int64) (lines int, err error) {
		err = eachLine(strings.NewReader("ab\n\ncd\n"), "questions", limit, func(int, []byte) error { lines++; return nil })
		return lines, err
	}
	if lines, err := read(4); lines != 2 || err != nil {
		t.Errorf("of as many bytes: %d lines, %v", lines, err)
	}
	if lines, err := read(3); lines != 1 || err == nil || !strings.HasPrefix(err.Error(), "questions, line 3: the input is longer than") {
		t.Errorf("of more: %d lines, %v", lines, err)
	}
}
