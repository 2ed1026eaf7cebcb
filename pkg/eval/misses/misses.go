// Package misses explains why a search does not return a question's expected results. It follows a result from the
// document to the ranking and finds the step at which it was lost.
package misses

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/service"
)

// Limits on the work done to explain one miss.
const (
	maxDatasources = 5        // expected datasources to examine
	maxChunks      = 20_000   // chunks to read from these datasources
	maxBytes       = 32 << 20 // bytes of text to read from these datasources
	maxAnswerQuery = 500      // characters of an answer to search for
	depth          = compare.MaxK
)

// Reason says where an expected result was lost.
type Reason string

// Reasons, ordered by the stage at which they arise, from reading the document to ranking it.
const (
	NotInDatastore Reason = "not_in_datastore" // the datastore does not have the document
	NotSearchable  Reason = "not_searchable"   // the document failed, was skipped or is not yet processed
	NotExtracted   Reason = "not_extracted"    // the document's text lacks the answer, or the document has no text
	CutInTwo       Reason = "cut_in_two"       // the answer is split between two neighbouring chunks
	FilteredOut    Reason = "filtered_out"     // a filter excludes the document, or its chunk counts as a near-duplicate
	NotFound       Reason = "not_found"        // the chunk is not among a leg's first candidates
	RankedLow      Reason = "ranked_low"       // both legs find it, but it ranks below the results that count
)

// Reasons returns all reasons, ordered by the stage at which they arise, from reading the document to ranking it.
func Reasons() []Reason {
	return []Reason{NotInDatastore, NotSearchable, NotExtracted, CutInTwo, FilteredOut, NotFound, RankedLow}
}

// Stage is the ranking step where a result was lost.
type Stage string

// Stages of ranking.
const (
	StageWords      Stage = "words"      // lexical search
	StageMeaning    Stage = "meaning"    // vector search
	StageBoth       Stage = "both_legs"  // both searches
	StageFusion     Stage = "fusion"     // the weighted sum of both scores
	StageNeighbours Stage = "neighbours" // added shares of neighbouring chunks, and deductions for lists of links
	StageReranking  Stage = "reranking"  // the reranker
)

// Ranks holds an expected chunk's 1-based rank after each ranking stage. 0 means that the stage did not find the chunk.
type Ranks struct {
	Words    int `json:"words,omitempty"`
	Meaning  int `json:"meaning,omitempty"`
	Fused    int `json:"fused,omitempty"`
	Adjusted int `json:"adjusted,omitempty"`
	Reranked int `json:"reranked,omitempty"`
}

// Miss is a question that Find counts as a miss, with the reason.
type Miss struct {
	ID           string `json:"id"`
	Question     string `json:"question"`
	Reason       Reason `json:"reason"`
	Stage        Stage  `json:"stage,omitempty"` // only for not_found and ranked_low
	Ranks        Ranks  `json:"ranks,omitzero"`
	DatasourceID string `json:"datasource_id,omitempty"` // the expected document that got furthest
	ChunkID      string `json:"chunk_id,omitempty"`      // the expected chunk that got furthest
	Detail       string `json:"detail"`                  // human-readable
}

// Service lists the methods of service.Service that Find needs.
type Service interface {
	Query(ctx context.Context, datastoreID string, q service.Query) ([]service.Fragment, error)
	Explain(ctx context.Context, datastoreID string, q service.Query) (service.Explained, error)
	Datasource(ctx context.Context, id string) (service.Datasource, error)
	Chunks(ctx context.Context, datasourceID string, each func(service.Chunk) error) error
}

// Options configure Find.
type Options struct {
	DatastoreID string
	K           int // number of results that count
	Max         int // maximum number of misses to explain
	Concurrency int // simultaneous questions, at least 1
}

// Result is the result of Find.
type Result struct {
	Questions int    `json:"questions"`
	Missed    int    `json:"missed"`
	Misses    []Miss `json:"misses"` // first misses, in question order
}

