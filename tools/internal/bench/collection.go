package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// Collection is a collection in BEIR format.
type Collection struct {
	Name      string
	Documents []eval.Document
	Questions []eval.Question // judged questions only
	Relevant  eval.Judgements
}

// Collections returns the names of the requested collections in a folder, in the order of `wanted`. If `wanted` is
// empty, it returns all of them, smallest first.
func Collections(folder string, wanted []string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("looking for collections (BENCH_IR names their folder): %w", err)
	}
	var found []string
	size := map[string]int64{}
	for _, e := range entries {
		_, err := os.Stat(filepath.Join(folder, e.Name(), "qrels.tsv"))
		corpus, errCorpus := os.Stat(filepath.Join(folder, e.Name(), "corpus.jsonl"))
		if err == nil && errCorpus == nil {
			found, size[e.Name()] = append(found, e.Name()), corpus.Size()
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(size[a], size[b]), strings.Compare(a, b)) })
	if len(wanted) == 0 {
		return found, nil
	}
	for _, name := range wanted {
		if !slices.Contains(found, name) {
			return nil, fmt.Errorf("there is no collection %q in %s", name, folder)
		}
	}
	return wanted, nil
}

// LoadCollection reads a collection. It omits questions without a relevant document, which can't be scored.
func LoadCollection(folder, name string) (Collection, error) {
	c := Collection{Name: name}
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
			return eval.ReadDocuments(f, func(d eval.Document) error { c.Documents = append(c.Documents, d); return nil })
		}),
		open("queries.jsonl", func(f *os.File) (err error) { c.Questions, err = eval.ReadQuestions(f); return err }),
		open("qrels.tsv", func(f *os.File) (err error) { c.Relevant, err = eval.ReadJudgements(f); return err }),
	)
	if err != nil {
		return c, err
	}
	c.Questions = slices.DeleteFunc(c.Questions, func(q eval.Question) bool { return len(c.Relevant.Relevant(q.ID)) == 0 })
	return c, nil
}

// Maximum length of a name in the service, in characters.
const maxName = 500

// NameOf returns a document's title, or its id if it has no title. Titles are truncated to maxName characters.
func NameOf(d eval.Document) string {
	name := []rune(cmp.Or(strings.TrimSpace(d.Title), d.ID))
	return string(name[:min(len(name), maxName)])
}

// Uploads returns the collection's documents as a user would upload them. If a document has no text, its title is the
// text. If it has neither, it is omitted.
func (c Collection) Uploads() []service.Document {
	var out []service.Document
	for _, d := range c.Documents {
		text := d.Text
		if strings.TrimSpace(text) == "" {
			text = d.Title
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, service.Document{CustomID: d.ID, Name: NameOf(d), Text: text})
		}
	}
	return out
}

// Maximum number of documents and bytes of text per request in Fill.
const (
	batchDocuments = 50
	batchBytes     = 4 << 20
)

// Fill uploads documents to a datastore and returns once all of them are searchable or have failed.
func (s *Service) Fill(ctx context.Context, datastoreID string, documents iter.Seq[service.Document]) error {
	var batch []service.Document
	size := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := s.Upsert(ctx, datastoreID, batch)
		batch, size = batch[:0], 0
		return err
	}
	for d := range documents {
		if len(batch) == batchDocuments || size+len(d.Text) > batchBytes {
			if err := send(); err != nil {
				return err
			}
		}
		batch, size = append(batch, d), size+len(d.Text)
	}
	if err := send(); err != nil {
		return err
	}
	return s.Settled(ctx, datastoreID)
}
