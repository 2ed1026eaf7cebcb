package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/boost"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/locate"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Number of fragments returned if a query does not set topK.
const defaultTopK = 5

// QueryDatastore implements StrictServerInterface.
func (s *server) QueryDatastore(ctx context.Context, r QueryDatastoreRequestObject) (QueryDatastoreResponseObject, error) {
	found, err := s.queryDatastore(ctx, r.Id, *r.Body, orZero(r.Params.Explain))
	if err != nil {
		return nil, err
	}
	kind := fragmentsType(ctx, found.Explanation != nil, found.Facets != nil)
	switch {
	case isForChaindesk(ctx):
		return encode(kind, renderResults(found)), nil
	case found.Explanation != nil:
		return encode(kind, renderExplained(found)), nil
	case found.Facets != nil:
		return encode(kind, FacetedFragments{Fragments: lists.Map(found.Fragments, renderFragment), Facets: *renderFacets(found.Facets)}), nil
	}
	return encode(kind, lists.Map(found.Fragments, renderFragment)), nil
}

// fragmentsType returns the Content-Type for a QueryDatastore response. Responses with explanations or facets have
// media types of their own. That way, the API document can give each a schema, and for a plain query, generated clients
// return a plain array of fragments.
func fragmentsType(ctx context.Context, explained, faceted bool) string {
	switch {
	case isForChaindesk(ctx):
	case explained:
		return "application/vnd.sluice.explained+json"
	case faceted:
		return "application/vnd.sluice.faceted+json"
	}
	return typeJSON
}

const typeJSON = "application/json"

// encode returns a response with `fragments` as JSON: an array, or an object with the fragments and their explanation.
// The generated response type would encode the body twice.
func encode(contentType string, fragments any) responseFunc {
	return func(w http.ResponseWriter) error {
		encoded := bufferPool.Get().(*bytes.Buffer)
		defer func() {
			if encoded.Cap() <= maxPooledBuffer {
				bufferPool.Put(encoded)
			}
		}()
		encoded.Reset()
		if err := json.NewEncoder(encoded).Encode(fragments); err != nil {
			return err
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(encoded.Len())) // otherwise the response would be chunked, with an extra write at the end
		_, err := w.Write(encoded.Bytes())
		return err
	}
}

// bufferPool reuses buffers for encoding responses. Buffers larger than maxPooledBuffer bytes are not kept.
var bufferPool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxPooledBuffer = 1 << 20

// QueryDatastoreResults implements StrictServerInterface.
func (s *server) QueryDatastoreResults(ctx context.Context, r QueryDatastoreResultsRequestObject) (QueryDatastoreResultsResponseObject, error) {
	found, err := s.queryDatastore(ctx, r.Id, *r.Body, orZero(r.Params.Explain))
	return QueryDatastoreResults200JSONResponse(renderResults(found)), err
}

// renderResults renders fragments in the format of LangChain's retrievers.
func renderResults(found retrieve.Result) RetrieverResults {
	return RetrieverResults{Results: lists.Map(found.Fragments, func(f domain.Fragment) RetrieverResult {
		return RetrieverResult{Text: f.Text, Source: f.Source, Score: f.Score}
	}), Explanation: renderExplanation(found.Explanation, true), Facets: renderFacets(found.Facets)}
}

// chaindeskHost is the host that LangChain's ChaindeskRetriever calls. The retriever sends its queries to the usual
// path, but expects the response to be an object with results.
const chaindeskHost = "app.chaindesk.ai"

// isForChaindesk reports whether the request was meant for chaindeskHost and rerouted here by DNS or a proxy. Either
// way, a header still names that host.
func isForChaindesk(ctx context.Context) bool {
	c, ok := ctx.(*gin.Context)
	if !ok {
		return false
	}
	for _, host := range []string{c.Request.Host, c.GetHeader("X-Forwarded-Host")} {
		name, _, _ := strings.Cut(host, ":")
		if strings.EqualFold(name, chaindeskHost) {
			return true
		}
	}
	return false
}

