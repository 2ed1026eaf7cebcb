package api

import (
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/retrieve"
)

// renderExplanation renders an explanation of how a query found its fragments. If withFragments is true, the result
// includes an entry for each fragment.
func renderExplanation(e *domain.Explanation, withFragments bool) *Explanation {
	if e == nil {
		return nil
	}
	out := &Explanation{
		Query: e.Query, Mode: SearchMode(e.Mode), TopK: e.TopK, MaxPerDatasource: optional(e.MaxPerDatasource),
		Filters:    FilterExplanation{Datasources: e.Filters.Datasources, Metadata: object(e.Filters.Metadata)},
		Datastores: lists.Map(e.Datastores, renderDatastoreExplanation),
		Rerank:     RerankExplanation{Model: optional(e.Rerank.Model), Candidates: e.Rerank.Candidates, Error: optional(e.Rerank.Error)},
		Terms:      e.Terms, Words: orEmpty(e.Words), Candidates: e.Candidates, Dropped: renderDropped(e.Dropped), Notes: append([]string{}, e.Notes...),
		Model: renderModelExplanation(e.Model), Plan: renderPlanExplanation(e.Plan),
	}
	if len(e.Parts) > 0 {
		out.Parts = &e.Parts
	}
	if withFragments {
		all := lists.Map(e.Fragments, renderFragmentExplanation)
		out.Fragments = &all
	}
	return out
}

// orEmpty returns m, or an empty map if m is nil, so that the field is never null.
func orEmpty(m map[string][]string) map[string][]string {
	if m == nil {
		return map[string][]string{}
	}
	return m
}

func renderPlanExplanation(p *domain.ExplainedPlan) *PlanExplanation {
	if p == nil {
		return nil
	}
	return &PlanExplanation{
		Reason: PlanExplanationReason(p.Reason), Questions: append([]string{}, p.Questions...), Next: optional(p.Next), Error: optional(p.Error),
		PromptTokens: p.PromptTokens, CompletionTokens: p.CompletionTokens,
	}
}

func renderModelExplanation(m *domain.ExplainedModel) *ModelExplanation {
	if m == nil {
		return nil
	}
	return &ModelExplanation{
		Name: optional(m.Name), Fallback: m.Fallback, PromptTokens: m.PromptTokens, CompletionTokens: m.CompletionTokens, Estimated: m.Estimated, Cut: m.Cut,
		Ignored:   lists.Map(m.Ignored, func(s string) ModelExplanationIgnored { return ModelExplanationIgnored(s) }),
		Fragments: m.Fragments, LeftOut: m.LeftOut,
	}
}

func renderDatastoreExplanation(d domain.ExplainedDatastore) DatastoreExplanation {
	return DatastoreExplanation{
		DatastoreId: d.ID, Type: Engine(d.Engine), EmbeddingModel: d.Model, Lexical: d.Lexical, Dense: d.Dense, DenseWeight: d.DenseWeight,
		Depth: d.Depth, Candidates: d.Candidates, Inactive: d.Inactive,
	}
}

func renderFragmentExplanation(f domain.ExplainedFragment) FragmentExplanation {
	out := FragmentExplanation{
		ChunkId: f.ChunkID, DatastoreId: f.DatastoreID,
		LexicalScore: f.Lexical, LexicalRank: optional(f.LexicalRank), DenseScore: f.Dense, DenseRank: optional(f.DenseRank),
		DocumentScore: f.Document, FusedScore: f.Fused, FusedRank: f.FusedRank, NeighbourScore: f.Neighbours, LinkListScore: 0 - f.LinkList, Rank: f.Rank, RerankedRank: optional(f.RerankedRank),
		Terms: append([]string{}, f.Terms...), Merged: append([]string{}, f.Merged...), Duplicates: append([]string{}, f.Duplicates...),
	}
	if f.RerankedRank > 0 {
		out.RerankedScore = &f.Reranked
	}
	return out
}

