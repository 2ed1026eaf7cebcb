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

Everything that comes from outside has a bound, and the error of what goes beyond it names the bound. Those of the first table are settings;
the others are part of the program. A number is what is still allowed.

## Settings

| setting | default | |
|---|---|---|
`

// isLimit says of a setting that it bounds something.
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
		{"api/jsonbody", "maxDepth", number, "levels of arrays and objects in a JSON body"},
		{"api/jsonbody", "maxFields", number, "fields of a body that are looked at for those that are not known"},
		{"api", "maxParts", number, "parts of a multipart upload"},
		{"api", "maxFieldBytes", bytesOf, "of a field of one, other than the file"},
		{"api", "maxNameChars", number, "characters of a file's name"},
		{"api", "maxCustomID", number, "characters of a `custom_id`"},
		{"domain", "MaxMetadataBytes", bytesOf, "of a datasource's metadata, as JSON"},
		{"api/jsonbody", "maxFilterValues", number, "alternatives of one filter"},
		{"api", "maxInstructions", bytesOf, "of instructions in a request of OpenAI's form"},
		{"api", "maxModels", number, "agents that `/v1/models` lists"},
		{"api", "maxMessageBytes", bytesOf, "of a message of the Model Context Protocol"},
		{"api", "maxKeptAnswer", bytesOf, "of an answer that is kept for its `Idempotency-Key`"},
		{"catalog", "idempotencyExpiry", timeOf, "for which it is kept"},
		{"api", "maxPlans", number, "previews of crawls that are made at once"},
		{"api", "maxPlanAddresses", number, "addresses that a preview asks for or lists"},
	}},
	{"Documents", []bound{
		{"extract", "maxSheetRows", number, "rows of a sheet"},
		{"extract", "maxColumns", number, "cells of a row"},
		{"extract", "maxZipEntries", number, "entries of a container (Word, PowerPoint, Excel)"},
		{"extract", "maxPart", bytesOf, "of one part of it, unpacked"},
		{"extract", "maxRatio", number, "times its size that a container may unpack to, once that is more than the next"},
		{"extract", "minBomb", bytesOf, "unpacked, below which any ratio is taken"},
		{"extract", "maxDepth", number, "levels of elements, values and lists"},
		{"extract", "maxBlockBytes", bytesOf, "of a paragraph; a longer one is split"},
		{"extract", "maxURL", bytesOf, "of a link's address; a longer one is left out"},
	}},
	{"Crawling", []bound{
		{"domain", "DefaultMaxDepth", number, "links from the root of a site, unless it says otherwise"},
		{"crawl", "maxURLBytes", bytesOf, "of an address"},
		{"crawl", "maxRedirects", number, "redirects of one fetch"},
		{"crawl", "maxLinksFromPage", number, "links that are taken from one page"},
		{"crawl", "maxHTMLBytes", bytesOf, "of a page in which links are looked for"},
		{"crawl", "maxSitemapEntries", number, "entries of one sitemap"},
		{"crawl", "maxSitemapNesting", number, "levels of sitemaps that name sitemaps"},
		{"crawl", "maxRobotsBytes", bytesOf, "of a robots.txt"},
		{"crawl", "maxCrawlDelay", timeOf, "between two requests that a robots.txt may ask for"},
		{"crawl", "maxRetryAfter", timeOf, "that a host may ask to be left alone"},
		{"domain", "maxGlobs", number, "patterns in `include` and in `exclude`"},
		{"domain", "MaxLead", number, "pages in a row that no `include` pattern takes, read for their links"},
		{"domain", "MaxLeads", number, "such pages of one site"},
		{"api", "maxPatternBytes", bytesOf, "of them together, as JSON"},
		{"crawl", "maxRenderRequests", number, "requests of a page that a browser renders"},
		{"crawl", "maxRenderBytes", bytesOf, "that it loads for one"},
		{"domain", "MinRefresh", timeOf, "between two scheduled refreshes, at least"},
	}},
}

// limits writes every bound.
func limits(b *bytes.Buffer, root string) error {
	b.WriteString(limitsHead)
	for _, s := range config.Settings() {
		if isLimit(s.Env) {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", s.Env, shown(s.Default), s.Doc)
		}
	}
	known := map[string]constants{}
	for _, part := range parts {
		fmt.Fprintf(b, "\n## %s\n\n| at most | |\n|---|---|\n", part.title)
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
			fmt.Fprintf(b, "| %s | %s |\n", l.show(n), l.words)
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
	fmt.Fprintf(b, "| %s | of a file that is read |\n| %s | of text that a document yields |\n| %s | that a container unpacks to |\n",
		bytesOf(l.MaxInput), bytesOf(l.MaxText), bytesOf(l.MaxUnpacked))
	fmt.Fprintf(b, "| %s | headings, paragraphs, items and rows of a document |\n| %s | pages or slides |\n| %s | cells of a spreadsheet or table |\n",
		number(int64(l.MaxBlocks)), number(int64(l.MaxPages)), number(int64(l.MaxCells)))
}

// fields writes the bounds of what requests hold, as the OpenAPI document has them.
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
	b.WriteString("\n## Fields\n\nOf request bodies, by the names that the [API reference](../pkg/api/openapi.yaml) has for them.\n\n| of | field | |\n|---|---|---|\n")
	for _, of := range slices.Sorted(maps.Keys(rows)) {
		for _, field := range slices.Sorted(maps.Keys(rows[of])) {
			slices.Sort(rows[of][field])
			fmt.Fprintf(b, "| %s | `%s` | %s |\n", of, field, strings.Join(rows[of][field], ", or "))
		}
	}
	return nil
}

// walk tells the bounds of a schema's fields, and of those within them.
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
