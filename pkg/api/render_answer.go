package api

import (
	"encoding/json"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/retrieve"
)

// renderExplanation renders the explanation of how a query found its fragments. If withFragments is true, it includes
// one entry per fragment.
func renderExplanation(e *domain.Explanation, withFragments bool) *Explanation {
	if e == nil {
		return nil
	}
	out := &Explanation{
		Query: e.Query, Mode: SearchMode(e.Mode), TopK: e.TopK, MaxPerDatasource: optional(e.MaxPerDatasource),
		Filters:    FilterExplanation{Datasources: e.Filters.Datasources, Metadata: object(e.Filters.Metadata), Where: renderWhere(e.Filters.Where)},
		Datastores: lists.Map(e.Datastores, renderDatastoreExplanation),
		Rerank:     renderRerank(e.Rerank),
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

func renderRerank(r domain.ExplainedRerank) RerankExplanation {
	return RerankExplanation{
		Model: optional(r.Model), Candidates: r.Candidates, Unscored: r.Unscored,
		Milliseconds: float64(r.Took.Microseconds()) / 1000, Error: optional(r.Error),
	}
}

// renderWhere decodes a filter condition from its stored JSON, or returns nil if there is none.
func renderWhere(text json.RawMessage) *FilterCondition {
	var out FilterCondition
	if text == nil || json.Unmarshal(text, &out) != nil { // cannot fail, because the filter was parsed before
		return nil
	}
	return &out
}

// orEmpty returns m, or an empty map for nil, so that the field is never null.
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
		Depth: d.Depth, Candidates: d.Candidates, Inactive: d.Inactive, Boosts: renderBoosts(d.Boosts), SettingsVersion: optional(d.SettingsVersion),
		Evidence: renderEvidence(d.Evidence),
	}
}

func renderEvidence(e *domain.ExplainedEvidence) *EvidenceExplanation {
	if e == nil {
		return nil
	}
	return &EvidenceExplanation{AverageWeight: e.AverageWeight, Symbols: e.Symbols, RarestWord: e.RarestWord, Agreement: e.Agreement}
}

// renderBoosts renders boosts; nil means none.
func renderBoosts(text json.RawMessage) []Boost {
	out := []Boost{}
	if text == nil || json.Unmarshal(text, &out) != nil { // cannot fail, because the boosts were parsed before
		return []Boost{}
	}
	return out
}

func renderFragmentExplanation(f domain.ExplainedFragment) FragmentExplanation {
	out := FragmentExplanation{
		ChunkId: f.ChunkID, DatastoreId: f.DatastoreID,
		LexicalScore: f.Lexical, LexicalRank: optional(f.LexicalRank), DenseScore: f.Dense, DenseRank: optional(f.DenseRank),
		DocumentScore: f.Document, FusedScore: f.Fused, FusedRank: f.FusedRank, NeighbourScore: f.Neighbours, LinkListScore: 0 - f.LinkList,
		Pinned: f.Pinned, BoostScore: f.Boost, BoostFactors: append([]float64{}, f.BoostFactors...), Rank: f.Rank, RerankedRank: optional(f.RerankedRank),
		Terms: append([]string{}, f.Terms...), Merged: append([]string{}, f.Merged...), Duplicates: append([]string{}, f.Duplicates...),
	}
	if f.RerankedRank > 0 {
		out.RerankedScore = &f.Reranked
	}
	return out
}

func renderDropped(d domain.ExplainedDrops) Dropped {
	return Dropped{
		Inactive: d.Inactive, Blocked: d.Blocked, Duplicate: d.Duplicates, Merged: d.Merged, OverMaxPerDatasource: d.OverMax, BelowTopK: d.Below,
		Chunks: lists.Map(d.Chunks, func(c domain.ExplainedDrop) DroppedChunk {
			return DroppedChunk{
				ChunkId: c.ChunkID, DatasourceId: c.DatasourceID, DatasourceName: c.DatasourceName,
				Page: optional(c.Page), Heading: optional(c.Heading), Reason: DroppedChunkReason(c.Reason), RepresentedBy: optional(c.For),
				Rank: c.Rank, Score: c.Score,
			}
		}),
	}
}

// renderExplained combines each fragment with its entry in the explanation. Both lists are in the same order.
func renderExplained(r retrieve.Result) ExplainedFragments {
	out := ExplainedFragments{
		Fragments: make([]ExplainedFragment, len(r.Fragments)), Explanation: *renderExplanation(r.Explanation, false), Facets: renderFacets(r.Facets),
	}
	for i, fragment := range r.Fragments {
		f := renderFragment(fragment)
		out.Fragments[i] = ExplainedFragment{
			Text: f.Text, Score: f.Score, Source: f.Source, DatasourceId: f.DatasourceId, DatasourceName: f.DatasourceName,
			ChunkId: f.ChunkId, CustomId: f.CustomId, Page: f.Page, Heading: f.Heading, Offset: f.Offset,
			MimeType: f.MimeType, Metadata: f.Metadata, Rectangles: f.Rectangles, Highlights: f.Highlights, Explanation: renderFragmentExplanation(r.Explanation.Fragments[i]),
		}
	}
	return out
}
