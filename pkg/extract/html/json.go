package html

import (
	"encoding/json"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Limits on a page's linked data.
const (
	maxLinkedData  = 1 << 20 // maximum size of a script, in bytes
	maxLinkedDepth = 16
	maxLinkedNodes = 5000
)

// linkedData is the metadata in a page's JSON-LD.
type linkedData struct {
	types                         map[string]bool
	headline, description, site   string
	published, modified, language string
	authors, keywords             []string
	nodes, rank                   int
	subjects                      []map[string]any // possible subjects of the page, for pages with hardly any visible text
}

// wrappedScript matches a script inside comments that hide it from old browsers and XML parsers.
var wrappedScript = lazyregexp.New(`(?s)^\s*(?:<!--|/\*\s*<!\[CDATA\[\s*\*/|(?://\s*)?<!\[CDATA\[)(.*?)(?:(?://\s*)?-->|/\*\s*\]\]>\s*\*/|(?://\s*)?\]\]>)\s*$`)

// read reads a JSON-LD script. It ignores malformed scripts, which are common.
func (l *linkedData) read(script string) {
	if len(script) > maxLinkedData {
		return
	}
	if m := wrappedScript().FindStringSubmatch(script); m != nil {
		script = m[1]
	}
	script = strings.Map(func(r rune) rune {
		if r < ' ' { // JSON forbids control characters in strings, but they are common
			return ' '
		}
		return r
	}, script)
	var v any
	if json.Unmarshal([]byte(script), &v) != nil {
		return
	}
	l.visit(v, 0)
	l.collect(v, 0)
}

// visit walks a graph and reads the metadata of the entity that is most likely the page's subject.
func (l *linkedData) visit(v any, depth int) {
	if l.nodes++; depth > maxLinkedDepth || l.nodes > maxLinkedNodes {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			l.visit(e, depth+1)
		}
	case map[string]any:
		rank := 0
		for _, t := range stringsIn(v["@type"]) {
			t = t[strings.LastIndexByte(t, '/')+1:]
			if l.types == nil {
				l.types = map[string]bool{}
			}
			if len(l.types) < maxFacts && depth <= 3 {
				l.types[t] = true
			}
			rank = max(rank, subjectRank(t))
		}
		if rank > l.rank {
			l.rank = rank
			l.subject(v)
		}
		for _, key := range []string{"@graph", "mainEntity", "mainEntityOfPage"} {
			if e, ok := v[key]; ok {
				l.visit(e, depth+1)
			}
		}
	}
}

// subjectRank ranks entity types by how likely they are to be a page's subject. Rank 0 means never.
func subjectRank(t string) int {
	switch {
	case strings.HasSuffix(t, "Article") || strings.HasSuffix(t, "BlogPosting") || strings.HasSuffix(t, "Posting"), t == "Report", t == "Review":
		return 4
	case t == "Product" || t == "Recipe" || t == "QAPage" || t == "Event" || t == "HowTo" || t == "Book" || t == "Course" || t == "JobPosting" || t == "VideoObject":
		return 3
	case strings.HasSuffix(t, "Page"):
		return 2
	case t == "WebSite" || t == "Organization":
		return 1
	}
	return 0
}

// subject reads the page's metadata from an entity's properties.
func (l *linkedData) subject(v map[string]any) {
	text := func(keys ...string) string {
		for _, k := range keys {
			if s, ok := v[k].(string); ok && strings.TrimSpace(s) != "" {
				return format.OneLine(s)
			}
		}
		return ""
	}
	set := func(to *string, s string) {
		if s != "" {
			*to = s
		}
	}
	if l.rank == 1 {
		set(&l.site, text("name"))
		return
	}
	set(&l.headline, text("headline", "name"))
	set(&l.description, text("description", "abstract"))
	set(&l.published, text("datePublished", "dateCreated", "uploadDate"))
	set(&l.modified, text("dateModified"))
	set(&l.language, text("inLanguage"))
	if names := namesIn(v["publisher"]); len(names) > 0 {
		l.site = names[0]
	}
	if names := namesIn(v["author"]); len(names) > 0 {
		l.authors = names
	} else if names := namesIn(v["creator"]); len(names) > 0 {
		l.authors = names
	}
	for _, k := range stringsIn(v["keywords"]) {
		if len(l.keywords) < maxFacts {
			l.keywords = append(l.keywords, strings.Split(k, ",")...)
		}
	}
}

// stringsIn returns the strings in a value that may be a string or a list of strings.
func stringsIn(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok && len(out) < maxFacts {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// namesIn returns the names of people or organisations in v, which may hold strings or JSON-LD entities.
func namesIn(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any:
		if name, ok := v["name"]; ok {
			return stringsIn(name)
		}
	case []any:
		var out []string
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && len(out) < maxFacts {
				out = append(out, stringsIn(m["name"])...)
			} else if s, ok := e.(string); ok && len(out) < maxFacts {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