func (s *server) queryDatastore(ctx context.Context, id string, body DatastoreQuery, explain bool) (retrieve.Result, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datastoreToQuery(ctx, caller, id)
	if err != nil {
		return retrieve.Result{}, err
	}
	filters, where, err := filtersOf(body.Filters)
	if err != nil {
		return retrieve.Result{}, err
	}
	boosts, err := boostsOf(body.Boosts)
	if err != nil {
		return retrieve.Result{}, err
	}
	req := retrieve.Request{
		WorkspaceID: d.WorkspaceID, Boosts: boosts, Datastores: []domain.Datastore{d}, Query: body.Query, TopK: cmp.Or(orZero(body.TopK), defaultTopK), Filters: filters, Where: where,
		Facets: orZero(body.Facets), Mode: domain.SearchMode(orZero(body.Mode)), Rerank: body.Rerank, MaxPerDatasource: orZero(body.MaxPerDatasource), Explain: explain,
	}
	if body.Queries != nil {
		req.Parts = *body.Queries
	}
	if body.Vector != nil {
		var fault string
		if req.Vector, fault = jsonbody.Vector(*body.Vector, string(orZero(body.EncodingFormat))); fault != "" { // already checked by the operation's rule
			return retrieve.Result{}, domain.Invalid("vector", "%s", fault)
		}
	}
	topK := req.TopK
	if body.Offset != nil { // slice all pages from the same result
		req.TopK = retrieve.MaxTopK
	}
	found, err := s.searchDatastore(ctx, caller, req)
	if err != nil {
		return found, err
	}
	cut(&found, orZero(body.Offset), topK, orZero(body.MinScore))
	if orZero(body.Rectangles) {
		s.locate(ctx, d.WorkspaceID, found.Fragments)
	}
	if orZero(body.Highlights) {
		highlight(found.Fragments, append([]string{req.Query}, req.Parts...), found.Rules)
	}
	if body.Fields != nil {
		selectFields(found.Fragments, *body.Fields)
	}
	return found, nil
}

func boostsOf(list *[]Boost) ([]boost.Boost, error) {
	if list == nil {
		return nil, nil
	}
	text, err := json.Marshal(*list)
	if err != nil {
		return nil, fmt.Errorf("encoding the boosts: %w", err)
	}
	boosts, faults := boost.ParseJSON(text, "boosts")
	return boosts, problem.Invalid(faults)
}

// selectFields clears the fields that the client has not selected from each fragment.
func selectFields(fragments []domain.Fragment, fields []DatastoreQueryFields) {
	for i, f := range fragments {
		kept := domain.Fragment{ChunkID: f.ChunkID, Score: f.Score, Rectangles: f.Rectangles, Highlights: f.Highlights}
		if f.Highlights != nil { // highlights are positions in the text
			kept.Text = f.Text
		}
		for _, field := range fields {
			switch field {
			case DatastoreQueryFieldsText:
				kept.Text = f.Text
			case DatastoreQueryFieldsSource:
				kept.Source = f.Source
			case DatastoreQueryFieldsDatasourceId:
				kept.DatasourceID = f.DatasourceID
			case DatastoreQueryFieldsDatasourceName:
				kept.DatasourceName = f.DatasourceName
			case DatastoreQueryFieldsCustomId:
				kept.CustomID = f.CustomID
			case DatastoreQueryFieldsPage:
				kept.Page = f.Page
			case DatastoreQueryFieldsHeading:
				kept.Heading = f.Heading
			case DatastoreQueryFieldsOffset:
				kept.Offset = f.Offset
			case DatastoreQueryFieldsMimeType:
				kept.MIMEType = f.MIMEType
			case DatastoreQueryFieldsMetadata:
				kept.Metadata = f.Metadata
			}
		}
		fragments[i] = kept
	}
}

// cut drops fragments scoring below minScore, then applies `offset` and topK to the rest.
func cut(found *retrieve.Result, offset, topK int, minScore float64) {
	n := 0
	for i, f := range found.Fragments {
		if f.Score < minScore {
			continue
		}
		if at := n - offset; at >= 0 && at < topK {
			found.Fragments[at] = f
			if found.Explanation != nil {
				found.Explanation.Fragments[at] = found.Explanation.Fragments[i]
			}
		}
		n++
	}
	kept := min(max(n-offset, 0), topK)
	found.Fragments = found.Fragments[:kept]
	if found.Explanation != nil {
		found.Explanation.Fragments = found.Explanation.Fragments[:kept]
	}
}

// Maximum number of highlighted words per fragment.
const maxHighlights = 200

