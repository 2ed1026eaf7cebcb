// Package compare asks a datastore's questions in several modes of retrieval and says how good each is, and how sure it is
// that one is better than another.
package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// Mode is a way to retrieve.
type Mode string

// The modes. Hybrid is what a query gets that asks for nothing else, where no reranker is configured.
const (
	Lexical  Mode = "lexical"
	Dense    Mode = "dense"
	Hybrid   Mode = "hybrid"
	Reranked Mode = "reranked" // hybrid, and what it found put in order by the configured reranker
)

// Modes are all of them.
func Modes() []Mode { return []Mode{Lexical, Dense, Hybrid, Reranked} }

func (m Mode) query(text string, topK int) service.Query {
	rerank := m == Reranked
	q := service.Query{Text: text, TopK: topK, Mode: string(m), Rerank: &rerank}
	if rerank {
		q.Mode = string(Hybrid)
	}
	return q
}

// Searcher is what is asked.
type Searcher interface {
	Query(ctx context.Context, datastoreID string, q service.Query) ([]service.Fragment, error)
}

// Case is a question with what is right.
type Case struct {
	Question eval.Question
	// Documents are the relevant documents and their grades, above 0. Empty: documents are not judged.
	Documents eval.Grades
	// Of names the document that a datasource is, by the datasource's id. A datasource that is missing is not relevant.
	Of map[string]string
}

// Bounds.
const (
	MaxK        = 100 // fragments of one answer at most
	perDocument = 10  // fragments asked for in place of one document: a document may have several
)

// Options say how it is asked.
type Options struct {
	DatastoreID string
	Modes       []Mode
	K           int                    // places that count, 1 to MaxK
	Concurrency int                    // questions asked at once, at least 1
	Lenient     bool                   // a mode that the service refuses is left out, unless all are
	Progress    func(asked, total int) // told after every question, unless it is nil; never by two at once
}

// Run asks every case in every mode. Modes that the service refuses are named in the report when Lenient, else they are
// an error. When ctx ends, it returns ctx's error.
func Run(ctx context.Context, s Searcher, cases []Case, o Options) (Report, error) {
	if len(cases) == 0 {
		return Report{}, errors.New("no question says what is right: there are neither judgements, nor relevant or answer in its line")
	}
	topK := o.K
	if slices.ContainsFunc(cases, func(c Case) bool { return len(c.Documents) > 0 }) {
		topK = min(MaxK, perDocument*o.K)
	}
	report := Report{K: o.K, Questions: len(cases)}
	found := map[Mode][]outcome{}
	var told sync.Mutex
	asked, total := 0, len(cases)*len(o.Modes)
	step := func() {
		told.Lock()
		defer told.Unlock()
		if asked++; o.Progress != nil {
			o.Progress(asked, total)
		}
	}
	var modes []Mode
	for _, mode := range o.Modes {
		answers, err := askAll(ctx, s, cases, mode, topK, o, step)
		var refused *client.Error
		switch {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case o.Lenient && errors.As(err, &refused) && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusConflict):
			report.LeftOut = append(report.LeftOut, LeftOut{mode, refused.Message})
			asked-- // the question that was refused
			total -= len(cases)
		case err != nil:
			return report, fmt.Errorf("asking in mode %s: %w", mode, err)
		default:
			modes, found[mode] = append(modes, mode), answers
		}
	}
	if len(modes) == 0 {
		return report, fmt.Errorf("the service refuses every mode: %s", report.LeftOut[0].Reason)
	}
	report.fill(cases, modes, found)
	return report, nil
}

// askAll puts all questions in a mode: the first alone, because a mode that is refused is refused for all.
func askAll(ctx context.Context, s Searcher, cases []Case, mode Mode, topK int, o Options, step func()) ([]outcome, error) {
	answers := make([]outcome, len(cases))
	ask := func(ctx context.Context, i int) error {
		found, err := s.Query(ctx, o.DatastoreID, mode.query(cases[i].Question.Text, topK))
		step()
		if err != nil {
			return fmt.Errorf("question %s: %w", cases[i].Question.ID, err)
		}
		answers[i] = cases[i].judge(found, o.K)
		return nil
	}
	if err := ask(ctx, 0); err != nil {
		return nil, err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Concurrency))
	for i := 1; i < len(cases) && gctx.Err() == nil; i++ {
		group.Go(func() error { return ask(gctx, i) })
	}
	return answers, group.Wait()
}

// outcome is what counts of an answer: the fragments themselves, of all questions, would fill the memory.
type outcome struct{ documents, passages []string } // the first of each ranking, those of cases that are judged by it

// judge takes of what was found the first k of each ranking.
func (c Case) judge(found []service.Fragment, k int) outcome {
	var o outcome
	if len(c.Documents) > 0 {
		ranking := c.documents(found)
		o.documents = ranking[:min(k, len(ranking))]
	}
	if len(c.Question.Answers) > 0 {
		o.passages = c.passages(found[:min(k, len(found))])
	}
	return o
}

// documents is the ranking of documents that fragments make, each at its best fragment's place.
func (c Case) documents(found []service.Fragment) []string {
	var ranking []string
	seen := map[string]bool{}
	for _, f := range found {
		document, known := c.Of[f.DatasourceID]
		if !known {
			document = "\x00" + f.DatasourceID // no document of the judgements has such a name
		}
		if !seen[document] {
			seen[document] = true
			ranking = append(ranking, document)
		}
	}
	return ranking
}

// answered is the only relevant item of a ranking of passages.
const answered = "answered"

// passages is the ranking that fragments make of which the first that holds an answer is relevant.
func (c Case) passages(found []service.Fragment) []string {
	ranking := make([]string, len(found))
	has := false
	for i, f := range found {
		ranking[i] = "\x00" + f.ChunkID
		if !has && eval.HoldsAny(f.Text, c.Question.Answers) {
			has = true
			ranking[i] = answered
		}
	}
	return ranking
}

// ParseModes reads modes parted by commas.
func ParseModes(text string) ([]Mode, error) {
	var modes []Mode
	for _, name := range strings.Split(text, ",") {
		mode := Mode(strings.TrimSpace(name))
		if !slices.Contains(Modes(), mode) {
			return nil, fmt.Errorf("%q is no mode: take of lexical, dense, hybrid and reranked, parted by commas", name)
		}
		if !slices.Contains(modes, mode) {
			modes = append(modes, mode)
		}
	}
	return modes, nil
}
