package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/extract"
)

const limitsHead = `# Limits

<!-- Generated from the code by go generate; do not edit. -->

All input is bounded, and errors name the bound that was exceeded. The first table lists the bounds that are settings; [configuration](configuration.md) describes each. The others are fixed.

## Settings

| setting | default |
|---|---|
`

// isLimit reports whether a setting is a bound.
func isLimit(env string) bool {
	for _, part := range []string{"_LIMIT_", "_QUOTA_", "_TIMEOUT", "_MEMORY", "_CONCURRENCY", "_PER_HOST", "_TRIES", "_ATTEMPTS", "_WINDOW", "_MAX_TOKENS"} {
		if strings.Contains(env, part) {
			return true
		}
	}
	return false
}

// bound is a constant of the code, in words.
type bound struct {
	pkg, name string
	show      func(int64) string
	words     string
}

// parts of the page, in its order.
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
		{"api", "maxInstructions", bytesOf, "instructions in a request in OpenAI's format"},
		{"api", "maxModels", number, "agents that `/v1/models` lists"},
		{"api", "maxMessageBytes", bytesOf, "message of the Model Context Protocol"},
		{"api/idempotency", "maxKeptAnswer", bytesOf, "response stored for an `Idempotency-Key`"},
		{"catalog/accounts", "idempotencyExpiry", timeOf, "retention of that response"},
		{"api", "maxPlans", number, "concurrent crawl previews"},
		{"api", "maxPlanAddresses", number, "addresses that a preview requests or lists"},
	}},
	{"Documents", []bound{
		{"extract", "maxSheetRows", number, "rows of a sheet"},
		{"extract", "maxColumns", number, "cells of a row"},
		{"extract", "maxZipEntries", number, "entries of a container file (Word, PowerPoint, Excel)"},
		{"extract", "maxPart", bytesOf, "one entry, unpacked"},
		{"extract", "maxRatio", number, "compression ratio of a container file that is larger, unpacked, than the next value"},
		{"extract", "minBomb", bytesOf, "unpacked size up to which any compression ratio is accepted"},
		{"extract", "maxDepth", number, "nesting depth of elements, values and lists"},
		{"extract", "maxBlockBytes", bytesOf, "paragraph; longer ones are split"},
		{"extract", "maxURL", bytesOf, "address of a link; longer ones are dropped"},
	}},
	{"Crawling", []bound{
		{"domain", "DefaultMaxDepth", number, "links from the root of a site, unless `max_depth` is set"},
		{"crawl", "maxURLBytes", bytesOf, "address"},
		{"crawl", "maxRedirects", number, "redirects per fetch"},
		{"crawl", "maxLinksFromPage", number, "links taken from one page"},
		{"crawl", "maxHTMLBytes", bytesOf, "part of a page that is searched for links"},
		{"crawl", "maxSitemapEntries", number, "entries of one sitemap"},
		{"crawl", "maxSitemapNesting", number, "nesting depth of sitemap indexes"},
		{"crawl", "maxRobotsBytes", bytesOf, "robots.txt"},
		{"crawl", "maxCrawlDelay", timeOf, "`Crawl-delay` in robots.txt that is observed"},
		{"crawl", "maxRetryAfter", timeOf, "`Retry-After` of a host that is observed"},
		{"domain", "maxGlobs", number, "patterns in `include`, and in `exclude`"},
		{"domain", "MaxLead", number, "consecutive pages outside the `include` patterns that are read for their links"},
		{"domain", "MaxLeads", number, "such pages per site"},
		{"api/rules", "maxPatternBytes", bytesOf, "`include` and `exclude` together, as JSON"},
		{"crawl", "maxRenderRequests", number, "requests of a page in the browser"},
		{"crawl", "maxRenderBytes", bytesOf, "data loaded by a page in the browser"},
		{"domain", "MinRefresh", timeOf, "shortest interval of scheduled refreshes (a minimum)"},
	}},
}

// limits writes every bound.
func limits(b *bytes.Buffer, root string) error {
	b.WriteString(limitsHead)
	for _, s := range config.Settings() {
		if isLimit(s.Env) {
			fmt.Fprintf(b, "| `%s` | %s |\n", s.Env, shown(s.Default))
		}
	}
	known := map[string]constants{}
	for _, part := range parts {
		fmt.Fprintf(b, "\n## %s\n\n| bound | at most |\n|---|---|\n", part.title)
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
			fmt.Fprintf(b, "| %s | %s |\n", l.words, l.show(n))
		}
	}
	return fields(b, root)
}

func shown(value string) string {
	if value == "" {
		return "–"
	}
	return "`" + value + "`"
}

