package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/pkg/loadtest"
)

const (
	benchSources = 200     // maximum number of datasources per datastore from which questions are generated
	benchWords   = 5       // words per question
	benchFiles   = 10_000  // maximum number of files to read from a folder
	benchBytes   = 1 << 30 // maximum total size of the files in bytes; they are kept in memory
)

var errDone = errors.New("enough")

// benchQuestions reads questions from the file or, if none is given, builds them from consecutive words in the
// datastores' content.
func benchQuestions(ctx context.Context, sluice *service.Service, file string, datastores []string) ([]string, error) {
	var texts []string
	if file != "" {
		err := openInput(file, func(r io.Reader) error {
			questions, err := eval.ReadQuestions(r)
			for _, q := range questions {
				texts = append(texts, q.Text)
			}
			return err
		})
		return texts, err
	}
	random := rand.New(rand.NewPCG(1, 2)) // fixed seeds, so every run asks the same questions
	for _, id := range datastores {
		seen := 0
		err := sluice.Datasources(ctx, id, "synched", func(d service.Datasource) error {
			if seen++; seen > benchSources {
				return errDone
			}
			err := sluice.Chunks(ctx, d.ID, func(c service.Chunk) error {
				if words := strings.Fields(c.Text); len(words) > 0 {
					from := random.IntN(max(1, len(words)-benchWords))
					texts = append(texts, strings.Join(words[from:min(len(words), from+benchWords)], " "))
				}
				return errDone
			})
			if errors.Is(err, errDone) {
				return nil
			}
			return err
		})
		if err != nil && !errors.Is(err, errDone) {
			return nil, fmt.Errorf("generating questions from datastore %q: %w", id, err)
		}
	}
	if len(texts) == 0 {
		return nil, errors.New("the datastore has no content to generate questions from: set --queries to a file with questions")
	}
	return texts, nil
}

// generateItems returns a function that generates a different text for each n. Texts are about `size` bytes long, with
// sentences of common words and some numbers.
func generateItems(size int) func(n int) loadtest.Item {
	words := strings.Fields(`the a of to and in for with on by from at is was are has more than most each such only also new first other
		report order price team plan market water energy house school river paper machine network contract patient engine garden history
		answer question report system service customer product change result value number minute storage filter signal bridge forest island
		delivery guarantee warranty holiday salary library theory language culture weather season harvest`)
	return func(n int) loadtest.Item {
		random := rand.New(rand.NewPCG(uint64(n), 7))
		var b strings.Builder
		fmt.Fprintf(&b, "Document %d.", n)
		for b.Len() < size {
			if random.IntN(12) == 0 {
				fmt.Fprintf(&b, " %d.", random.IntN(100_000))
				continue
			}
			b.WriteString(" " + words[random.IntN(len(words))])
		}
		return loadtest.Item{Content: []byte(b.String()[:size])}
	}
}

// filesOf reads all files below a folder except hidden ones. The returned function returns the n-th file, wrapping
// around after the last one.
func filesOf(dir string) (func(n int) loadtest.Item, error) {
	var items []loadtest.Item
	total := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".") && path != dir && d.IsDir():
			return filepath.SkipDir
		case strings.HasPrefix(d.Name(), ".") || !d.Type().IsRegular():
			return nil
		case len(items) == benchFiles:
			return fmt.Errorf("the folder has more than %d files", benchFiles)
		}
		content, err := os.ReadFile(path)
		if total += len(content); err == nil && total > benchBytes {
			err = fmt.Errorf("the files add up to more than %d MiB", benchBytes>>20)
		}
		items = append(items, loadtest.Item{FileName: d.Name(), Content: content})
		return err
	})
	if err == nil && len(items) == 0 {
		err = errors.New("the folder has no files")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the files of %q: %w", dir, err)
	}
	return func(n int) loadtest.Item { return items[n%len(items)] }, nil
}
