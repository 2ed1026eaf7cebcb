package milvus

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
)

// A row stores a list of hashes: one for its custom id and one per filterable metadata value. Comparing hashes is
// exact, as index.Filter requires, regardless of how the server treats numbers, types and quotes. It also keeps user
// input out of expressions.

// Prefixes that distinguish custom id hashes from metadata hashes.
const (
	customIDFacet = "c"
	metadataFacet = "m"
)

// facet returns 64 bits of a filterable value's SHA-256, enough to make accidental collisions negligible.
func facet(kind string, parts ...string) int64 {
	h := sha256.New()
	_, _ = h.Write([]byte(kind)) // writing to a hash never fails
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(p))
	}
	// An expression can't contain the minimum int64 as a literal, so clear the sign bit.
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)) >> 1)
}

// facets returns the hashes of a row's filterable values.
func facets(r *index.Row) ([]int64, error) {
	metadata, err := index.Facets(r.Metadata)
	if err != nil {
		return nil, err
	}
	var out []int64
	if r.CustomID != "" {
		out = append(out, facet(customIDFacet, r.CustomID))
	}
	for _, f := range metadata {
		out = append(out, facet(metadataFacet, f.Key, f.Value))
	}
	return out, nil
}

// conditions converts a filter, except for Where (see restrict), to an expression for a datastore's rows. If no row can
// match, `none` is true.
func conditions(datastoreID string, f index.Filter) (expr string, none bool, err error) {
	all := []string{equals(fieldDatastore, datastoreID)}
	if f.DatasourceIDs != nil {
		var ids []string
		for _, id := range f.DatasourceIDs {
			if validDatasource(id) { // others can't have rows
				ids = append(ids, quote(id))
			}
		}
		none = none || len(ids) == 0
		all = append(all, fieldDatasource+" in ["+strings.Join(ids, ",")+"]")
	}
	if f.CustomIDs != nil {
		var hashes []int64
		for _, id := range f.CustomIDs {
			if id != "" {
				hashes = append(hashes, facet(customIDFacet, id))
			}
		}
		none = none || len(hashes) == 0
		all = append(all, containsAny(hashes))
	}
	for key, value := range f.Metadata {
		values, err := index.Alternatives(key, value)
		if err != nil {
			return "", false, err
		}
		var hashes []int64
		for _, v := range values {
			hashes = append(hashes, facet(metadataFacet, key, v))
		}
		none = none || len(hashes) == 0
		all = append(all, containsAny(hashes))
	}
	return strings.Join(all, " && "), none, nil
}

func containsAny(hashes []int64) string {
	if len(hashes) == 1 {
		return "array_contains(" + fieldFacets + ", " + strconv.FormatInt(hashes[0], 10) + ")"
	}
	list := lists.Map(hashes, func(h int64) string { return strconv.FormatInt(h, 10) })
	return "array_contains_any(" + fieldFacets + ", [" + strings.Join(list, ",") + "])"
}

// quote returns a string literal for an expression. Callers pass only valid ids, which don't need escaping, but it
// escapes special characters anyway.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			b.WriteString(`\x`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func equals(field, value string) string { return field + " == " + quote(value) }

func inExpr(field string, values []string) string {
	quoted := lists.Map(values, quote)
	return field + " in [" + strings.Join(quoted, ",") + "]"
}
