package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/sluice/sluice/pkg/index"
)

// What filters ask for is indexed beside the words, as terms that no text can yield: they begin with a control character
// and the field's letter. So a filter is resolved like a word, and is exact.
const (
	facetMark       = "\x01"
	datasourceFacet = facetMark + "d"
	customIDFacet   = facetMark + "c"
	metadataFacet   = facetMark + "m"
)

// maxFacetBytes is the longest filter term; a longer one is replaced by its SHA-256.
const maxFacetBytes = 120

func facet(kind, value string) string {
	if len(value) <= maxFacetBytes {
		return kind + "=" + value
	}
	sum := sha256.Sum256([]byte(value))
	return kind + "#" + string(sum[:])
}

// facets lists the filter terms of a row.
func facets(r *index.Row) []string {
	out := []string{facet(datasourceFacet, r.DatasourceID)}
	if r.CustomID != "" {
		out = append(out, facet(customIDFacet, r.CustomID))
	}
	for key, value := range r.Metadata {
		if v, ok := scalar(value); ok {
			out = append(out, metadataTerm(key, v))
		}
	}
	return out
}

func metadataTerm(key, value string) string {
	return facet(metadataFacet, strconv.Itoa(len(key))+":"+key+value)
}

// scalar returns what identifies a string, number or boolean of metadata; a number is the same whatever type holds it.
func scalar(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return "s" + x, true
	case bool:
		return "b" + strconv.FormatBool(x), true
	case json.Number:
		f, err := x.Float64()
		return number(f), err == nil
	}
	switch x := reflect.ValueOf(v); {
	case !x.IsValid():
		return "", false
	case x.CanInt():
		return number(float64(x.Int())), true
	case x.CanUint():
		return number(float64(x.Uint())), true
	case x.CanFloat():
		return number(x.Float()), !math.IsNaN(x.Float())
	}
	return "", false
}

func number(f float64) string {
	if f == 0 {
		f = 0 // negative zero is zero
	}
	return "n" + strconv.FormatFloat(f, 'g', -1, 64)
}

// alternatives returns the filter terms that one metadata field may match: a value, or any of a list of values.
func alternatives(key string, value any) ([]string, error) {
	if v, ok := scalar(value); ok {
		return []string{metadataTerm(key, v)}, nil
	}
	list := reflect.ValueOf(value)
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("%w: the filter %q is neither a string, number or boolean nor a list of them", index.ErrInvalid, key)
	}
	out := make([]string, 0, list.Len())
	for i := range list.Len() {
		v, ok := scalar(list.Index(i).Interface())
		if !ok {
			return nil, fmt.Errorf("%w: item %d of the filter %q is not a string, number or boolean", index.ErrInvalid, i, key)
		}
		out = append(out, metadataTerm(key, v))
	}
	return out, nil
}

// filterFields turns a filter into fields, each a list of alternative filter terms.
func filterFields(f index.Filter) ([][]string, error) {
	var fields [][]string
	for _, ids := range []struct {
		kind   string
		values []string
	}{{datasourceFacet, f.DatasourceIDs}, {customIDFacet, f.CustomIDs}} {
		if ids.values == nil {
			continue
		}
		terms := make([]string, 0, len(ids.values))
		for _, v := range ids.values {
			terms = append(terms, facet(ids.kind, v))
		}
		fields = append(fields, terms)
	}
	for key, value := range f.Metadata {
		terms, err := alternatives(key, value)
		if err != nil {
			return nil, err
		}
		fields = append(fields, terms)
	}
	return fields, nil
}

// resolve returns the slots that pass a filter, or nil when nothing is filtered. Dead slots may be among them.
func (v view) resolve(ctx context.Context, fields [][]string) (slotSet, error) {
	var all slotSet
	var buf []posting
	for _, terms := range fields {
		field := newSlotSet(v.slots)
		for _, t := range terms {
			var err error
			if buf, err = v.postings(ctx, t, buf[:0]); err != nil {
				return nil, err
			}
			for _, p := range buf {
				field.add(p.slot)
			}
		}
		if all == nil {
			all = field
		} else {
			all.keep(field)
		}
	}
	return all, nil
}
