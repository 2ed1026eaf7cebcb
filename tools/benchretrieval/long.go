package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/tools/internal/bench"
	"github.com/sluice/sluice/tools/internal/longdocs"
)

// Random seed for the published figures on long documents.
const longSeed = 1

// Number of top fragments to search for the correct passage.
const longTop = 5

// measureLong measures how often the top fragments contain the correct passage from a long contract or annual report.
// The baseline is BM25 over the same chunks.
func (b *measured) measureLong(ctx context.Context, s settings, out, errs io.Writer) error {
	for _, set := range []longdocs.Set{longdocs.Contracts(longSeed), longdocs.Filings(longSeed)} {
		id, plain, err := b.longStore(ctx, s, set, errs)
		if err != nil {
			return err
		}
		ways := append([]string{"BM25"}, s.modes...)
		hits, asked := map[string]map[string]int{}, map[string]int{}
		count := func(way, kind string, hit bool) {
			if hits[way] == nil {
				hits[way] = map[string]int{}
			}
			if hit {
				hits[way][kind]++
			}
		}
		for _, q := range set.Questions {
			asked[q.Kind]++
			count("BM25", q.Kind, slices.ContainsFunc(plain.search(q.Text, longTop), func(c longChunk) bool { return answers(q, c.document, c.text) }))
		}
		for _, mode := range s.modes {
			found, err := b.longAnswers(ctx, id, mode, set.Questions)
			if err != nil {
				return err
			}
			for i, q := range set.Questions {
				count(mode, q.Kind, found[i])
			}
		}
		fmt.Fprintf(out, "\n### Right passage of %s among %d fragments: %d documents, %d chunks\n\n", set.Name, longTop, len(set.Documents), len(plain.chunks))
		bench.Header(out, 1, slices.Concat([]string{"questions", "number"}, ways)...)
		writeLong(out, ways, asked, hits)
	}
	return nil
}

func writeLong(out io.Writer, ways []string, asked map[string]int, hits map[string]map[string]int) {
	total := map[string]int{}
	row := func(name string, number int, of func(way string) int) {
		fmt.Fprintf(out, "| %s | %d |", name, number)
		for _, way := range ways {
			fmt.Fprintf(out, " %.3f |", bench.Share(of(way), number))
		}
		fmt.Fprintln(out)
	}
	all := 0
	for _, kind := range slices.Sorted(maps.Keys(asked)) {
		all += asked[kind]
		row(kind, asked[kind], func(way string) int {
			total[way] += hits[way][kind]
			return hits[way][kind]
		})
	}
	row("all", all, func(way string) int { return total[way] })
}

// longStore uploads a set of long documents to a new datastore. It returns the datastore's id and its chunks.
func (b *measured) longStore(ctx context.Context, s settings, set longdocs.Set, errs io.Writer) (string, *longIndex, error) {
	made, err := b.CreateDatastore(ctx, service.NewDatastore{Name: "long " + set.Name + ", " + modelName(s), Type: s.engines[0]})
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintf(errs, "%s: uploading %d documents …\n", set.Name, len(set.Documents))
	names := map[string]string{}
	for _, d := range set.Documents {
		src, err := b.Upload(ctx, made.ID, d.Name, []byte(d.Text))
		if err != nil {
			return "", nil, fmt.Errorf("uploading %s: %w", d.Name, err)
		}
		names[src.ID] = d.Name
	}
	if err := b.Settled(ctx, made.ID); err != nil {
		return "", nil, err
	}
	plain := &longIndex{counts: map[string]map[int]float64{}}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		before := len(plain.chunks)
		if err := b.Chunks(ctx, id, func(c service.Chunk) error { plain.add(names[id], c.Text); return nil }); err != nil {
			return "", nil, err
		}
		if len(plain.chunks) == before {
			return "", nil, fmt.Errorf("%s has no chunks", names[id])
		}
	}
	return made.ID, plain, nil
}

// longAnswers reports for each question whether a top fragment contains the correct passage.
func (b *measured) longAnswers(ctx context.Context, id, mode string, questions []longdocs.Question) ([]bool, error) {
	found := make([]bool, len(questions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, q := range questions {
		group.Go(func() error {
			fragments, err := b.Query(ctx, id, service.Query{Text: q.Text, TopK: longTop, Mode: mode})
			if err != nil {
				return fmt.Errorf("question %q: %w", q.Text, err)
			}
			found[i] = slices.ContainsFunc(fragments, func(f service.Fragment) bool { return answers(q, f.DatasourceName, f.Text) })
			return nil
		})
	}
	return found, group.Wait()
}

var gap = regexp.MustCompile(`[\s|]+`)

// answers reports whether `text` from `document` contains the question's answer. A numeric answer must not be part of a
// longer number.
func answers(q longdocs.Question, document, text string) bool {
	if document != q.Document {
		return false
	}
	text, answer := gap.ReplaceAllString(text, " "), gap.ReplaceAllString(q.Answer, " ")
	for from := 0; ; {
		at := strings.Index(text[from:], answer)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(answer)
		if (start == 0 || !inNumber(text[start-1])) && (end == len(text) || !inNumber(text[end])) {
			return true
		}
		from = start + 1
	}
}

func inNumber(c byte) bool { return c >= '0' && c <= '9' || c == ',' }

// longIndex is a BM25 index of chunks.
type longIndex struct {
	chunks []longChunk
	counts map[string]map[int]float64 // by term and chunk
	length float64
}

type longChunk struct {
	document, text string
	length         float64
}

func (x *longIndex) add(document, text string) {
	terms := analysis.Terms(text, analysis.English)
	for _, t := range terms {
		if x.counts[t] == nil {
			x.counts[t] = map[int]float64{}
		}
		x.counts[t][len(x.chunks)]++
	}
	x.chunks = append(x.chunks, longChunk{document, text, float64(len(terms))})
	x.length += float64(len(terms))
}

// search returns the n best chunks.
func (x *longIndex) search(query string, n int) []longChunk {
	rows := float64(len(x.chunks))
	scores := make([]float64, len(x.chunks))
	for _, t := range analysis.Query(query, []analysis.Language{analysis.English}) {
		having := x.counts[t.Name]
		for at, count := range having {
			scores[at] += bm25.Weight(rows, float64(len(having))) * bm25.Saturated(count, bm25.Norm(x.chunks[at].length, x.length/rows))
		}
	}
	order := make([]int, len(x.chunks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	var best []longChunk
	for _, at := range order[:min(n, len(order))] {
		best = append(best, x.chunks[at])
	}
	return best
}
