package misses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/service"
)

// tracer follows the chunks expected for one question.
type tracer struct {
	Service
	c       compare.Case
	o       Options
	targets []target

	chunks, bytes int // read so far
}

// target is an expected document with the ids of the chunks that the search should find.
type target struct {
	datasource string
	chunks     map[string]bool
}

var errEnough = errors.New("enough")

// content returns the ids of the document's chunks that the search should find. These are the chunks that contain an
// answer or, if the question has no answers, all chunks. If there are no such chunks, `lost` says why.
func (t *tracer) content(ctx context.Context, id string) (lost Miss, chunks map[string]bool, err error) {
	d, err := t.Datasource(ctx, id)
	if err != nil {
		return Miss{}, nil, fmt.Errorf("reading datasource %s: %w", id, err)
	}
	lost.DatasourceID = id
	answers, whole, complete := t.c.Question.Answers, map[string]bool{}, true
	var previous *service.Chunk
	cut := ""
	chunks = map[string]bool{}
	err = t.Chunks(ctx, id, func(c service.Chunk) error {
		if t.chunks, t.bytes = t.chunks+1, t.bytes+len(c.Text); t.chunks > maxChunks || t.bytes > maxBytes {
			complete = false
			return errEnough
		}
		whole[c.ID] = true
		if eval.ContainsAnyAnswer(c.Text, answers) {
			chunks[c.ID] = true
		} else if previous != nil && previous.Ordinal+1 == c.Ordinal && cut == "" && eval.ContainsAnyAnswer(previous.Text+" "+c.Text, answers) {
			cut = c.ID
		}
		previous = &c
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Miss{}, nil, fmt.Errorf("reading the chunks of datasource %s: %w", id, err)
	}
	switch {
	case len(whole) == 0 && d.Status != "synched":
		lost.Reason, lost.Detail = NotSearchable, fmt.Sprintf("%q has the status %s and no searchable text. %s", d.Name, d.Status, d.Error)
	case len(whole) == 0:
		lost.Reason, lost.Detail = NotExtracted, fmt.Sprintf("No text was extracted from %q.", d.Name)
	case len(answers) == 0:
		return lost, whole, nil
	case len(chunks) > 0:
		return lost, chunks, nil
	case cut != "":
		lost.Reason, lost.ChunkID = CutInTwo, cut
		lost.Detail = fmt.Sprintf("In %q, the answer begins in one chunk and ends in the next, so no chunk contains it.", d.Name)
	case !complete:
		lost.Reason, lost.Detail = NotExtracted, fmt.Sprintf("The first %d chunks of %q do not contain the answer; the others were not read.", len(whole), d.Name)
	default:
		lost.Reason, lost.Detail = NotExtracted, fmt.Sprintf("The text extracted from %q does not contain the answer.", d.Name)
	}
	return lost, nil, nil
}

// isTarget returns the id of the expected document that contains the chunk. If the chunk is not one that the search
// should find, isTarget returns "".
func (t *tracer) isTarget(chunkID string) string {
	for _, target := range t.targets {
		if target.chunks[chunkID] {
			return target.datasource
		}
	}
	return ""
}

// ranking returns a Miss with the search step at which the expected chunks were lost, and the reason.
func (t *tracer) ranking(ctx context.Context) (Miss, error) {
	q := service.Query{Text: t.c.Question.Text, TopK: depth, Filters: t.c.Filters()}
	if q.Filters != nil {
		if lost, err := t.filtered(ctx, q); err != nil || lost.Reason != "" {
			return lost, err
		}
	}
	all, err := t.Explain(ctx, t.o.DatastoreID, q)
	if err != nil {
		return Miss{}, err
	}
	for _, f := range all.Fragments {
		for _, id := range append([]string{f.ChunkID}, f.Merged...) {
			if datasource := t.isTarget(id); datasource != "" {
				return t.rankedLow(datasource, id, f.Ranks), nil
			}
		}
	}
	for _, d := range all.Dropped {
		if datasource := t.isTarget(d.ChunkID); datasource != "" && d.Reason == "duplicate" {
			return Miss{
				Reason: FilteredOut, DatasourceID: datasource, ChunkID: d.ChunkID,
				Detail: fmt.Sprintf("Chunk %s counts as a near-duplicate of %s, which is returned instead.", d.ChunkID, cmp.Or(d.For, "another chunk")),
			}, nil
		}
	}
	return t.legs(ctx, q)
}

// filtered returns a Miss with a reason if the question's filters exclude all expected documents, and otherwise a zero
// Miss. It searches the expected documents twice, first with the question's filters and then without them. The filters
// are to blame if only the second search finds something.
func (t *tracer) filtered(ctx context.Context, q service.Query) (Miss, error) {
	var ids []string
	for _, target := range t.targets {
		ids = append(ids, target.datasource)
	}
	alone := *q.Filters
	alone.DatasourceIDs = ids
	for _, filters := range []*service.Filters{&alone, {DatasourceIDs: ids}} {
		found, err := t.Query(ctx, t.o.DatastoreID, service.Query{Text: q.Text, TopK: 1, Filters: filters})
		if err != nil {
			return Miss{}, err
		}
		if filters == &alone && len(found) > 0 {
			return Miss{}, nil
		}
		if filters != &alone && len(found) > 0 {
			return Miss{Reason: FilteredOut, DatasourceID: ids[0], Detail: "The question's filters exclude the document."}, nil
		}
	}
	return Miss{}, nil
}

// rankedLow compares the chunk's ranks after each ranking stage to explain why it is not among the first results.
func (t *tracer) rankedLow(datasource, chunk string, r service.Ranks) Miss {
	m := Miss{
		Reason: RankedLow, DatasourceID: datasource, ChunkID: chunk,
		Ranks: Ranks{Words: r.Lexical, Meaning: r.Dense, Fused: r.Fused, Adjusted: r.Adjusted, Reranked: r.Reranked},
	}
	within := func(rank int) bool { return rank > 0 && rank <= t.o.K }
	switch {
	case within(r.Adjusted) && r.Reranked > t.o.K:
		m.Stage, m.Detail = StageReranking, fmt.Sprintf("The reranker moves it from rank %d to %d.", r.Adjusted, r.Reranked)
	case within(r.Fused) && r.Adjusted > t.o.K:
		m.Stage, m.Detail = StageNeighbours, fmt.Sprintf("The combined search ranks it %d; its neighbouring chunks' scores or a penalty for link lists move it to %d.", r.Fused, r.Adjusted)
	case within(r.Lexical):
		m.Stage, m.Detail = StageFusion, fmt.Sprintf("Keyword search ranks it %d, but semantic search ranks it %s.", r.Lexical, place(r.Dense))
	case within(r.Dense):
		m.Stage, m.Detail = StageFusion, fmt.Sprintf("Semantic search ranks it %d, but keyword search ranks it %s.", r.Dense, place(r.Lexical))
	case r.Lexical == 0:
		m.Reason, m.Stage, m.Detail = NotFound, StageWords, fmt.Sprintf("It has none of the question's words, and semantic search ranks it %s.", place(r.Dense))
	case r.Dense == 0:
		m.Reason, m.Stage, m.Detail = NotFound, StageMeaning, fmt.Sprintf("It has no similar vector, and keyword search ranks it %s.", place(r.Lexical))
	default:
		m.Stage, m.Detail = StageBoth, fmt.Sprintf("Keyword search ranks it %d, and semantic search %d.", r.Lexical, r.Dense)
	}
	return m
}

func place(rank int) string {
	if rank == 0 {
		return fmt.Sprintf("below the first %d", depth)
	}
	return fmt.Sprint(rank)
}

// legs explains why hybrid search returns none of the expected chunks. It repeats the query with lexical search alone
// and with vector search alone, to see where each of these ranks the chunks.
func (t *tracer) legs(ctx context.Context, q service.Query) (Miss, error) {
	r, datasource, chunk := service.Ranks{}, t.targets[0].datasource, ""
	for _, leg := range []struct {
		mode compare.Mode
		rank *int
	}{{compare.Lexical, &r.Lexical}, {compare.Dense, &r.Dense}} {
		q.Mode, q.Rerank = string(leg.mode), new(bool)
		found, err := t.Explain(ctx, t.o.DatastoreID, q)
		var refused *client.Error
		if errors.As(err, &refused) && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusConflict) {
			continue // the datastore has no vectors
		}
		if err != nil {
			return Miss{}, err
		}
		if i := slices.IndexFunc(found.Fragments, func(f service.ExplainedFragment) bool { return t.isTarget(f.ChunkID) != "" }); i >= 0 {
			*leg.rank, chunk = i+1, found.Fragments[i].ChunkID
			datasource = t.isTarget(chunk)
		}
	}
	m := t.rankedLow(datasource, chunk, r)
	if r.Lexical == 0 && r.Dense == 0 {
		m.Reason, m.Stage, m.Detail = NotFound, StageBoth, fmt.Sprintf("Neither keyword search nor semantic search has it among the first %d.", depth)
	}
	return m, nil
}