func renderDropped(d domain.ExplainedDrops) Dropped {
	return Dropped{
		Inactive: d.Inactive, Duplicate: d.Duplicates, Merged: d.Merged, OverMaxPerDatasource: d.OverMax, BelowTopK: d.Below,
		Chunks: lists.Map(d.Chunks, func(c domain.ExplainedDrop) DroppedChunk {
			return DroppedChunk{
				ChunkId: c.ChunkID, DatasourceId: c.DatasourceID, DatasourceName: c.DatasourceName,
				Page: optional(c.Page), Heading: optional(c.Heading), Reason: DroppedChunkReason(c.Reason), RepresentedBy: optional(c.For),
				Rank: c.Rank, Score: c.Score,
			}
		}),
	}
}

// renderExplained combines each fragment with its entry in the explanation. Both lists have the same order.
func renderExplained(r retrieve.Result) ExplainedFragments {
	out := ExplainedFragments{
		Fragments: make([]ExplainedFragment, len(r.Fragments)), Explanation: *renderExplanation(r.Explanation, false),
	}
	for i, fragment := range r.Fragments {
		f := renderFragment(fragment)
		out.Fragments[i] = ExplainedFragment{
			Text: f.Text, Score: f.Score, Source: f.Source, DatasourceId: f.DatasourceId, DatasourceName: f.DatasourceName,
			ChunkId: f.ChunkId, CustomId: f.CustomId, Page: f.Page, Heading: f.Heading, Offset: f.Offset,
			MimeType: f.MimeType, Metadata: f.Metadata, Rectangles: f.Rectangles, Explanation: renderFragmentExplanation(r.Explanation.Fragments[i]),
		}
	}
	return out
}

// renderSentences renders the sentences of an answer. `text` is the part of the answer's text that was sent to the
// caller. Sentences that end after it are omitted.
func renderSentences(a answer.Answer, text string) []AnswerSentence {
	count := characterCounter{text: text}
	out := make([]AnswerSentence, 0, len(a.Sentences))
	for _, s := range a.Sentences {
		if s.End > len(text) {
			break // the client disconnected before the end of the answer
		}
		out = append(out, AnswerSentence{
			Start: count.before(s.Start), End: count.before(s.End), Support: s.Support, Unsupported: s.Unsupported,
			Spans: lists.Map(s.Spans, func(v domain.SourceSpan) SourceSpan { return renderSpan(a, v) }),
		})
	}
	return out
}

func renderSpan(a answer.Answer, v domain.SourceSpan) SourceSpan {
	out := SourceSpan{
		SourceIndex: v.Source, Citation: v.Citation, DatasourceId: a.Sources[v.Source].DatasourceID, Text: v.Text, Page: optional(v.Page),
		Rectangles: lists.Map(v.Rectangles, func(r domain.PageRectangle) PageRectangle {
			return PageRectangle{Page: r.Page, X: r.X, Y: r.Y, Width: r.Width, Height: r.Height}
		}),
	}
	if v.Original != nil {
		out.Start, out.End = &v.Original.Start, &v.Original.End
	}
	return out
}

func renderHighlights(f domain.Fragment) []Highlight {
	count := characterCounter{text: f.Text}
	return lists.Map(f.Highlights, func(h domain.TextRange) Highlight {
		return Highlight{Start: count.before(h.Start), End: count.before(h.End)}
	})
}

// characterCounter converts positions in a text from bytes to characters. Converting ascending positions takes linear
// time in total.
type characterCounter struct {
	text              string
	bytes, characters int
}

// before returns the number of characters in the first `bytes` bytes of the text.
func (c *characterCounter) before(bytes int) int {
	bytes = min(bytes, len(c.text))
	if bytes < c.bytes {
		c.bytes, c.characters = 0, 0
	}
	c.characters += utf8.RuneCountInString(c.text[c.bytes:bytes])
	c.bytes = bytes
	return c.characters
}