func documents(b *bytes.Buffer) {
	l := extract.DefaultLimits()
	for _, row := range [][2]string{
		{"file", bytesOf(l.MaxInput)},
		{"text of a document", bytesOf(l.MaxText)},
		{"container file, unpacked", bytesOf(l.MaxUnpacked)},
		{"headings, paragraphs, items and rows of a document", number(int64(l.MaxBlocks))},
		{"pages or slides", number(int64(l.MaxPages))},
		{"cells of a spreadsheet or table", number(int64(l.MaxCells))},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", row[0], row[1])
	}
}

// fields writes the bounds of the fields of requests, from the OpenAPI document. Fields with the same bounds share a row.
func fields(b *bytes.Buffer, root string) error {
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(root, "pkg", "api", "openapi.yaml"))
	if err != nil {
		return fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	rows := map[string]map[string][]string{} // by schema or parameters, field: the bounds, of which a field with alternatives has several
	add := func(of, field, bounds string) {
		if bounds == "" {
			return
		}
		if rows[of] == nil {
			rows[of] = map[string][]string{}
		}
		if !slices.Contains(rows[of][field], bounds) {
			rows[of][field] = append(rows[of][field], bounds)
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				add("Parameters", p.Value.Name, boundsOf(p.Value.Schema.Value))
			}
			if op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Value.Content {
				walk(media.Schema, "Body", "", 0, add)
			}
		}
	}
	b.WriteString("\n## Fields\n\nBounds of fields in requests. The schemas are those of the [API reference](../pkg/api/openapi.yaml); `[]` means each item of a list.\n\n" +
		"| schema | field | |\n|---|---|---|\n")
	schemas := map[[2]string][]string{} // by field and bounds
	for _, of := range slices.Sorted(maps.Keys(rows)) {
		for field, bounds := range rows[of] {
			slices.Sort(bounds)
			key := [2]string{"`" + field + "`", strings.Join(bounds, ", or ")}
			schemas[key] = append(schemas[key], of)
		}
	}
	names := map[[2]string][]string{} // of fields, by schemas and bounds
	for key, of := range schemas {
		shared := [2]string{strings.Join(of, ", "), key[1]}
		names[shared] = append(names[shared], key[0])
	}
	for _, shared := range slices.SortedFunc(maps.Keys(names), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		slices.Sort(names[shared])
		fmt.Fprintf(b, "| %s | %s | %s |\n", shared[0], strings.Join(names[shared], ", "), shared[1])
	}
	return nil
}

// walk passes the bounds of a schema's fields, nested ones included, to add.
func walk(ref *openapi3.SchemaRef, of, path string, depth int, add func(of, field, bounds string)) {
	if ref == nil || ref.Value == nil || depth > 8 {
		return
	}
	if name := ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]; name != "" && ref.Value.Properties != nil {
		of, path = name, ""
	}
	s := ref.Value
	if path != "" {
		add(of, path, boundsOf(s))
	}
	for name, property := range s.Properties {
		at := name
		if path != "" {
			at = path + "." + name
		}
		walk(property, of, at, depth+1, add)
	}
	walk(s.Items, of, path+"[]", depth+1, add)
	for _, alternatives := range []openapi3.SchemaRefs{s.AllOf, s.OneOf, s.AnyOf} {
		for _, one := range alternatives {
			walk(one, of, path, depth+1, add)
		}
	}
}

// boundsOf puts the bounds of a schema into words, "" when it has none.
func boundsOf(s *openapi3.Schema) string {
	var out []string
	whole := func(v float64) string {
		if v == float64(int64(v)) {
			return number(int64(v))
		}
		return fmt.Sprint(v)
	}
	switch {
	case s.Min != nil && s.Max != nil && s.Extensions["x-unlimited"] != nil:
		out = append(out, fmt.Sprintf("%s to %s, or %v for no limit", whole(*s.Min), whole(*s.Max), s.Extensions["x-unlimited"]))
	case s.Min != nil && s.Max != nil:
		out = append(out, whole(*s.Min)+" to "+whole(*s.Max))
	case s.Max != nil:
		out = append(out, "at most "+whole(*s.Max))
	case s.Min != nil:
		out = append(out, "at least "+whole(*s.Min))
	}
	if s.MaxLength != nil {
		out = append(out, "at most "+number(int64(*s.MaxLength))+" characters")
	}
	if s.MaxItems != nil {
		out = append(out, "at most "+number(int64(*s.MaxItems))+" items")
	}
	if s.MaxProps != nil {
		out = append(out, "at most "+number(int64(*s.MaxProps))+" names")
	}
	if s.Default != nil && out != nil {
		out = append(out, fmt.Sprintf("default %v", s.Default))
	}
	return strings.Join(out, "; ")
}
