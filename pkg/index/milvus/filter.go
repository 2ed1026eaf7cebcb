package milvus

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/index"
)

// What filters ask for is kept beside the row as a list of hashes, one for its custom id and one for each metadata
// value that can be filtered. So equality is exactly the contract's, whatever the server's expressions think of numbers,
// types and quotes, and nothing that a user wrote gets into an expression.

// customIDFacet and metadataFacet keep hashes of different kinds apart.
const (
	customIDFacet = "c"
	metadataFacet = "m"
)

// facet hashes the parts of what can be filtered. 64 bits of SHA-256: no two values of a datastore meet by chance.
func facet(kind string, parts ...string) int64 {
	h := sha256.New()
	_, _ = h.Write([]byte(kind)) // a hash never fails
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(p))
	}
	// A literal of the lowest number cannot be written in an expression, so the sign bit is left out.
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)) >> 1)
}

// facets lists what of a row can be filtered.
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

// conditions writes a filter as conditions on rows of a datastore. none says that no row can match.
func conditions(datastoreID string, f index.Filter) (expr string, none bool, err error) {
	all := []string{equals(fieldDatastore, datastoreID)}
	if f.DatasourceIDs != nil {
		var ids []string
		for _, id := range f.DatasourceIDs {
			if validDatasource(id) { // no row has another
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
	list := make([]string, len(hashes))
	for i, h := range hashes {
		list[i] = strconv.FormatInt(h, 10)
	}
	return "array_contains_any(" + fieldFacets + ", [" + strings.Join(list, ",") + "])"
}

// quote writes a text as a literal of an expression. Only ids without quotes, backslashes and control characters come
// here, but what an expression holds is escaped all the same.
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

func oneOf(field string, values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return field + " in [" + strings.Join(quoted, ",") + "]"
}
