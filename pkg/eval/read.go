package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limits on input files, to reject the wrong kind of file before it exhausts memory.
const (
	MaxQuestions  = 100_000
	MaxJudgements = 5_000_000
	maxRelevant   = 10_000 // maximum number of ids and answers per question
	maxID         = 1_000  // maximum length of an id, in bytes
)

// Document is one document in a collection.
type Document struct {
	ID    string
	Title string // "" if it has none
	Text  string
}

// Question is one line from a question file: a question and, optionally, its relevant documents and answers.
type Question struct {
	ID       string
	Text     string
	Relevant []string        // custom ids, ids, names or addresses of the relevant datasources
	Answers  []string        // alternative answers; a relevant fragment contains at least one
	Filters  json.RawMessage // query filters, as in the API; nil means none
}

// Judgements maps each question to its documents' grades. Documents with a grade of 0 or less are not relevant.
type Judgements map[string]map[string]int

// ReadDocuments reads a corpus: one JSON object per line with _id, title and text. It calls `each` with the documents
// in order. All errors, including those from `each`, contain the line number.
func ReadDocuments(r io.Reader, each func(Document) error) error {
	return eachLine(r, "documents", math.MaxInt64, func(_ int, line []byte) error {
		var d struct {
			ID    label  `json:"_id"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := decode(line, &d); err != nil {
			return err
		}
		if err := checkID(string(d.ID)); err != nil {
			return err
		}
		return each(Document{ID: string(d.ID), Title: d.Title, Text: d.Text})
	})
}

// ReadQuestions reads questions, one JSON object with _id and text per line. It also reads three fields that BEIR
// doesn't have: "relevant" (ids of relevant documents), "answer" (text that relevant fragments contain, or a list of
// alternatives) and "filters" (an object). The id defaults to the line number. Duplicate ids and files without
// questions are errors.
func ReadQuestions(r io.Reader) ([]Question, error) {
	var questions []Question
	seen := map[string]int{}
	err := eachLine(r, "questions", MaxFileBytes, func(n int, line []byte) error {
		var q struct {
			ID       label  `json:"_id"`
			Text     string `json:"text"`
			Relevant texts  `json:"relevant"`
			Answer   texts  `json:"answer"`
			Filters  object `json:"filters"`
		}
		if err := decode(line, &q); err != nil {
			return err
		}
		if q.ID == "" {
			q.ID = label(strconv.Itoa(n))
		}
		if err := checkID(string(q.ID)); err != nil {
			return err
		}
		if first, twice := seen[string(q.ID)]; twice {
			return fmt.Errorf("question %q is already on line %d", q.ID, first)
		}
		seen[string(q.ID)] = n
		if strings.TrimSpace(q.Text) == "" {
			return errors.New("has no text")
		}
		if len(questions) == MaxQuestions {
			return fmt.Errorf("there are more than %d questions", MaxQuestions)
		}
		questions = append(questions, Question{ID: string(q.ID), Text: q.Text, Relevant: q.Relevant, Answers: q.Answer, Filters: json.RawMessage(q.Filters)})
		return nil
	})
	if err == nil && len(questions) == 0 {
		err = errors.New("there are no questions")
	}
	return questions, err
}

// ReadJudgements reads relevance judgements (qrels), one per line. In the BEIR format, a line holds a question, a
// document and a grade, separated by tabs, and the file may start with a header line. In the TREC format, a line holds
// a question, a 0, a document and a grade. Lines without tabs are split at spaces. If a document is graded more than
// once, the last grade counts.
func ReadJudgements(r io.Reader) (Judgements, error) {
	j, n := Judgements{}, 0
	err := eachLine(r, "judgements", MaxFileBytes, func(number int, line []byte) error {
		c := columns(string(line))
		grade, err := strconv.Atoi(strings.TrimSpace(c[len(c)-1]))
		if err != nil {
			if number == 1 && len(c) >= 3 {
				return nil // the header line
			}
			return fmt.Errorf("the grade %.80q is not a whole number: a line must have question, document and grade, separated by tabs", c[len(c)-1])
		}
		var question, document string
		switch len(c) {
		case 3:
			question, document = c[0], c[1]
		case 4:
			question, document = c[0], c[2]
		default:
			return fmt.Errorf("has %d columns: it must have question, document and grade, separated by tabs", len(c))
		}
		if err := errors.Join(checkID(question), checkID(document)); err != nil {
			return err
		}
		if n++; n > MaxJudgements {
			return fmt.Errorf("there are more than %d judgements", MaxJudgements)
		}
		if j[question] == nil {
			j[question] = map[string]int{}
		}
		j[question][document] = grade
		return nil
	})
	if err == nil && len(j) == 0 {
		err = errors.New("there are no judgements")
	}
	return j, err
}

func columns(line string) []string {
	if strings.Contains(line, "\t") {
		return strings.Split(line, "\t")
	}
	return strings.Fields(line)
}

func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("has an empty id")
	case len(id) > maxID:
		return fmt.Errorf("has an id of %d bytes; the limit is %d", len(id), maxID)
	case strings.ContainsAny(id, "\t\r\n"):
		return fmt.Errorf("the id %.80q contains a tab or a line break", id)
	}
	return nil
}

// decode parses one JSON object and returns errors in plain words.
func decode(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return errors.New("is not a JSON object")
	case errors.As(err, &kind):
		return fmt.Errorf("%s has the wrong type: it must not be a JSON %s", kind.Field, kind.Value)
	case err != nil:
		return fmt.Errorf("is not a JSON object: %w", err)
	}
	return nil
}

// label is an id. JSON may represent it as a string or, in some collections, as an integer.
type label string

func (l *label) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*l = label(text)
		return nil
	}
	var number int64
	if err := json.Unmarshal(b, &number); err != nil {
		return fmt.Errorf("the id %.80s is neither a string nor a whole number", b)
	}
	*l = label(strconv.FormatInt(number, 10))
	return nil
}

type object json.RawMessage

func (o *object) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if b[0] != '{' {
		return fmt.Errorf("the filters %.80s are not a JSON object", b)
	}
	*o = object(slices.Clone(b))
	return nil
}

// texts is decoded from either a JSON string or a list of strings. Decoding drops blank strings.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	var many []string
	var one string
	switch {
	case json.Unmarshal(b, &one) == nil:
		many = []string{one}
	case json.Unmarshal(b, &many) != nil:
		return fmt.Errorf("%.80s is neither a string nor a list of strings", b)
	}
	if len(many) > maxRelevant {
		return fmt.Errorf("the list has %d strings; the limit is %d", len(many), maxRelevant)
	}
	for _, s := range many {
		if strings.TrimSpace(s) != "" {
			*t = append(*t, s)
		}
	}
	return nil
}
