package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
)

// passageSets are the collections of long documents, whose answers are passages.
var passageSets = []string{"chroma-chunk", "covidqa"}

// english are the collections that the means of English are of.
var english = []string{"cacm", "cranfield", "med", "nfcorpus", "npl", "scifact-part", "squad-reddit", "time", "xquad-en"}

// collection is a collection in BEIR's form.
type collection struct {
	name      string
	documents []eval.Document
	questions []eval.Question // those that are judged
	qrels     eval.Judgements
	bm25      float64 // nDCG@10 of BM25; 0: not known
}

// names lists the collections that are asked for, in that order, else all of the folder, the smallest first.
func names(s settings) ([]string, error) {
	entries, err := os.ReadDir(s.data)
	if err != nil {
		return nil, fmt.Errorf("looking for collections (BENCH_IR names their folder): %w", err)
	}
	var found []string
	size := map[string]int64{}
	for _, e := range entries {
		_, err := os.Stat(filepath.Join(s.data, e.Name(), "qrels.tsv"))
		corpus, errCorpus := os.Stat(filepath.Join(s.data, e.Name(), "corpus.jsonl"))
		if err == nil && errCorpus == nil {
			found, size[e.Name()] = append(found, e.Name()), corpus.Size()
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(size[a], size[b]), strings.Compare(a, b)) })
	if len(s.collections) == 0 {
		return found, nil
	}
	for _, name := range s.collections {
		if !slices.Contains(found, name) {
			return nil, fmt.Errorf("there is no collection %q in %s", name, s.data)
		}
	}
	return s.collections, nil
}

// baselines reads nDCG@10 of BM25 by collection, as far as the folder has it.
func baselines(folder string) (map[string]float64, error) {
	figures := map[string]float64{}
	data, err := os.ReadFile(filepath.Join(folder, "bm25.json"))
	if errors.Is(err, os.ErrNotExist) {
		return figures, nil
	}
	if err != nil {
		return nil, err
	}
	var read map[string]map[string]any
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("reading bm25.json: %w", err)
	}
	for name, values := range read {
		if f, ok := values["nDCG@10"].(float64); ok {
			figures[name] = f
		}
	}
	return figures, nil
}

// load reads a collection; the questions without a relevant document are left out, for they are not scored.
func load(folder, name string) (collection, error) {
	c := collection{name: name}
	open := func(file string, read func(*os.File) error) error {
		f, err := os.Open(filepath.Join(folder, name, file))
		if err != nil {
			return err
		}
		defer f.Close()
		if err := read(f); err != nil {
			return fmt.Errorf("%s/%s: %w", name, file, err)
		}
		return nil
	}
	err := errors.Join(
		open("corpus.jsonl", func(f *os.File) error {
			return eval.ReadDocuments(f, func(d eval.Document) error { c.documents = append(c.documents, d); return nil })
		}),
		open("queries.jsonl", func(f *os.File) (err error) { c.questions, err = eval.ReadQuestions(f); return err }),
		open("qrels.tsv", func(f *os.File) (err error) { c.qrels, err = eval.ReadJudgements(f); return err }),
	)
	if err != nil {
		return c, err
	}
	c.questions = slices.DeleteFunc(c.questions, func(q eval.Question) bool { return len(c.qrels.Relevant(q.ID)) == 0 })
	return c, nil
}
