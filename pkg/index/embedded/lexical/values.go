package lexical

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
)

// Maximum number of rows whose metadata a filter reads because an earlier version stored their long values without
// longFacet. If there are more such rows, the filter fails, and the content must be re-indexed.
const maxUnlistedRows = 50_000

// slotsOf returns the slots of the rows that have a certain value, as postings. They may include dead slots. The caller
// must not keep the slice.
type slotsOf func() ([]Posting, error)

// eachValue calls f with each value of a key whose identity starts with `start`, until f returns false. It may pass the
// same value several times with different slots, and may truncate long texts to filter.MaxOrderBytes+1 bytes.
func (v Reader) eachValue(ctx context.Context, key, start, datastoreID string, f func(filter.Value, slotsOf) (bool, error)) error {
	more := true
	var err error
	for _, prefix := range []string{metadataFacet + "=" + keyed(key), longFacet + keyed(key)} {
		for _, seg := range v.Segments {
			if !more {
				return nil
			}
			err = v.eachTerm(ctx, seg, prefix+start, func(term string, slots slotsOf) (bool, error) {
				value, ok := filter.FromIdentity(term[len(prefix):])
				if !ok {
					return false, errBlock
				}
				more, err = f(value, slots)
				return more, err
			})
			if err != nil {
				return err
			}
		}
	}
	if !more {
		return nil
	}
	return v.eachUnlisted(ctx, key, start, datastoreID, f)
}

// eachTerm calls f, in sorted order, with a segment's entries for terms that start with `prefix`, until f returns
// false. A term with many postings has several entries.
func (v Reader) eachTerm(ctx context.Context, seg Segment, prefix string, f func(string, slotsOf) (bool, error)) error {
	firsts, err := v.Directory(ctx, seg)
	if err != nil {
		return err
	}
	var buf []Posting
	more := true
	// As in segmentPostings, the first entry may be in the previous block.
	i := max(sort.SearchStrings(firsts, prefix)-1, 0)
	for ; more && i < len(firsts) && (firsts[i] <= prefix || strings.HasPrefix(firsts[i], prefix)); i++ {
		block, err := v.block(ctx, seg.FirstBlock+int64(i))
		if err != nil {
			return err
		}
		var failed error
		err = block.eachEntryFrom(prefix, func(e entry) bool {
			if more = strings.HasPrefix(e.term, prefix); !more {
				return false
			}
			more, failed = f(e.term, func() (_ []Posting, err error) {
				if buf, err = decodePostings(buf[:0], e.data, e.count); err != nil {
					return nil, err
				}
				for _, p := range buf {
					if p.Slot >= v.Slots {
						return nil, errBlock
					}
				}
				return buf, nil
			})
			return more && failed == nil
		})
		if err != nil || failed != nil {
			return cmp.Or(failed, err)
		}
	}
	return nil
}

// eachUnlisted calls f with the values that eachValue misses: long values stored without longFacet by an earlier
// version.
func (v Reader) eachUnlisted(ctx context.Context, key, start, datastoreID string, f func(filter.Value, slotsOf) (bool, error)) error {
	rows, err := v.unlisted(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	if len(rows) > maxUnlistedRows {
		return filter.Stale(key, datastoreID)
	}
	more := true
	err = v.Source.Metadata(ctx, rows, func(slot uint32, metadata map[string]any) error {
		if !more {
			return nil
		}
		facets, err := index.Facets(metadata)
		if err != nil {
			return fmt.Errorf("%w: the metadata in slot %d: %w", index.ErrCorrupt, slot, err)
		}
		for _, facet := range facets {
			if facet.Key != key || !isLong(facet) || !strings.HasPrefix(facet.Value, start) {
				continue
			}
			value, ok := filter.FromIdentity(facet.Value)
			if !ok {
				continue
			}
			if more, err = f(value, func() ([]Posting, error) { return []Posting{{Slot: slot}}, nil }); !more || err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// unlisted returns the live slots, in ascending order, of rows with hashed values but no longFacet.
func (v Reader) unlisted(ctx context.Context) ([]uint32, error) {
	return cached(v, "unlisted", func() (out []uint32, size int, err error) {
		hashed, found := bitmap.NewSet(v.Slots), false
		for _, seg := range v.Segments {
			err := v.eachTerm(ctx, seg, metadataFacet+"#", func(_ string, slots slotsOf) (bool, error) {
				ps, err := slots()
				for _, p := range ps {
					hashed.Add(p.Slot)
					found = true
				}
				return true, err
			})
			if err != nil {
				return nil, 0, err
			}
		}
		if !found {
			return nil, 0, nil
		}
		listed, err := v.having(ctx, []string{longMark})
		if err != nil {
			return nil, 0, err
		}
		listed.Complement()
		hashed.Intersect(listed)
		hashed.Each(func(i int) {
			if v.Live.Has(uint32(i)) {
				out = append(out, uint32(i))
			}
		})
		return out, 4 * len(out), nil
	})
}

// cachedValue is a cached result that is valid for one version of the rows.
type cachedValue[T any] struct {
	version int64
	value   T
}

// cached returns compute's result, reusing it until the rows change. `name` identifies the result within the space.
// compute also returns the result's approximate size in bytes.
func cached[T any](v Reader, name string, compute func() (T, int, error)) (T, error) {
	key := cache.Key{Space: v.OpenID, Kind: cache.Condition, Term: name}
	if found, ok := v.Caches.Lists.Get(key); ok {
		if c := found.(cachedValue[T]); c.version == v.Version {
			return c.value, nil
		}
	}
	value, size, err := compute()
	if err == nil {
		v.Caches.Lists.Replace(key, cachedValue[T]{v.Version, value}, int64(size+len(name)+128))
	}
	return value, err
}

// CountValues returns how many rows in `slots` have each of a key's values. Long texts are truncated as in
// index.Counts.
func (v Reader) CountValues(ctx context.Context, key, datastoreID string, slots bitmap.Set) (map[filter.Value]int, error) {
	out := make(map[filter.Value]int)
	type pair struct {
		value filter.Value
		slot  uint32
	}
	seen := make(map[pair]bool) // several texts may become equal when truncated
	err := v.eachValue(ctx, key, "", datastoreID, func(value filter.Value, of slotsOf) (bool, error) {
		ps, err := of()
		if err != nil {
			return false, err
		}
		counted := index.Counted(value)
		for _, p := range ps {
			if !slots.Has(p.Slot) {
				continue
			}
			if counted != value {
				if seen[pair{counted, p.Slot}] {
					continue
				}
				seen[pair{counted, p.Slot}] = true
			}
			out[counted]++
		}
		return true, nil
	})
	return out, err
}
