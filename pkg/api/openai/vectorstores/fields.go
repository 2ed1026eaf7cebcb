package vectorstores

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/rules"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on metadata and attributes, the same as OpenAI's.
const (
	maxPairs      = 16
	maxKeyChars   = 64
	maxValueChars = 512
)

// optional is a field that can be absent, null or an object.
type optional[T any] struct {
	given bool
	value *T // nil for null
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *optional[T]) UnmarshalJSON(text []byte) error {
	o.given = true
	if string(text) == "null" {
		return nil
	}
	o.value = new(T)
	return json.Unmarshal(text, o.value)
}

// metadataOf checks a vector store's metadata.
func metadataOf(faults *openai.Faults, field string, given map[string]any) map[string]string {
	out := make(map[string]string, len(given))
	if len(given) > maxPairs {
		faults.Add(field, "has %d keys; the limit is %d", len(given), maxPairs)
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		checkKey(faults, field, key)
		text, isText := given[key].(string)
		if !isText {
			faults.Add(jsonbody.Join(field, key), "is %s; it must be a string", jsonbody.Describe(given[key]))
		}
		checkValue(faults, jsonbody.Join(field, key), text)
		out[key] = text
	}
	return out
}

func checkKey(faults *openai.Faults, field, key string) {
	if n := utf8.RuneCountInString(key); n == 0 || n > maxKeyChars {
		faults.Add(field, "has the key %s with %d characters; keys must have 1 to %d", jsonbody.Describe(key), n, maxKeyChars)
	}
}

func checkValue(faults *openai.Faults, field, text string) {
	if n := utf8.RuneCountInString(text); n > maxValueChars {
		faults.Add(field, "has %d characters; the limit is %d", n, maxValueChars)
	}
}

// attributesOf checks a file's attributes. It returns nil if there are none.
func attributesOf(faults *openai.Faults, field string, given map[string]any) map[string]any {
	if len(given) > maxPairs {
		faults.Add(field, "has %d keys; the limit is %d", len(given), maxPairs)
		return given
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		checkKey(faults, field, key)
		switch v := given[key].(type) {
		case string:
			checkValue(faults, jsonbody.Join(field, key), v)
		case float64, bool:
		default:
			faults.Add(jsonbody.Join(field, key), "is %s; it must be a string, a number, true or false", jsonbody.Describe(v))
		}
	}
	faults.Append(rules.MetadataFaults(field, given)...)
	return given
}

// attributesIn returns the metadata values that OpenAI's clients accept as attributes.
func attributesIn(metadata map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range metadata {
		switch v.(type) {
		case string, float64, bool, int, int64:
			out[key] = v
		}
	}
	return out
}

// withAttributes replaces the attributes in metadata. It leaves values that can't be attributes alone, unless a new
// attribute has the same key.
func withAttributes(metadata, attributes map[string]any) map[string]any {
	out := maps.Clone(attributes)
	if out == nil {
		out = map[string]any{}
	}
	shown := attributesIn(metadata)
	for key, v := range metadata {
		if _, isAttribute := shown[key]; isAttribute {
			continue
		}
		if _, taken := out[key]; !taken {
			out[key] = v
		}
	}
	return out
}

// Limits and defaults for chunk sizes, the same as OpenAI's.
const (
	minChunkTokens      = 100
	maxChunkTokens      = 4096
	defaultChunkTokens  = 800
	defaultChunkOverlap = 400
)

type strategy struct {
	Type   string          `json:"type"`
	Static *staticStrategy `json:"static,omitempty"`
}

type staticStrategy struct {
	MaxChunkSizeTokens int  `json:"max_chunk_size_tokens"`
	ChunkOverlapTokens *int `json:"chunk_overlap_tokens"`
}

// chunkingOf checks a chunking strategy. It returns nil for auto.
func chunkingOf(faults *openai.Faults, field string, s *strategy) *domain.FileChunking {
	switch {
	case s == nil || s.Type == "auto":
		return nil
	case s.Type != "static":
		faults.Add(field+".type", "is %s; it must be auto or static", jsonbody.Describe(s.Type))
		return nil
	case s.Static == nil:
		faults.Add(field+".static", `is required for the type static: {"max_chunk_size_tokens": %d, "chunk_overlap_tokens": %d}`, defaultChunkTokens, defaultChunkOverlap)
		return nil
	}
	c := domain.FileChunking{MaxTokens: s.Static.MaxChunkSizeTokens}
	if c.MaxTokens < minChunkTokens || c.MaxTokens > maxChunkTokens {
		faults.Add(field+".static.max_chunk_size_tokens", "is %d; it must be between %d and %d", c.MaxTokens, minChunkTokens, maxChunkTokens)
	}
	if s.Static.ChunkOverlapTokens != nil {
		c.OverlapTokens = *s.Static.ChunkOverlapTokens
	}
	if c.OverlapTokens < 0 || c.OverlapTokens > c.MaxTokens/2 {
		faults.Add(field+".static.chunk_overlap_tokens", "is %d; it must be between 0 and %d, half of max_chunk_size_tokens", c.OverlapTokens, c.MaxTokens/2)
	}
	return &c
}

// renderChunking returns a file's strategy. "auto" is shown as the datastore's sizes.
func renderChunking(c *domain.FileChunking, of domain.Chunking) strategy {
	if c == nil {
		_, limit := of.Sizes()
		c = &domain.FileChunking{MaxTokens: limit}
	}
	return strategy{Type: "static", Static: &staticStrategy{MaxChunkSizeTokens: c.MaxTokens, ChunkOverlapTokens: &c.OverlapTokens}}
}

// Maximum lifetime of a vector store in days.
const maxExpiryDays = 365

// expiry is a vector store's `expires_after` field.
type expiry struct {
	Anchor string `json:"anchor"`
	Days   int    `json:"days"`
}

// daysOf checks an expiry and returns its number of days. 0 means that the vector store never expires.
func daysOf(faults *openai.Faults, e *expiry) int {
	if e == nil {
		return 0
	}
	if e.Anchor != "last_active_at" {
		faults.Add("expires_after.anchor", `is %s; it must be "last_active_at"`, jsonbody.Describe(e.Anchor))
	}
	if e.Days < 1 || e.Days > maxExpiryDays {
		faults.Add("expires_after.days", "is %d; it must be between 1 and %d", e.Days, maxExpiryDays)
	}
	return e.Days
}

const (
	maxNameChars        = 256
	maxDescriptionChars = 2000
	maxFileID           = 100 // bytes
)

func checkChars(faults *openai.Faults, field, text string, limit int) {
	if n := utf8.RuneCountInString(text); n > limit {
		faults.Add(field, "has %d characters; the limit is %d", n, limit)
	}
}

// fileID returns a file's id in Sluice. Text that can't be one is returned unchanged and later reported as a missing
// file.
func fileID(faults *openai.Faults, field, text string) string {
	switch {
	case text == "":
		faults.Add(field, "is required; send the id of a file")
	case len(text) > maxFileID:
		faults.Add(field, "has %d bytes, which is longer than any file id", len(text))
	}
	if id, err := openai.File.Parse(text); err == nil {
		return id
	}
	return text
}

// fileIDs is fileID for a list.
func fileIDs(faults *openai.Faults, field string, texts []string, limit int) []string {
	if len(texts) > limit {
		faults.Add(field, "has %d ids; the limit is %d; send the rest in another request", len(texts), limit)
		return nil
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = fileID(faults, fmt.Sprintf("%s[%d]", field, i), text)
	}
	return out
}
