package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Files with the answers' positions, as published by the collections' authors.
const (
	chromaAnswers = "questions_df.csv" // brandonstarxel/chunking_evaluation, general_evaluation_data
	covidAnswers  = "COVID-QA.json"    // deepset-ai/COVID-QA, data/question-answering/200423_covidQA.json
)

// passages maps question ids to the answers' byte ranges in the documents.
type passages map[string][]eval.Answer

// Minimum length in bytes of an answer whose repetitions in the document also count as answers. A report may contain
// the same paragraph several times, and each copy answers the question. A shorter answer, such as a name or number, may
// recur in another context.
const minRepeatedAnswer = 60

// readAnswers reads the positions of the answers to a collection's questions.
func readAnswers(folder string, c bench.Collection) (passages, error) {
	texts := map[string]string{}
	for _, d := range c.Documents {
		texts[d.ID] = d.Text
	}
	var found passages
	var err error
	switch c.Name {
	case "chroma-chunk":
		found, err = chromaPassages(filepath.Join(folder, chromaAnswers), c, texts)
	case "covidqa":
		found, err = covidPassages(filepath.Join(folder, covidAnswers), c, texts)
	default:
		return nil, fmt.Errorf("there is no file with the answers of %s", c.Name)
	}
	if err != nil {
		return nil, err
	}
	for _, q := range c.Questions {
		if len(found[q.ID]) == 0 {
			return nil, fmt.Errorf("question %s of %s has no answer location", q.ID, c.Name)
		}
	}
	return found, nil
}

// chromaPassages reads the questions from Chroma's chunking study, a CSV table with the question, the references and
// the document id. The references are a JSON list of passages with their texts and start offsets in the document. The
// questions have no ids, so their texts identify them.
func chromaPassages(path string, c bench.Collection, texts map[string]string) (passages, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	ids := map[string]string{}
	for _, q := range c.Questions {
		ids[q.Text] = q.ID
	}
	found := passages{}
	for n, row := range rows[min(1, len(rows)):] {
		if len(row) < 3 {
			return nil, fmt.Errorf("%s, row %d: it has %d columns; they must be question, references and document", path, n+2, len(row))
		}
		var references []struct {
			Content string `json:"content"`
			Start   int    `json:"start_index"`
		}
		if err := json.Unmarshal([]byte(row[1]), &references); err != nil {
			return nil, fmt.Errorf("%s, row %d: reading the references: %w", path, n+2, err)
		}
		id, asked := ids[row[0]]
		if !asked {
			continue
		}
		for _, ref := range references {
			if err := found.add(id, row[2], texts, ref.Content, ref.Start); err != nil {
				return nil, fmt.Errorf("%s, row %d: %w", path, n+2, err)
			}
		}
	}
	return found, nil
}

// covidPassages reads the answers in COVID-QA, which is in SQuAD format.
func covidPassages(path string, c bench.Collection, texts map[string]string) (passages, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Data []struct {
			Paragraphs []struct {
				QAs []struct {
					ID      json.Number
					Answers []struct {
						Text  string `json:"text"`
						Start int    `json:"answer_start"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	found := passages{}
	for _, d := range file.Data {
		for _, p := range d.Paragraphs {
			for _, q := range p.QAs {
				id := q.ID.String()
				for document := range c.Relevant.Relevant(id) {
					for _, a := range q.Answers {
						if err := found.add(id, document, texts, a.Text, a.Start); err != nil {
							return nil, fmt.Errorf("%s, question %s: %w", path, id, err)
						}
					}
				}
			}
		}
	}
	return found, nil
}

// add records an answer at its occurrence nearest to the stated character position. If it has at least
// minRepeatedAnswer bytes, add records its other occurrences in the document as well.
func (p passages) add(question, document string, texts map[string]string, answer string, characters int) error {
	text := texts[document]
	if answer == "" {
		return errors.New("an answer is empty")
	}
	at, ok := nearest(text, answer, byteOffset(text, characters))
	if !ok {
		return fmt.Errorf("document %q does not contain the answer %.80q", document, answer)
	}
	places := []eval.Position{{Document: document, Start: at}}
	for from := 0; len(answer) >= minRepeatedAnswer; {
		i := strings.Index(text[from:], answer)
		if i < 0 {
			break
		}
		if i += from; i != at {
			places = append(places, eval.Position{Document: document, Start: i})
		}
		from = i + len(answer)
	}
	p[question] = append(p[question], eval.Answer{Length: len(answer), Places: places})
	return nil
}

// byteOffset converts an offset in characters to bytes.
func byteOffset(text string, characters int) int {
	at := 0
	for range characters {
		_, size := utf8.DecodeRuneInString(text[at:])
		if size == 0 {
			break
		}
		at += size
	}
	return at
}

// nearest returns the offset of the occurrence of `part` that starts nearest to `place`.
func nearest(text, part string, place int) (at int, found bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return at, found
		}
		if i += from; !found || abs(i-place) < abs(at-place) {
			at, found = i, true
		}
		from = i + 1
	}
}

func abs(n int) int { return max(n, -n) }
