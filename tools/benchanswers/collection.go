package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// collection is a collection in BEIR's form, with the answers to its questions.
type collection struct {
	name      string
	documents []service.Document
	questions []eval.Question // those that have answers and a relevant document
	relevant  eval.Judgements
	gold      map[string][]string // the answers to each question, one of which is enough
}

// names lists the collections that are asked for, else all that have documents and answers.
func names(s settings) ([]string, error) {
	if len(s.collections) > 0 {
		return s.collections, nil
	}
	files, err := filepath.Glob(filepath.Join(s.answers, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		if _, err := os.Stat(filepath.Join(s.data, name, "corpus.jsonl")); err == nil {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no file of %s bears the name of a collection in %s", s.answers, s.data)
	}
	slices.Sort(out)
	return out, nil
}

// load reads a collection.
func load(s settings, name string) (collection, error) {
	c := collection{name: name}
	open := func(path string, read func(*os.File) error) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := read(f); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		return nil
	}
	folder := filepath.Join(s.data, name)
	err := errors.Join(
		open(filepath.Join(folder, "corpus.jsonl"), func(f *os.File) error {
			return eval.ReadDocuments(f, func(d eval.Document) error {
				if strings.TrimSpace(d.Text) != "" {
					c.documents = append(c.documents, service.Document{CustomID: d.ID, Name: or(strings.TrimSpace(d.Title), d.ID), Text: d.Text})
				}
				return nil
			})
		}),
		open(filepath.Join(folder, "queries.jsonl"), func(f *os.File) (err error) { c.questions, err = eval.ReadQuestions(f); return err }),
		open(filepath.Join(folder, "qrels.tsv"), func(f *os.File) (err error) { c.relevant, err = eval.ReadJudgements(f); return err }),
		open(filepath.Join(s.answers, name+".json"), func(f *os.File) (err error) { c.gold, err = answers(f); return err }),
	)
	if err != nil {
		return c, err
	}
	c.questions = slices.DeleteFunc(c.questions, func(q eval.Question) bool {
		return len(c.gold[q.ID]) == 0 || len(c.relevant.Relevant(q.ID)) == 0
	})
	if s.questions > 0 && len(c.questions) > s.questions {
		c.questions = c.questions[:s.questions]
	}
	return c, nil
}

// answers reads the answers to questions in the form of SQuAD.
func answers(f *os.File) (map[string][]string, error) {
	var file struct {
		Data []struct {
			Paragraphs []struct {
				QAs []struct {
					ID      any
					Answers []struct{ Text string }
				}
			}
		}
	}
	read := json.NewDecoder(f)
	read.UseNumber()
	if err := read.Decode(&file); err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, d := range file.Data {
		for _, p := range d.Paragraphs {
			for _, q := range p.QAs {
				id := fmt.Sprint(q.ID)
				for _, a := range q.Answers {
					if strings.TrimSpace(a.Text) != "" {
						out[id] = append(out[id], a.Text)
					}
				}
			}
		}
	}
	return out, nil
}

// part is what of a collection a datastore holds.
type part struct {
	name string
	has  func(i, n int) bool // whether it has document i of n
}

// The parts: all documents; every second one, so that what is left out has neighbours on the same subject; and the first
// half, so that what is left out is, where a collection goes subject by subject, of other subjects.
var parts = []part{
	{"all", func(int, int) bool { return true }},
	{"every second document", func(i, _ int) bool { return i%2 == 0 }},
	{"first half", func(i, n int) bool { return i < n/2 }},
}

// of returns the part's documents and the questions about it: of a part that is not all, those that nothing in it answers.
func (p part) of(c collection) (documents []service.Document, questions []eval.Question) {
	in := map[string]bool{}
	for i, d := range c.documents {
		if p.has(i, len(c.documents)) {
			documents, in[d.CustomID] = append(documents, d), true
		}
	}
	if len(documents) == len(c.documents) {
		return documents, c.questions
	}
	for _, q := range c.questions {
		answered := false
		for id := range c.relevant.Relevant(q.ID) {
			answered = answered || in[id]
		}
		if !answered {
			questions = append(questions, q)
		}
	}
	return documents, questions
}
