package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/domain"
)

const resourcesAtOnce = 100

// addResources serves the datasources as resources, listed page by page because there may be millions.
func addResources(server *sdk.Server, lib Library) {
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name:        "datasource",
		Title:       "Document",
		Description: "The text of a datasource: a file, web page or text. A long text is returned in parts; _meta.next is the address of the next part.",
		MIMEType:    textType,
		URITemplate: resourcePrefix + "{id}{?from}",
	}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return readResource(ctx, lib, req.Params.URI)
	})
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if list, ok := req.(*sdk.ListResourcesRequest); ok {
				return listResources(ctx, lib, list.Params)
			}
			return next(ctx, method, req)
		}
	})
}

const textType = "text/plain"

func listResources(ctx context.Context, lib Library, params *sdk.ListResourcesParams) (*sdk.ListResourcesResult, error) {
	cursor := ""
	if params != nil {
		cursor = params.Cursor
	}
	datasources, next, err := lib.Datasources(ctx, cursor, resourcesAtOnce)
	if err != nil {
		return nil, protocolError(err)
	}
	out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, NextCursor: next}
	out.CacheScope = privateScope
	for _, d := range datasources {
		if !hasText(d) {
			continue // pages may be shorter than the limit
		}
		out.Resources = append(out.Resources, &sdk.Resource{
			URI: resourceURI(d.ID, 0), Name: d.ID, Title: d.Name, Description: d.Config.SourceURL, MIMEType: textType, Size: d.TextBytes,
		})
	}
	return out, nil
}

func readResource(ctx context.Context, lib Library, uri string) (*sdk.ReadResourceResult, error) {
	where, ok := parseURI(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	d, part, err := readDocument(ctx, lib, where)
	if domain.CodeOf(err) == domain.CodeNotFound && d.ID == "" {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, protocolError(err)
	}
	content := &sdk.ResourceContents{URI: uri, MIMEType: textType, Text: part.text}
	if part.to < part.of {
		content.Meta = sdk.Meta{"next": resourceURI(d.ID, part.to)}
	}
	out := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}
	out.CacheScope = privateScope
	return out, nil
}
