package markdown

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// maxFrontMatter is the maximum size of front matter in bytes.
const maxFrontMatter = 64 << 10

// splitFrontMatter separates the YAML or TOML block at the top of a file from the Markdown below it.
func splitFrontMatter(source string) (front, body string) {
	for _, fence := range []string{"---", "+++"} {
		first, rest, ok := strings.Cut(source, "\n")
		if !ok || strings.TrimRight(first, " \t") != fence {
			continue
		}
		for at := 0; at < len(rest) && at < maxFrontMatter; {
			line, _, _ := strings.Cut(rest[at:], "\n")
			if mark := strings.TrimRight(line, " \t"); mark == fence || mark == "..." && fence == "---" {
				if at > 0 && !strings.ContainsAny(rest[:at], ":=") {
					break // text between two horizontal rules, not front matter
				}
				return rest[:at], rest[min(at+len(line)+1, len(rest)):]
			}
			at += len(line) + 1
		}
	}
	return "", source
}

// frontKeys maps front matter keys to the metadata keys of all formats.
var frontKeys = map[string]string{
	"author": domain.MetaAuthor, "authors": domain.MetaAuthor, "date": domain.MetaCreated, "created": domain.MetaCreated, "published": domain.MetaCreated,
	"pubdate": domain.MetaCreated, "lastmod": domain.MetaModified, "modified": domain.MetaModified, "updated": domain.MetaModified, "last_modified_at": domain.MetaModified,
	"description": domain.MetaDescription, "summary": domain.MetaDescription, "excerpt": domain.MetaDescription, "tags": domain.MetaKeywords,
	"keywords": domain.MetaKeywords, "canonical": domain.MetaURL, "canonical_url": domain.MetaURL, "canonicalurl": domain.MetaURL,
}

var startsWithDate = lazyregexp.New(`^\d{4}-\d\d-\d\d`)

// frontMatter records the title, language and metadata from the front matter.
func frontMatter(p *format.Parser, front string) {
	for _, f := range frontFields(front) {
		key := strings.ToLower(f.key)
		switch meta := frontKeys[key]; {
		case key == "title":
			p.Doc.Title = f.values[0]
		case key == "lang" || key == "language" || key == "locale":
			p.Doc.Language = f.values[0]
		case meta == domain.MetaCreated || meta == domain.MetaModified:
			if date := startsWithDate().FindString(f.values[0]); date != "" {
				p.Meta(meta, date)
			}
		case meta == domain.MetaKeywords && len(f.values) == 1:
			p.Meta(meta, strings.Join(splitList(f.values[0]), "; "))
		case meta != "":
			p.Meta(meta, strings.Join(f.values, "; "))
		default:
			p.Meta(key, strings.Join(f.values, "; "))
		}
	}
}

// frontField is a key in the front matter, with one or more values.
type frontField struct {
	key    string
	values []string
}

// frontFields reads unindented "key: value" and "key = value" lines. Lists may be in brackets or on separate lines.
// Deeper structure is machine-readable data, so it is skipped.
func frontFields(front string) []frontField {
	var fields []frontField
	key := ""
	add := func(value string) {
		value = unquoteFront(value)
		switch {
		case key == "" || value == "":
		case len(fields) > 0 && fields[len(fields)-1].key == key:
			fields[len(fields)-1].values = append(fields[len(fields)-1].values, value)
		default:
			fields = append(fields, frontField{key, []string{value}})
		}
	}
	for line := range strings.SplitSeq(front, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if item, ok := strings.CutPrefix(trimmed, "- "); ok {
			if name, value, pair := strings.Cut(item, ": "); pair && strings.EqualFold(name, "name") {
				item = value
			}
			add(item)
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if !strings.Contains(trimmed, ": ") {
				add(trimmed) // the value continues on this line
			}
			continue
		}
		if trimmed[0] == '[' { // a TOML table
			break
		}
		at := strings.IndexAny(line, ":=")
		if at < 0 {
			continue
		}
		key = strings.Trim(strings.TrimSpace(line[:at]), `"'`)
		value := strings.TrimSpace(line[at+1:])
		if strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") {
			for _, v := range splitList(value[1 : len(value)-1]) {
				add(v)
			}
			continue
		}
		if value = strings.TrimSpace(value); value != "|" && value != ">" && value != "|-" && value != ">-" && !strings.HasPrefix(value, "{") {
			add(value)
		}
	}
	return fields
}

func splitList(s string) []string {
	var out []string
	for v := range strings.SplitSeq(s, ",") {
		if v = unquoteFront(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func unquoteFront(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	if at := strings.Index(s, " #"); at >= 0 {
		s = strings.TrimSpace(s[:at])
	}
	return s
}
