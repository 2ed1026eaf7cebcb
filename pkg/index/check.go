package index

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// Limits for rows and queries, shared by all engines.
const (
	MaxLimit         = 10_000   // Query.Limit
	MaxDimensions    = 16_384   // Space.Dimensions
	MaxKeyBytes      = 512      // Row.Key
	MaxNameBytes     = 4 << 10  // Row.DatasourceID and Row.CustomID
	MaxMetadataBytes = 64 << 10 // Row.Metadata as JSON
)

// How far the length of a row's vector may deviate from 1. The tolerance leaves room for half-precision arithmetic.
const unitTolerance = 0.02

// CheckRow returns ErrInvalid if a row's key, text fields or vector break the rules that all engines share.
func CheckRow(r *Row, dimensions int) error {
	if !ValidKey(r.Key) {
		return fmt.Errorf("%w: the key %.80q is empty, too long, or has characters outside [A-Za-z0-9_.:-]", ErrInvalid, r.Key)
	}
	for _, f := range []struct {
		name, value string
		limit       int
	}{
		{"text", r.Text, domain.MaxChunkBytes}, {"context", r.Context, domain.MaxChunkBytes},
		{"heading", StoredHeading(r), domain.MaxChunkBytes}, {"datasource id", r.DatasourceID, MaxNameBytes},
		{"custom id", r.CustomID, MaxNameBytes},
	} {
		if len(f.value) > f.limit {
			return fmt.Errorf("%w: the %s has %d bytes; the limit is %d", ErrInvalid, f.name, len(f.value), f.limit)
		}
	}
	return checkVector(r.Vector, dimensions)
}

// EncodeMetadata returns a row's metadata as JSON, or nil if it has none. It returns ErrInvalid if the metadata cannot
// be stored.
func EncodeMetadata(r *Row) ([]byte, error) {
	if len(r.Metadata) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(r.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%w: the metadata cannot be stored: %w", ErrInvalid, err)
	}
	if len(data) > MaxMetadataBytes {
		return nil, fmt.Errorf("%w: the metadata has %d bytes; the limit is %d", ErrInvalid, len(data), MaxMetadataBytes)
	}
	return data, nil
}

// ValidKey reports whether a key is valid in every engine.
func ValidKey(key string) bool {
	if key == "" || len(key) > MaxKeyBytes {
		return false
	}
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// checkVector validates a row's vector. A zero vector is valid: it means that the model knows none of the text's words.
func checkVector(v []float32, dimensions int) error {
	if len(v) != dimensions {
		return fmt.Errorf("%w: the vector has %d dimensions, but the space has %d", ErrInvalid, len(v), dimensions)
	}
	n := norm(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("%w: the vector has a component that is not a finite number", ErrInvalid)
	}
	if n != 0 && math.Abs(n-1) > unitTolerance {
		return fmt.Errorf("%w: the vector's length is %.3f; it must be 1", ErrInvalid, n)
	}
	return nil
}

// CheckLimits returns an error if one of the query's limits is out of range.
func CheckLimits(q Query) error {
	switch {
	case q.Limit < 1 || q.Limit > MaxLimit:
		return fmt.Errorf("%w: the limit %d is not between 1 and %d", ErrInvalid, q.Limit, MaxLimit)
	case q.VectorLimit < 0 || q.VectorLimit > q.Limit:
		return fmt.Errorf("%w: the limit %d of the vector leg is not between 0 and %d", ErrInvalid, q.VectorLimit, q.Limit)
	}
	return nil
}

// Unit returns a query's vector scaled to length one. It returns a zero vector unchanged. It returns ErrInvalid if the
// vector has the wrong number of dimensions or a component that is not finite.
func Unit(v []float32, dimensions int) ([]float32, error) {
	if len(v) != dimensions {
		return nil, fmt.Errorf("%w: the query's vector has %d dimensions, but the space has %d", ErrInvalid, len(v), dimensions)
	}
	n := norm(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%w: the query's vector has a component that is not a finite number", ErrInvalid)
	}
	out := slices.Clone(v)
	if n == 0 {
		return out, nil
	}
	for i, x := range v {
		out[i] = float32(float64(x) / n)
	}
	return out, nil
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// Scalar returns the identity of a metadata value, i.e. the string by which filters compare it (see filter.Value). It
// returns false if the value is not a string, number or boolean.
func Scalar(v any) (string, bool) {
	value, ok := filter.ValueOf(v)
	if !ok {
		return "", false
	}
	return value.Identity(), true
}

// Alternatives returns the identities (see Scalar) that a value in a metadata filter matches: its own, or one per item
// if it is a list. It returns ErrInvalid if a value is not filterable.
func Alternatives(key string, value any) ([]string, error) {
	if v, ok := Scalar(value); ok {
		return []string{v}, nil
	}
	list := reflect.ValueOf(value)
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("%w: the value of the filter %q must be a string, a number, a boolean or a list of these", ErrInvalid, key)
	}
	out := make([]string, 0, list.Len())
	for i := range list.Len() {
		v, ok := Scalar(list.Index(i).Interface())
		if !ok {
			return nil, fmt.Errorf("%w: item %d of the filter %q is not a string, number or boolean", ErrInvalid, i, key)
		}
		out = append(out, v)
	}
	return out, nil
}
