package mcp

import (
	"context"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/domain"
)

type searchArguments struct {
	Query      string         `json:"query" jsonschema:"what to look for: a question, or words that the text holds"`
	Datastores []string       `json:"datastores,omitempty" jsonschema:"ids of the datastores to search; left out: all of the workspace"`
	TopK       int            `json:"topK,omitempty" jsonschema:"how many passages at most; left out: 10"`
	Filters    *searchFilters `json:"filters,omitempty" jsonschema:"only passages of documents that match every field given"`
}

type searchFilters struct {
	CustomIDs     []string       `json:"custom_ids,omitempty" jsonschema:"custom ids of documents, one of which must match"`
	DatasourceIDs []string       `json:"datasource_ids,omitempty" jsonschema:"ids of documents or web sites, one of which must match"`
	Metadata      map[string]any `json:"metadata,omitempty" jsonschema:"keys of the documents' metadata with a string, number or boolean that they must equal, or an array of them"`
}

type searchResults struct {
	Results []searchResult `json:"results" jsonschema:"passages, best first"`
}

// searchResult is a passage that the search found. ChatGPT's connectors require the first three fields.
type searchResult struct {
	ID    string `json:"id" jsonschema:"of the passage; fetch reads more around it"`
	Title string `json:"title"`
	URL   string `json:"url" jsonschema:"of the web page, or of the document as a resource of this server"`

	Text         string  `json:"text"`
	Score        float64 `json:"score" jsonschema:"0 to 1, comparable within these results"`
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
		Description: "Finds the passages of the workspace's documents, files and web pages that are most similar to a query. Returns their text with ids that fetch takes.",
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
		if q.Results == 0 {
			q.Results = DefaultResults
		}
		if f := in.Filters; f != nil {
			q.Filters = domain.Filters{CustomIDs: f.CustomIDs, DatasourceIDs: f.DatasourceIDs, Metadata: f.Metadata}
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

// addressOf returns the web address of a document or, if it has none, its URI as a resource of this server.
func addressOf(source, datasourceID string) string {
	if strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://") {
		return source
	}
	return resourceURI(datasourceID, 0)
}