// Find asks all questions with the service's defaults and explains the first o.Max misses. A question is a miss if it
// has relevant documents but none among the first o.K documents, or answers but none in the first o.K fragments.
func Find(ctx context.Context, s Service, cases []compare.Case, o Options) (Result, error) {
	missed := make([]bool, len(cases))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Concurrency))
	for i, c := range cases {
		if gctx.Err() != nil {
			break
		}
		group.Go(func() error {
			found, err := s.Query(gctx, o.DatastoreID, service.Query{Text: c.Question.Text, TopK: c.TopK(o.K), Filters: c.Filters()})
			if err != nil {
				return fmt.Errorf("question %s: %w", c.Question.ID, err)
			}
			missed[i] = !c.Hits(found, o.K)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	res := Result{Questions: len(cases)}
	var explained []compare.Case
	for i, c := range cases {
		if missed[i] {
			if res.Missed++; len(explained) < o.Max {
				explained = append(explained, c)
			}
		}
	}
	res.Misses = make([]Miss, len(explained))
	group, gctx = errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Concurrency))
	for i, c := range explained {
		group.Go(func() error {
			m, err := explain(gctx, s, c, o)
			if err != nil {
				return fmt.Errorf("question %s: %w", c.Question.ID, err)
			}
			m.ID, m.Question = c.Question.ID, c.Question.Text
			res.Misses[i] = m
			return nil
		})
	}
	return res, group.Wait()
}

// Count returns the number of misses by reason.
func (r Result) Count() map[Reason]int {
	counts := map[Reason]int{}
	for _, m := range r.Misses {
		counts[m.Reason]++
	}
	return counts
}

// explain finds out why a case is a miss. It follows each expected document through the steps from the document to the
// ranking. It returns the reason for the document that got furthest.
func explain(ctx context.Context, s Service, c compare.Case, o Options) (Miss, error) {
	ids := slices.Sorted(maps.Keys(c.Of))
	if len(ids) == 0 && len(c.Documents) > 0 {
		return Miss{Reason: NotInDatastore, Detail: fmt.Sprintf("The datastore has no document %q.", slices.Min(slices.Collect(maps.Keys(c.Documents))))}, nil
	}
	if len(ids) == 0 {
		var err error
		if ids, err = documentsWith(ctx, s, c.Question.Answers, o.DatastoreID); err != nil {
			return Miss{}, err
		}
		if len(ids) == 0 {
			return Miss{Reason: NotExtracted, Detail: "No document was found that contains the answer."}, nil
		}
	}
	t := &tracer{Service: s, c: c, o: o}
	var furthest Miss
	for _, id := range ids[:min(len(ids), maxDatasources)] {
		lost, targets, err := t.content(ctx, id)
		if err != nil {
			return Miss{}, err
		}
		if len(targets) > 0 {
			t.targets = append(t.targets, target{id, targets})
		} else if furthest.Reason == "" || slices.Index(Reasons(), lost.Reason) > slices.Index(Reasons(), furthest.Reason) {
			furthest = lost
		}
	}
	if len(t.targets) == 0 {
		return furthest, nil
	}
	return t.ranking(ctx)
}

// documentsWith returns the ids of datasources that may contain one of the answers. It finds them with a lexical search
// for each answer. In each search's results, datasources that certainly contain the answer come first.
func documentsWith(ctx context.Context, s Service, answers []string, datastoreID string) (ids []string, err error) {
	for _, answer := range answers {
		found, err := s.Query(ctx, datastoreID, service.Query{Text: first(answer, maxAnswerQuery), TopK: depth, Mode: string(compare.Lexical)})
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(found, func(a, b service.Fragment) int {
			return boolean(eval.ContainsAnswer(b.Text, answer)) - boolean(eval.ContainsAnswer(a.Text, answer))
		})
		for _, f := range found {
			if !slices.Contains(ids, f.DatasourceID) {
				ids = append(ids, f.DatasourceID)
			}
		}
	}
	return ids, nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func first(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
