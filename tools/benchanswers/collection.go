package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// collection is a document collection and the gold answers to its questions. Questions without a gold answer are
// omitted.
type collection struct {
	bench.Collection
	documents []service.Document
	gold      map[string][]string // by question; a right answer contains at least one
}

// names returns the requested collections or, by default, all collections that have documents and answers.
func names(s settings) ([]string, error) {
	found, err := bench.Collections(s.data, s.collections)
	if err != nil || len(s.collections) > 0 {
		return found, err
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		_, err := os.Stat(filepath.Join(s.answers, name+".json"))
		return err != nil
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("no file in %s has the name of a collection in %s", s.answers, s.data)
	}
	slices.Sort(found)
	return found, nil
}

// load reads a collection and its gold answers.
func load(s settings, name string) (c collection, err error) {
	if c.Collection, err = bench.LoadCollection(s.data, name); err != nil {
		return c, err
	}
	c.documents = c.Uploads()
	path := filepath.Join(s.answers, name+".json")
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	if c.gold, err = answers(f); err != nil {
		return c, fmt.Errorf("reading %s: %w", path, err)
	}
	c.Questions = slices.DeleteFunc(c.Questions, func(q eval.Question) bool { return len(c.gold[q.ID]) == 0 })
	if s.questions > 0 && len(c.Questions) > s.questions {
		c.Questions = c.Questions[:s.questions]
	}
	return c, nil
}

// answers reads gold answers in SQuAD format.
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

// part is a subset of a collection's documents.
type part struct {
	name string
	has  func(i, n int) bool // whether the part contains document i out of n
}

// parts lists the subsets to measure for each collection. If every second document is left out, the remaining documents
// still cover most subjects. If a collection is ordered by subject, leaving out its second half removes whole subjects.
var parts = []part{
	{"all", func(int, int) bool { return true }},
	{"every second document", func(i, _ int) bool { return i%2 == 0 }},
	{"first half", func(i, n int) bool { return i < n/2 }},
}

// selectFrom returns the part's documents and the questions to ask about them. If the part is the whole collection, it
// returns all questions, and otherwise only questions that the part's documents don't answer.
func (p part) selectFrom(c collection) (documents []service.Document, questions []eval.Question) {
	in := map[string]bool{}
	for i, d := range c.documents {
		if p.has(i, len(c.documents)) {
			documents, in[d.CustomID] = append(documents, d), true
		}
	}
	if len(documents) == len(c.documents) {
		return documents, c.Questions
	}
	for _, q := range c.Questions {
		answered := false
		for id := range c.Relevant.Relevant(q.ID) {
			answered = answered || in[id]
		}
		if !answered {
			questions = append(questions, q)
		}
	}
	return documents, questions
}
