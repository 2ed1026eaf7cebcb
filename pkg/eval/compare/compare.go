// Package compare runs questions against a datastore in several retrieval modes, measures the quality of each mode and
// reports whether one is significantly better than another.
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

// Mode is a retrieval mode.
type Mode string

// Retrieval modes. Hybrid is the default for queries if no reranker is configured.
const (
	Lexical  Mode = "lexical"
	Dense    Mode = "dense"
	Hybrid   Mode = "hybrid"
	Reranked Mode = "reranked" // hybrid, reranked by the configured reranker
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{Lexical, Dense, Hybrid, Reranked} }

func (m Mode) query(c Case, topK int) service.Query {
	rerank := m == Reranked
	q := service.Query{Text: c.Question.Text, TopK: topK, Mode: string(m), Rerank: &rerank, Filters: c.Filters()}
	if rerank {
		q.Mode = string(Hybrid)
	}
	return q
}

// Searcher runs queries.
type Searcher interface {
	Query(ctx context.Context, datastoreID string, q service.Query) ([]service.Fragment, error)
}

// Case is a question with its expected results.
type Case struct {
	Question eval.Question
	// Documents maps each relevant document to its grade, which is above 0. It is empty if documents are not judged.
	Documents eval.Grades
	// Of maps datasource ids to keys of Documents. Any other datasource is irrelevant.
	Of map[string]string
}

// Filters returns the filters for the question's query, or nil if it has none.
func (c Case) Filters() *service.Filters {
	if c.Question.Filters == nil {
		return nil
	}
	return &service.Filters{JSON: c.Question.Filters}
}

// TopK returns how many fragments to request in order to get k documents or passages. For k documents, this is more
// than k, because a document may have several fragments.
func (c Case) TopK(k int) int {
	if len(c.Documents) > 0 {
		return min(MaxK, perDocument*k)
	}
	return k
}

// Hits reports whether the search results meet two conditions: the first k documents include a relevant document, and
// the first k fragments include one that contains an answer. If the case has no relevant documents, only the second
// condition applies. If it has no answers, only the first does.
func (c Case) Hits(found []service.Fragment, k int) bool {
	r := c.rank(found, k)
	return (len(c.Documents) == 0 || eval.Recall(r.documents, c.Documents, k) > 0) &&
		(len(c.Question.Answers) == 0 || slices.Contains(r.passages, answered))
}

// Limits on a comparison.
const (
	MaxK        = 100 // maximum number of fragments per response
	perDocument = 10  // fragments to request per document, because a document may have several
)

// Options configure a comparison.
type Options struct {
	DatastoreID  string
	Modes        []Mode
	K            int                    // rank cutoff, 1 to MaxK
	Concurrency  int                    // simultaneous questions, at least 1
	SkipRejected bool                   // skip a mode that the service rejects, unless it rejects all
	Progress     func(asked, total int) // called after each question, never concurrently; may be nil
}

// Run runs all cases in all modes. If the service rejects a mode, Run fails, unless o.SkipRejected is set. In that
// case, it lists the mode in the report as skipped, and it fails only if the service rejects every mode. When ctx is
// done, Run returns ctx's error.
func Run(ctx context.Context, s Searcher, cases []Case, o Options) (Report, error) {
	if len(cases) == 0 {
		return Report{}, errors.New("no question has an expected result: add judgements, or give each question a \"relevant\" or \"answer\" field")
	}
	topK := o.K
	if slices.ContainsFunc(cases, func(c Case) bool { return len(c.Documents) > 0 }) {
		topK = min(MaxK, perDocument*o.K)
	}
	report := Report{K: o.K, Questions: len(cases)}
	found := map[Mode][]rankings{}
	var progress sync.Mutex
	asked, total := 0, len(cases)*len(o.Modes)
	step := func() {
		progress.Lock()
		defer progress.Unlock()
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
		case o.SkipRejected && errors.As(err, &refused) && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusConflict):
			report.Skipped = append(report.Skipped, SkippedMode{mode, refused.Message})
			asked-- // don't count the rejected question
			total -= len(cases)
		case err != nil:
			return report, fmt.Errorf("asking in mode %s: %w", mode, err)
		default:
			modes, found[mode] = append(modes, mode), answers
		}
	}
	if len(modes) == 0 {
		return report, fmt.Errorf("the service rejected every mode: %s", report.Skipped[0].Reason)
	}
	report.fill(cases, modes, found)
	return report, nil
}

// askAll asks every case's question in one mode and returns the rankings in the order of the cases. It asks the first
// question alone, because a service that rejects the mode rejects every question.
func askAll(ctx context.Context, s Searcher, cases []Case, mode Mode, topK int, o Options, step func()) ([]rankings, error) {
	answers := make([]rankings, len(cases))
	ask := func(ctx context.Context, i int) error {
		found, err := s.Query(ctx, o.DatastoreID, mode.query(cases[i], topK))
		step()
		if err != nil {
			return fmt.Errorf("question %s: %w", cases[i].Question.ID, err)
		}
		answers[i] = cases[i].rank(found, o.K)
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

// rankings holds only the part of a question's search results that is needed for scoring. Keeping all questions'
// fragments would take too much memory.
type rankings struct{ documents, passages []string } // first items in each ranking; nil if the case has no judgements for it

// rank returns the first k documents and the first k passages of the results.
func (c Case) rank(found []service.Fragment, k int) rankings {
	var o rankings
	if len(c.Documents) > 0 {
		ranking := c.documents(found)
		o.documents = ranking[:min(k, len(ranking))]
	}
	if len(c.Question.Answers) > 0 {
		o.passages = c.passages(found[:min(k, len(found))])
	}
	return o
}

// documents returns the documents that the fragments belong to. Each document has the rank of its best fragment.
func (c Case) documents(found []service.Fragment) []string {
	var ranking []string
	seen := map[string]bool{}
	for _, f := range found {
		document, known := c.Of[f.DatasourceID]
		if !known {
			document = "\x00" + f.DatasourceID // not the name of any judged document
		}
		if !seen[document] {
			seen[document] = true
			ranking = append(ranking, document)
		}
	}
	return ranking
}

// answered is an item in the rankings returned by Case.passages. It stands for the first fragment that contains an
// answer and is the only relevant item in a ranking.
const answered = "answered"

// passages returns a ranking with one item per fragment. The item for the first fragment that contains an answer is
// `answered`. All other items are irrelevant.
func (c Case) passages(found []service.Fragment) []string {
	ranking := make([]string, len(found))
	has := false
	for i, f := range found {
		ranking[i] = "\x00" + f.ChunkID
		if !has && eval.ContainsAnyAnswer(f.Text, c.Question.Answers) {
			has = true
			ranking[i] = answered
		}
	}
	return ranking
}

// ParseModes parses a comma-separated list of modes.
func ParseModes(text string) ([]Mode, error) {
	var modes []Mode
	for _, name := range strings.Split(text, ",") {
		mode := Mode(strings.TrimSpace(name))
		if !slices.Contains(Modes(), mode) {
			return nil, fmt.Errorf("%q is not a mode; use lexical, dense, hybrid or reranked, separated by commas", name)
		}
		if !slices.Contains(modes, mode) {
			modes = append(modes, mode)
		}
	}
	return modes, nil
}
