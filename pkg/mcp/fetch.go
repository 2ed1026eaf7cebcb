package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/domain"
)

type fetchArguments struct {
	ID string `json:"id" jsonschema:"id from a search result, id of a datasource, or metadata.next from the previous part"`
}

// document is fetch's result, with the fields required by ChatGPT's connectors.
type document struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Text     string            `json:"text"`
	URL      string            `json:"url"`
	Metadata map[string]string `json:"metadata" jsonschema:"metadata of the document; next is the id of the next part, if there is one"`
}

func addFetch(box *toolRegistry, lib Library) {
	addTool(box, &sdk.Tool{
		Name:        "fetch",
		Title:       "Read a document",
		Description: "Reads the text of a document by its id, or the text around a passage by the id from search. A long document is returned in parts; metadata.next is the id of the next part.",
		Annotations: readOnly("Read a document"),
	}, func(f map[string]*jsonschema.Schema) { text(f["id"], maxIDCharacters) }, func(ctx context.Context, _ *sdk.CallToolRequest, in fetchArguments) (*sdk.CallToolResult, document, error) {
		where, err := parseResource(in.ID)
		if err != nil {
			return nil, document{}, err
		}
		d, part, err := readDocument(ctx, lib, where)
		if err != nil {
			return nil, document{}, err
		}
		out := document{ID: in.ID, Title: d.Name, Text: part.text, URL: addressOf(webAddress(d), d.ID), Metadata: describe(d)}
		if part.isWhole() {
			return nil, out, nil
		}
		out.Metadata["part"] = fmt.Sprintf("passages %d to %d of %d", part.from+1, part.to, d.Chunks)
		if part.to < int(d.Chunks) {
			out.Metadata["next"] = resource{datasourceID: d.ID, ordinal: part.to}.String()
		}
		return nil, out, nil
	})
}

// webAddress returns the address that a datasource was fetched from or, if it wasn't fetched, the source named in its
// metadata.
func webAddress(d domain.Datasource) string {
	if named, ok := d.Metadata["source"].(string); ok && d.Config.SourceURL == "" {
		return named
	}
	return d.Config.SourceURL
}

// describe returns the metadata that the caller gave a document, plus its properties. Properties come last so that
// metadata can't override them.
func describe(d domain.Datasource) map[string]string {
	out := map[string]string{}
	for key, value := range d.Metadata {
		if text, ok := value.(string); ok {
			out[key] = text
		} else if encoded, err := json.Marshal(value); err == nil { // cannot fail for decoded JSON
			out[key] = string(encoded)
		}
	}
	delete(out, "part")
	delete(out, "next")
	out["type"], out["datasource_id"], out["datastore_id"] = string(d.Type), d.ID, d.DatastoreID
	out["passages"] = strconv.FormatInt(d.Chunks, 10)
	for key, value := range map[string]string{"custom_id": d.CustomID, "file_name": d.Config.FileName, "mime_type": d.Config.MIMEType} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}
