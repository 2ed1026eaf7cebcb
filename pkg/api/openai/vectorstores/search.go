package vectorstores

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/question"
	"github.com/sluice/sluice/pkg/retrieve"
)

const (
	defaultResults = 10
	maxResults     = 50
	maxQueries     = 8
)

// queries is the `query` field: a text or a list of texts.
type queries []string

// UnmarshalJSON implements json.Unmarshaler.
func (q *queries) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*q = queries{one}
		return nil
	}
	var all []string
	if json.Unmarshal(text, &all) != nil {
		return domain.Invalid("query", "must be a string or an array of strings")
	}
	*q = all
	return nil
}

type searchBody struct {
	Query          queries         `json:"query"`
	Filters        json.RawMessage `json:"filters"`
	MaxNumResults  *int            `json:"max_num_results"`
	RankingOptions *struct {
		Ranker         string   `json:"ranker"`
		ScoreThreshold *float64 `json:"score_threshold"`
	} `json:"ranking_options"`
	RewriteQuery *bool `json:"rewrite_query"`
}

type result struct {
	FileID     string         `json:"file_id"`
	Filename   string         `json:"filename"`
	Score      float64        `json:"score"`
	Attributes map[string]any `json:"attributes"`
	Content    []content      `json:"content"`
}

type content struct {
	Type string `json:"type"` // always "text"
	Text string `json:"text"`
}

type results struct {
	Object      string   `json:"object"` // always "vector_store.search_results.page"
	SearchQuery []string `json:"search_query"`
	Data        []result `json:"data"`
	HasMore     bool     `json:"has_more"`
	NextPage    *string  `json:"next_page"`
}

func (h *handler) search(c *call) error {
	var body searchBody
	if err := openai.Decode(c.gin, &body); err != nil {
		return err
	}
	storeID, err := c.storeID()
	if err != nil {
		return err
	}
	request, threshold, err := h.searchRequest(body)
	if err != nil {
		return err
	}
	store, err := h.Store.Datastore(c.ctx, c.ws, storeID)
	if err != nil {
		return c.storeError(err)
	}
	request.WorkspaceID, request.Datastores = c.ws, []domain.Datastore{store}
	out := results{Object: "vector_store.search_results.page", SearchQuery: []string{}, Data: []result{}}
	var found []domain.Fragment
	for _, query := range body.Query {
		request.Query = query
		if body.RewriteQuery != nil && *body.RewriteQuery {
			out.SearchQuery = append(out.SearchQuery, rewritten(query)...)
		} else {
			out.SearchQuery = append(out.SearchQuery, query)
		}
		r, err := h.Retriever.Retrieve(c.ctx, request)
		if err != nil {
			return err
		}
		found = append(found, r.Fragments...)
		h.Store.CountDeferred(c.caller.Account(c.ws), map[domain.Metric]int64{domain.MetricRetrievals: 1, domain.MetricEmbedTokens: int64(chunk.Tokens(query))})
	}
	for _, f := range best(found, len(body.Query), request.TopK) {
		if f.Score < threshold {
			continue
		}
		out.Data = append(out.Data, result{
			FileID: openai.File.ID(cmp.Or(f.FileID, f.DatasourceID)), Filename: f.DatasourceName, Score: f.Score, Attributes: attributesIn(f.Metadata),
			Content: []content{{Type: "text", Text: f.Text}},
		})
	}
	return c.reply(out)
}

// searchRequest validates and converts a search body. The caller must set the query and the datastore.
func (h *handler) searchRequest(body searchBody) (r retrieve.Request, threshold float64, err error) {
	var faults openai.Faults
	switch n := len(body.Query); {
	case n == 0:
		faults.Add("query", "is required; send a string, or an array of 1 to %d strings", maxQueries)
	case n > maxQueries:
		faults.Add("query", "has %d texts; the limit is %d; split them across several requests", n, maxQueries)
	default:
		for i, query := range body.Query {
			field := "query"
			if n > 1 {
				field = fmt.Sprintf("query[%d]", i)
			}
			if strings.TrimSpace(query) == "" {
				faults.Add(field, "is empty; send a text")
			} else if err := h.CheckLength(field, query); err != nil {
				faults.Append(fieldsOf(err)...)
			}
		}
	}
	r.TopK = defaultResults
	if n := body.MaxNumResults; n != nil {
		if r.TopK = *n; *n < 1 || *n > maxResults {
			faults.Add("max_num_results", "is %d; it must be between 1 and %d", *n, maxResults)
		}
	}
	if o := body.RankingOptions; o != nil {
		switch o.Ranker {
		case "", "auto", "default-2024-11-15", "default_2024_08_21":
		case "none":
			r.Rerank = new(bool)
		default:
			faults.Add("ranking_options.ranker", "is %s; it must be auto, default-2024-11-15 or none", jsonbody.Describe(o.Ranker))
		}
		if o.ScoreThreshold != nil {
			if threshold = *o.ScoreThreshold; threshold < 0 || threshold > 1 {
				faults.Add("ranking_options.score_threshold", "is %g; it must be between 0 and 1", threshold)
			}
		}
	}
	if body.RewriteQuery != nil && !*body.RewriteQuery {
		r.Parts = []string{} // search for the query as a single question
	}
	h.readFilters(&faults, body.Filters, &r)
	return r, threshold, faults.Err()
}

// fieldsOf returns the individual field errors from a validation error.
func fieldsOf(err error) []domain.FieldError {
	e, ok := err.(*domain.Error) //nolint:errorlint // domain.Invalid is not wrapped
	if !ok || len(e.Fields) == 0 {
		return []domain.FieldError{{Field: "query", Message: err.Error()}}
	}
	return e.Fields
}

// rewritten returns the queries to search for: the query and, if it consists of several questions, each of them.
func rewritten(query string) []string {
	out := []string{query}
	for _, p := range question.Parts(query) {
		out = append(out, p.Query)
	}
	return out
}

// best merges fragments found by several queries. It returns at most `limit`, best first, with each passage only once.
func best(found []domain.Fragment, queries, limit int) []domain.Fragment {
	if queries < 2 {
		return found
	}
	slices.SortStableFunc(found, func(a, b domain.Fragment) int { return cmp.Compare(b.Score, a.Score) })
	seen := map[string]bool{}
	found = slices.DeleteFunc(found, func(f domain.Fragment) bool {
		again := seen[f.ChunkID]
		seen[f.ChunkID] = true
		return again
	})
	return found[:min(limit, len(found))]
}
