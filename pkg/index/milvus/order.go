package milvus

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

// The hashes in filter.go find equal values but say nothing about order. So for each metadata key, a row also stores
// hashes of the kinds of the key's values. In the metadata field, under orderKey, it stores the key's smallest and
// greatest value in each order, as hexadecimal strings that sort like the values. Expressions thus contain no user
// input and don't depend on how a server compares JSON values.

// Prefixes that distinguish the kinds of hashes used for comparisons.
const (
	orderedFacet = "o" // the row has all of the hashes below; rows written by earlier versions lack them
	kindFacet    = "k" // key, kind: the key has a value of this kind
	severalFacet = "v" // key, order: the smallest and greatest values in this order differ
	momentFacet  = "d" // key, time: the key has a value equal to this time
	prefixFacet  = "p" // key, prefix: the key has several texts, and one starts with the prefix
	noPrefixes   = "q" // key: the key has too many prefixes to store
)

// Orders for comparing values, and their letters in orderName. Texts that are dates are stored in both textOrder and
// dateOrder.
const (
	numberOrder = "n"
	textOrder   = "t"
	dateOrder   = "d"
)

// orderKey is the metadata key for a row's smallest and greatest values. They aren't stored if the row's own metadata
// uses this key.
const orderKey = "_sluice_order"

// Maximum number of prefixes stored for a row's strings.
const maxPrefixes = 2000

var orderedHash = facet(orderedFacet)

// kindHash returns the hash in rows that have a value of this kind under the key.
func kindHash(key string, kind filter.Kind) int64 { return facet(kindFacet, key, kindNames[kind]) }

// kindHashes returns the kindHash of each of the kinds.
func kindHashes(key string, kinds filter.Kind) (out []int64) {
	for _, kind := range allKinds {
		if kinds&kind != 0 {
			out = append(out, kindHash(key, kind))
		}
	}
	return out
}

// Names of the kinds in hashes. They must not change: stored rows contain the hashes.
var kindNames = map[filter.Kind]string{filter.Text: "t", filter.Number: "n", filter.Bool: "b", filter.Date: "d"}

var allKinds = []filter.Kind{filter.Text, filter.Number, filter.Bool, filter.Date}

func momentHash(key string, at time.Time) int64 {
	return facet(momentFacet, key, at.Format(time.RFC3339Nano))
}

// orderName returns the name under orderKey for a key's smallest value in the given order, or for its greatest value if
// `greatest` is set.
func orderName(key, order string, greatest bool) string {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(facet(kindFacet, key)))
	if greatest {
		order = strings.ToUpper(order)
	}
	return base64.RawURLEncoding.EncodeToString(n[:]) + order
}

// orderOf returns the order for comparing values of the given kind.
func orderOf(kind filter.Kind) string {
	switch kind {
	case filter.Number:
		return numberOrder
	case filter.Date:
		return dateOrder
	}
	return textOrder
}

// sortable encodes a value as a hexadecimal string that sorts like the value, within one order. It uses only a text's
// first filter.MaxOrderBytes+1 bytes, enough for comparisons with texts of up to MaxOrderBytes bytes.
func sortable(order string, v filter.Value) string {
	switch order {
	case numberOrder:
		bits := math.Float64bits(v.Number())
		if bits>>63 == 1 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return fmt.Sprintf("%016x", bits)
	case dateOrder:
		at, _ := v.Time()
		return fmt.Sprintf("%016x%08x", uint64(at.Unix())+1<<62, at.Nanosecond())
	}
	text := v.Text()
	return hex.EncodeToString([]byte(text[:min(len(text), filter.MaxOrderBytes+1)]))
}

// A sortable prefix followed by afterPrefix sorts after all texts with that prefix.
const afterPrefix = "g"

// addOrder adds the data for comparisons by kind, order and prefix to a row's metadata and hashes. It adds nothing if
// there are too many values or the metadata uses orderKey.
func addOrder(r *index.Row, metadata []byte, hashes []int64) ([]byte, []int64, error) {
	if _, taken := r.Metadata[orderKey]; taken {
		return metadata, hashes, nil
	}
	facets, err := index.Facets(r.Metadata)
	if err != nil {
		return nil, nil, err
	}
	byKey := make(map[string][]filter.Value)
	for _, f := range facets {
		if v, ok := filter.FromIdentity(f.Value); ok && len(f.Key) <= filter.MaxKeyBytes {
			byKey[f.Key] = append(byKey[f.Key], v)
		}
	}
	o := ordered{names: make(map[string]string), prefixes: maxPrefixes, hashes: []int64{orderedHash}}
	for key, values := range byKey {
		o.add(key, values)
	}
	out := metadata
	if len(o.names) > 0 {
		whole := maps.Clone(r.Metadata)
		whole[orderKey] = o.names
		if out, err = json.Marshal(whole); err != nil {
			return nil, nil, fmt.Errorf("%w: the metadata cannot be stored: %w", index.ErrInvalid, err)
		}
	}
	if len(out) > index.MaxMetadataBytes || len(hashes)+len(o.hashes) > maxFacets {
		return metadata, hashes, nil
	}
	return out, append(hashes, o.hashes...), nil
}

// ordered collects what addOrder adds.
type ordered struct {
	names    map[string]string // by orderName
	hashes   []int64
	prefixes int // how many more prefixes fit
}

func (o *ordered) add(key string, values []filter.Value) {
	var kinds filter.Kind
	byOrder := make(map[string][]string)
	moments := make(map[int64]bool)
	var texts []string
	for _, v := range values {
		kind := v.Kind()
		kinds |= kind
		switch kind {
		case filter.Bool:
		case filter.Number:
			byOrder[numberOrder] = append(byOrder[numberOrder], sortable(numberOrder, v))
		default:
			texts = append(texts, v.Text())
			byOrder[textOrder] = append(byOrder[textOrder], sortable(textOrder, v))
		}
		if at, is := v.Time(); is {
			byOrder[dateOrder] = append(byOrder[dateOrder], sortable(dateOrder, v))
			moments[momentHash(key, at)] = true
		}
	}
	o.hashes = slices.AppendSeq(append(o.hashes, kindHashes(key, kinds)...), maps.Keys(moments))
	for order, all := range byOrder {
		least, greatest := slices.Min(all), slices.Max(all)
		o.names[orderName(key, order, false)] = least
		if greatest != least {
			o.names[orderName(key, order, true)] = greatest
			o.hashes = append(o.hashes, facet(severalFacet, key, order))
		}
	}
	if len(texts) > 1 {
		o.addPrefixes(key, texts)
	}
}

// addPrefixes adds a hash per prefix of a key's texts, or just the noPrefixes hash if there are too many.
func (o *ordered) addPrefixes(key string, texts []string) {
	all := make(map[string]bool)
	for _, text := range texts {
		text = text[:min(len(text), filter.MaxOrderBytes)]
		for end := 1; end <= len(text) && len(all) <= o.prefixes; end++ {
			if end == len(text) || utf8.RuneStart(text[end]) {
				all[text[:end]] = true
			}
		}
	}
	if len(all) > o.prefixes {
		o.hashes = append(o.hashes, facet(noPrefixes, key))
		return
	}
	o.prefixes -= len(all)
	for prefix := range all {
		o.hashes = append(o.hashes, facet(prefixFacet, key, prefix))
	}
}
