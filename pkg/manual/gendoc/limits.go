package main

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/sluice/sluice/pkg/extract"
)

const limitsHead = `# Limits

<!-- Generated from the code by go generate; do not edit. -->

All input is limited in size, and errors name the limit that was exceeded. The limits on this page are fixed. Settings change the others: [sizes and rates](configuration.md#limits), [quotas](configuration.md#quotas), [concurrent requests](configuration.md#overload), [ingestion](configuration.md#ingestion), [crawling](configuration.md#crawler) and [models](configuration.md#answers).
`

// bound is a constant in the code, with its description for the limits page.
type bound struct {
	pkg, name string
	format    func(int64) string
	words     string
}

// parts are the sections of the limits page, in order.
var parts = []struct {
	title  string
	bounds []bound
}{
	{"Requests", []bound{
		{"api/jsonbody", "maxDepth", number, "nesting depth of a JSON body"},
		{"api/jsonbody", "maxFields", number, "fields of a body that are checked for unknown names"},
		{"api/upload", "maxParts", number, "parts of a multipart upload"},
		{"api/upload", "maxFieldBytes", bytesOf, "field of a multipart upload, other than the file"},
		{"api/upload", "maxNameChars", number, "characters of a file's name"},
		{"api/upload", "MaxCustomID", number, "characters of a `custom_id`"},
		{"domain", "MaxMetadataBytes", bytesOf, "metadata of a datasource, as JSON"},
		{"api/jsonbody", "maxFilterValues", number, "alternatives in one filter"},
		{"filter", "MaxDepth", number, "levels of and, or and not in a filter"},
		{"filter", "MaxConditions", number, "conditions in a filter"},
		{"filter", "MaxBytes", bytesOf, "filter as JSON"},
		{"retrieve", "MaxFacetKeys", number, "keys in `facets`"},
		{"retrieve", "MaxFacetValues", number, "values per key in `facets`"},
		{"boost", "MaxBoosts", number, "boosts"},
		{"searchsettings", "MaxSynonyms", number, "synonym rules in a datastore"},
		{"searchsettings", "MaxPins", number, "pins in a datastore"},
		{"searchsettings", "MaxBytes", bytesOf, "search settings of a datastore, as JSON"},
		{"api/transfer", "MinRate", bytesOf, "average data per second of a request body, after the first 30 seconds (a minimum)"},
		{"api", "maxInstructions", bytesOf, "instructions in a request in OpenAI's format"},
		{"api", "maxModels", number, "agents that `/v1/models` lists"},
		{"api/openai/inference", "maxInputs", number, "texts in a request for embeddings"},
		{"rerank", "MaxPassages", number, "documents in a request for reranking"},
		{"api", "maxMessageBytes", bytesOf, "message of the Model Context Protocol"},
		{"api/idempotency", "maxStoredResponse", bytesOf, "response stored for an `Idempotency-Key`"},
		{"catalog/accounts", "idempotencyExpiry", timeOf, "retention of that response"},
		{"api", "maxPlans", number, "concurrent crawl previews"},
		{"api", "maxPlanAddresses", number, "addresses that a crawl preview requests or lists"},
	}},
	{"Documents", []bound{
		{"extract/format", "MaxSheetRows", number, "rows of a sheet"},
		{"extract/format", "MaxColumns", number, "cells of a row"},
		{"extract/format", "MaxZipEntries", number, "entries of a container file (Word, PowerPoint, Excel)"},
		{"extract/format", "MaxPart", bytesOf, "single entry of a container file, unpacked"},
		{"extract/format", "MaxRatio", number, "compression ratio of container files and ZIP archives that unpack to more than the next value"},
		{"extract/format", "MinBomb", bytesOf, "unpacked size accepted with any compression ratio"},
		{"extract/archive", "MaxPath", number, "characters of a path in a ZIP archive"},
		{"extract/format", "MaxDepth", number, "nesting depth of elements, values and lists"},
		{"extract/format", "MaxBlockBytes", bytesOf, "paragraph; longer ones are split"},
		{"extract/format", "MaxURL", bytesOf, "address of a link; longer ones are dropped"},
		{"extract/format", "MaxPicturePixels", number, "pixels of a picture whose text is recognised"},
		{"extract/format", "MaxPictureBytes", bytesOf, "picture within a document whose text is recognised"},
		{"extract", "PictureTime", timeOf, "recognition of the text in a document's pictures, without waiting"},
	}},
	{"Crawling", []bound{
		{"domain", "DefaultMaxDepth", number, "links from the root of a site, unless `max_depth` is set"},
		{"crawl/weburl", "MaxBytes", bytesOf, "address"},
		{"crawl", "maxRedirects", number, "redirects per fetch"},
		{"crawl", "maxLinksFromPage", number, "links taken from one page"},
		{"crawl", "maxHTMLBytes", bytesOf, "part of a page searched for links"},
		{"crawl/sitemap", "MaxEntries", number, "entries of one sitemap"},
		{"crawl", "maxSitemapNesting", number, "nesting depth of sitemap indexes"},
		{"crawl", "maxRobotsBytes", bytesOf, "robots.txt"},
		{"crawl", "maxCrawlDelay", timeOf, "`Crawl-delay` in robots.txt that the crawler respects"},
		{"crawl", "maxRetryAfter", timeOf, "`Retry-After` of a host that the crawler respects"},
		{"domain", "maxGlobs", number, "patterns in `include`, and in `exclude`"},
		{"domain", "MaxLead", number, "consecutive pages outside the `include` patterns that are read for their links"},
		{"domain", "MaxLeads", number, "pages of a site that are read only for their links"},
		{"api/rules", "maxPatternBytes", bytesOf, "`include` and `exclude` together, as JSON"},
		{"crawl", "maxRenderRequests", number, "requests made by a rendered page"},
		{"crawl", "maxRenderBytes", bytesOf, "data loaded by a rendered page"},
		{"domain", "MinRefresh", timeOf, "interval between scheduled refreshes (a minimum)"},
	}},
}

func limits(b *bytes.Buffer, root string) error {
	b.WriteString(limitsHead)
	known := map[string]constants{}
	for _, part := range parts {
		fmt.Fprintf(b, "\n## %s\n\n| limit | maximum |\n|---|---|\n", part.title)
		if part.title == "Documents" {
			documents(b)
		}
		for _, l := range part.bounds {
			if known[l.pkg] == nil {
				all, err := declared(filepath.Join(root, "pkg", l.pkg))
				if err != nil {
					return err
				}
				known[l.pkg] = all
			}
			n, err := known[l.pkg].value(l.name)
			if err != nil {
				return fmt.Errorf("package %s: %w", l.pkg, err)
			}
			fmt.Fprintf(b, "| %s | %s |\n", l.words, l.format(n))
		}
	}
	b.WriteString("\nThe [API reference](../pkg/api/openapi.yaml) lists the limits of each request field.\n")
	return nil
}

func documents(b *bytes.Buffer) {
	l := extract.DefaultLimits()
	for _, row := range [][2]string{
		{"file, if `SLUICE_LIMIT_UPLOAD` (100 MiB) is not lower", bytesOf(l.MaxInput)},
		{"text of a document", bytesOf(l.MaxText)},
		{"container file, unpacked", bytesOf(l.MaxUnpacked)},
		{"headings, paragraphs, items and rows of a document", number(int64(l.MaxBlocks))},
		{"pages or slides", number(int64(l.MaxPages))},
		{"cells of a spreadsheet or table", number(int64(l.MaxCells))},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", row[0], row[1])
	}
}
