package jsonbody

import (
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Item is the result of checking one item in a batch, such as a document in an upsert.
type Item struct {
	Warnings []domain.FieldError // changes that made the item valid
	Faults   []domain.FieldError // reasons for rejecting the item; empty if it is accepted
}

// Accepted returns the indexes of the items without faults.
func Accepted(items []Item) (indexes []int) {
	for i := range items {
		if len(items[i].Faults) == 0 {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// FaultsOf returns all items' faults.
func FaultsOf(items []Item) (faults []domain.FieldError) {
	for i := range items {
		faults = append(faults, items[i].Faults...)
	}
	return faults
}

// SplitItems sorts out the faults in a batch, which is the array body[field]. It moves each fault to the element's
// result in `items` and removes the faulty elements from the array. SplitItems then returns nil. If a fault is outside
// the array, or no element is valid, the whole body is invalid: SplitItems leaves it unchanged and returns all faults.
func SplitItems(body map[string]any, field string, items []Item, faults []domain.FieldError) []domain.FieldError {
	list, _ := body[field].([]any)
	rejected := 0
	for _, f := range faults {
		i := itemOf(f.Field, field)
		if i < 0 || i >= len(items) || i >= len(list) {
			return faults
		}
		if len(items[i].Faults) == 0 {
			rejected++
		}
		items[i].Faults = append(items[i].Faults, f)
	}
	if rejected == len(list) {
		return faults
	}
	kept := make([]any, 0, len(list)-rejected)
	for i, item := range list {
		if len(items[i].Faults) == 0 {
			kept = append(kept, item)
		}
	}
	body[field] = kept
	return nil
}

// itemOf returns the index of the element of the array `field` that `path` points into, or -1 if it points elsewhere.
// For example, the index is 3 for the path documents[3].text and the field documents.
func itemOf(path, field string) int {
	rest, within := strings.CutPrefix(path, field+"[")
	number, _, closed := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !within || !closed || err != nil {
		return -1
	}
	return i
}

// RemoveNUL removes NUL characters from all strings in the value and returns the value. It modifies maps and slices in
// place and calls `cleaned` with each changed string's path. It does not touch object keys or the strings at the paths
// in `exact`.
func RemoveNUL(value any, path string, exact []string, cleaned func(path string)) any {
	switch v := value.(type) {
	case string:
		for _, e := range exact {
			if path == e {
				return v
			}
		}
		if strings.ContainsRune(v, 0) {
			cleaned(path)
			return strings.ReplaceAll(v, "\x00", "")
		}
	case map[string]any:
		for key, inner := range v {
			v[key] = RemoveNUL(inner, Join(path, key), exact, cleaned)
		}
	case []any:
		for i, inner := range v {
			v[i] = RemoveNUL(inner, path+"["+strconv.Itoa(i)+"]", exact, cleaned)
		}
	}
	return value
}

// WithoutNULFaults drops the faults for NUL characters at the paths in `cleaned`, where RemoveNUL has removed them.
func WithoutNULFaults(faults []domain.FieldError, cleaned map[string]bool) []domain.FieldError {
	kept := faults[:0]
	for _, f := range faults {
		if f.Message != nulFault || !cleaned[f.Field] {
			kept = append(kept, f)
		}
	}
	return kept
}
