package mcp

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/lists"
)

type searchArguments struct {
	Query      string         `json:"query" jsonschema:"question, or words that the text contains"`
	Datastores []string       `json:"datastores,omitempty" jsonschema:"ids of the datastores to search; default: all datastores of the workspace"`
	TopK       int            `json:"topK,omitempty" jsonschema:"maximum number of passages; default: 10"`
	Filters    *searchFilters `json:"filters,omitempty" jsonschema:"return only passages of documents that match all of these fields"`
}

type searchFilters struct {
	CustomIDs     []string       `json:"custom_ids,omitempty" jsonschema:"custom ids; the document must have one of them"`
	DatasourceIDs []string       `json:"datasource_ids,omitempty" jsonschema:"ids of documents or web sites; the document must be one of them or belong to one of them"`
	Metadata      map[string]any `json:"metadata,omitempty" jsonschema:"metadata that the document must have; each value is a string, number or boolean, or an array of alternatives"`

	Type    string           `json:"type,omitempty" jsonschema:"type of a condition (eq, ne, gt, gte, lt, lte, in, nin, exists, prefix, contains) or of a combination (and, or, not)"`
	Key     string           `json:"key,omitempty" jsonschema:"key of a condition: a metadata key, document.language, datasource.type, datasource.source_url, datasource.created_at or datasource.changed_at"`
	Value   any              `json:"value,omitempty" jsonschema:"value to compare with: a string, number or boolean, or an array of them for in, nin and contains; a date is a string such as 2026-01-31"`
	Filters []map[string]any `json:"filters,omitempty" jsonschema:"for the types 'and' and 'or': the conditions or combinations to join, each with type, key and value, or with type and filters"`
	Filter  map[string]any   `json:"filter,omitempty" jsonschema:"for the type 'not': the condition or combination that must not match"`
}

// where parses the condition, or the combination of conditions, in the filters. If there is neither, it returns a nil
// filter. It also returns any errors in the filters.
func (f *searchFilters) where() (*filter.Filter, []domain.FieldError) {
	condition := make(map[string]any)
	if f.Type != "" {
		condition["type"] = f.Type
	}
	if f.Key != "" {
		condition["key"] = f.Key
	}
	if f.Value != nil {
		condition["value"] = f.Value
	}
	if f.Filters != nil {
		condition["filters"] = lists.Map(f.Filters, func(inner map[string]any) any { return inner })
	}
	if f.Filter != nil {
		condition["filter"] = f.Filter
	}
	if len(condition) == 0 {
		return nil, nil
	}
	return filter.Parse(condition, "filters")
}

type searchResults struct {
	Results []searchResult `json:"results" jsonschema:"passages, with the best one first"`
}

// searchResult is a passage found by the search. The first three fields are required by ChatGPT's connectors.
type searchResult struct {
	ID    string `json:"id" jsonschema:"id of the passage; pass it to fetch to read the text around it"`
	Title string `json:"title"`
	URL   string `json:"url" jsonschema:"address of the web page, or of the document as a resource of this server"`

	Text         string  `json:"text"`
	Score        float64 `json:"score" jsonschema:"score from 0 to 1; compare it only with other scores in these results"`
	Source       string  `json:"source"`
	Heading      string  `json:"heading,omitempty"`
	Page         int     `json:"page,omitempty"`
	DatasourceID string  `json:"datasource_id"`
	DatastoreID  string  `json:"datastore_id,omitempty"`
	CustomID     string  `json:"custom_id,omitempty"`
}

func addSearch(box *toolRegistry, lib Library) {
	addTool(box, &sdk.Tool{
		Name:        "search",
		Title:       "Search documents",
		Description: "Searches the workspace's documents, files and web pages for the passages most similar to a query. Returns their text, with ids to pass to fetch.",
		Annotations: readOnly("Search documents"),
	}, func(f map[string]*jsonschema.Schema) {
		text(f["query"], maxQuestionCharacters)
		f["topK"].Minimum, f["topK"].Maximum = new(1.0), new(float64(MaxResults))
		f["datastores"].MaxItems = new(MaxDatastores)
		filters := f["filters"].Properties
		filters["custom_ids"].MaxItems, filters["datasource_ids"].MaxItems = new(MaxFilterValues), new(MaxFilterValues)
		filters["metadata"].MaxProperties = new(MaxMetadataKeys)
	}, func(ctx context.Context, _ *sdk.CallToolRequest, in searchArguments) (*sdk.CallToolResult, searchResults, error) {
		q := Search{Query: in.Query, Datastores: in.Datastores, Results: in.TopK}
		q.Results = cmp.Or(q.Results, DefaultResults)
		if f := in.Filters; f != nil {
			q.Filters = domain.Filters{CustomIDs: f.CustomIDs, DatasourceIDs: f.DatasourceIDs, Metadata: f.Metadata}
			q.Where, q.Faults = f.where()
		}
		found, err := lib.Search(ctx, q)
		if err != nil {
			return nil, searchResults{}, err
		}
		out := searchResults{Results: make([]searchResult, len(found))}
		for i, f := range found {
			out.Results[i] = searchResult{
				ID: f.ChunkID, Title: f.DatasourceName, URL: addressOf(f.Source, f.DatasourceID), Text: f.Text, Score: f.Score, Source: f.Source,
				Heading: f.Heading, Page: f.Page, DatasourceID: f.DatasourceID, DatastoreID: f.DatastoreID, CustomID: f.CustomID,
			}
		}
		return nil, out, nil
	})
}

// addressOf returns a document's web address or, if it has none, its resource URI on this server.
func addressOf(source, datasourceID string) string {
	if strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://") {
		return source
	}
	return resourceURI(datasourceID, 0)
}