// highlight marks the queries' words, and their synonyms, in the fragments.
func highlight(fragments []domain.Fragment, queries []string, rules *analysis.Rules) {
	langs := lists.Map(fragments, func(f domain.Fragment) analysis.Language { return analysis.Detect(f.Text) })
	var words []analysis.QueryTerm
	distinct := slices.Compact(slices.Sorted(slices.Values(langs)))
	for _, q := range queries {
		words = append(words, analysis.QueryWith(q, distinct, rules)...)
	}
	for i := range fragments {
		fragments[i].Highlights = lists.Map(analysis.Matches(fragments[i].Text, langs[i], words, maxHighlights),
			func(m analysis.Match) domain.TextRange { return domain.TextRange{Start: m.Start, End: m.End} })
	}
}

// searchDatastore checks the length of the queries, runs them and counts the search towards the caller's usage.
func (s *server) searchDatastore(ctx context.Context, caller access.Caller, req retrieve.Request) (found retrieve.Result, err error) {
	if err := s.checkLength("query", req.Query); err != nil {
		return retrieve.Result{}, err
	}
	for i, q := range req.Parts {
		if err := s.checkLength(fmt.Sprintf("queries[%d]", i), q); err != nil {
			return retrieve.Result{}, err
		}
	}
	embedded := req.Parts
	if req.Vector == nil {
		embedded = append([]string{req.Query}, req.Parts...)
	}
	err = s.countSearch(caller.Account(req.WorkspaceID), strings.Join(embedded, "\n"), func() (err error) {
		found, err = s.Retriever.Retrieve(ctx, req)
		return err
	})
	return found, err
}

// locate adds rectangles to fragments from PDFs. They show where each fragment is on its page.
func (s *server) locate(ctx context.Context, workspaceID string, fragments []domain.Fragment) {
	if s.Locator == nil {
		return
	}
	passages := make([]locate.Passage, len(fragments))
	for i, f := range fragments {
		passages[i] = locate.Passage{Fragment: f, Spans: [][2]int{{0, len(f.Text)}}}
	}
	for i, spans := range s.Locator.Locate(ctx, workspaceID, passages) {
		fragments[i].Rectangles = append([]domain.PageRectangle{}, spans[0]...)
	}
}

func (s *server) datastoreToQuery(ctx context.Context, caller access.Caller, id string) (domain.Datastore, error) {
	return toQuery(caller, "datastore", id,
		func() (domain.Datastore, error) { return s.Datastores.Datastore(ctx, caller.Workspace(), id) },
		func() (domain.Datastore, error) { return s.Datastores.PublicDatastore(ctx, id) })
}

// CountFacets implements StrictServerInterface.
func (s *server) CountFacets(ctx context.Context, r CountFacetsRequestObject) (CountFacetsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datastoreToQuery(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	var filters Filters
	if text := orZero(r.Params.Filters); text != "" {
		if filters, err = s.readFilters(text); err != nil {
			return nil, err
		}
	}
	selected, where, err := filtersOf(&filters)
	if err != nil {
		return nil, err
	}
	var found domain.Facets
	err = s.countSearch(caller.Account(d.WorkspaceID), "", func() (err error) {
		found, err = s.Retriever.Facets(ctx, retrieve.FacetRequest{
			Datastore: d, Filters: selected, Where: where, Keys: strings.Split(r.Params.Keys, ","), Limit: orZero(r.Params.Limit),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return CountFacets200JSONResponse(*renderFacets(&found)), nil
}

// readFilters parses filters sent in a query parameter. They have the same format as in a query's body and are checked
// in the same way.
func (s *server) readFilters(text string) (f Filters, err error) {
	value, faults := jsonbody.Parse([]byte(text))
	for i := range faults {
		faults[i].Field = "filters"
	}
	body := map[string]any{"query": "any", "filters": value}
	if len(faults) == 0 {
		faults = s.document.Operation(http.MethodPost, "/datastores/:id/query").CheckBody(body)
	}
	if err := problem.Invalid(faults); err != nil {
		return f, err
	}
	data, err := json.Marshal(body["filters"])
	if err != nil {
		return f, fmt.Errorf("encoding the filters: %w", err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("decoding the filters: %w", err)
	}
	return f, nil
}

func renderFacets(f *domain.Facets) *FacetCounts {
	if f == nil {
		return nil
	}
	return &FacetCounts{Documents: f.Documents, Facets: lists.Map(f.Facets, func(facet domain.Facet) Facet {
		return Facet{Key: facet.Key, Distinct: facet.Distinct, Values: lists.Map(facet.Values, func(v domain.FacetValue) FacetValue {
			return FacetValue{Value: v.Value, Count: v.Count}
		})}
	})}
}
