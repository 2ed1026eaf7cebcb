package lexical

import (
	"context"
	"slices"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/lists"
)

// where returns the live slots that match a filter, or a filter.Error if the filter can't be evaluated.
func (v Reader) where(ctx context.Context, f *filter.Filter, datastoreID string) (bitmap.Set, error) {
	for c := range f.Conditions() {
		if err := v.checkCondition(ctx, c, datastoreID); err != nil {
			return nil, err
		}
	}
	out, err := v.matching(ctx, f.Split(), datastoreID)
	if err != nil {
		return nil, err
	}
	for w := range out {
		out[w] &= v.Live.Word(w)
	}
	return out, nil
}

// checkCondition returns a filter.Error if a condition can't be evaluated on the reader's rows.
func (v Reader) checkCondition(ctx context.Context, c *filter.Filter, datastoreID string) error {
	if filter.IsProperty(c.Key) {
		described, err := v.condition(ctx, &filter.Filter{Op: filter.Exists, Key: filter.PropertyID, Values: []filter.Value{filter.BoolOf(true)}}, datastoreID)
		if err != nil {
			return err
		}
		if int64(described.CountIn(v.Live, v.Slots)) < v.Live.Count(v.Slots) {
			return filter.Stale(c.Key, datastoreID)
		}
	}
	refused := c.Refuses()
	conflict := false
	for _, kind := range kinds {
		if refused&kind != 0 && !conflict {
			var err error
			if conflict, err = v.hasKind(ctx, c.Key, kind, c.Op.Ordered(), datastoreID); err != nil {
				return err
			}
		}
	}
	if !conflict {
		return nil
	}
	var have filter.Kind
	for _, kind := range kinds {
		has, err := v.hasKind(ctx, c.Key, kind, c.Op.Ordered(), datastoreID)
		if err != nil {
			return err
		}
		if has {
			have |= kind
		}
	}
	return c.Conflict(have)
}

var kinds = []filter.Kind{filter.Text, filter.Number, filter.Bool, filter.Date}

// hasKind reports whether any live row has a value of the given kind under a key. Dates count as texts unless `dates`
// is set.
func (v Reader) hasKind(ctx context.Context, key string, kind filter.Kind, dates bool, datastoreID string) (bool, error) {
	start := "s"
	switch {
	case kind == filter.Number:
		start = "n"
	case kind == filter.Bool:
		start = "b"
	case kind == filter.Date && !dates:
		return false, nil
	}
	name := "kind:" + start + kind.String() + ":" + keyed(key)
	if dates {
		name = "date " + name
	}
	return cached(v, name, func() (has bool, size int, err error) {
		err = v.eachValue(ctx, key, start, datastoreID, func(value filter.Value, slots slotsOf) (bool, error) {
			if start == "s" && dates && value.Kind() != kind {
				return true, nil
			}
			ps, err := slots()
			has = slices.ContainsFunc(ps, func(p Posting) bool { return v.Live.Has(p.Slot) })
			return !has, err
		})
		return has, 0, err
	})
}

// matching returns the slots, including dead ones, that match a filter without Contains conditions. The caller may
// modify the set.
func (v Reader) matching(ctx context.Context, f *filter.Filter, datastoreID string) (bitmap.Set, error) {
	switch f.Op {
	case filter.And, filter.Or, filter.Not:
	default:
		set, err := v.condition(ctx, f, datastoreID)
		return slices.Clone(set), err
	}
	var out bitmap.Set
	for i, inner := range f.Filters {
		set, err := v.matching(ctx, inner, datastoreID)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			out = set
		case f.Op == filter.And:
			out.Intersect(set)
		default:
			out.Union(set)
		}
	}
	if f.Op == filter.Not {
		out.Complement()
	}
	return out, nil
}

// condition returns the slots, including dead ones, that match a condition. The set may be cached, so it must not be
// modified.
func (v Reader) condition(ctx context.Context, c *filter.Filter, datastoreID string) (bitmap.Set, error) {
	out, err := cached(v, "where:"+c.String(), func() (out bitmap.Set, size int, err error) {
		start := ""
		switch {
		case c.Op == filter.Exists:
		case c.Op == filter.Prefix:
			start = "s" + c.Values[0].Text()
		case !c.Op.Ordered() && !c.Dated(): // the terms are known
			out, err = v.having(ctx, lists.Map(c.Values, func(value filter.Value) string { return metadataTerm(c.Key, value.Identity()) }))
			return out, 8 * len(out), err
		default:
			start = c.Values[0].Identity()[:1]
		}
		out = bitmap.NewSet(v.Slots)
		test := c.Test()
		err = v.eachValue(ctx, c.Key, start, datastoreID, func(value filter.Value, slots slotsOf) (bool, error) {
			if !test(value) {
				return true, nil
			}
			ps, err := slots()
			for _, p := range ps {
				out.Add(p.Slot)
			}
			return true, err
		})
		return out, 8 * len(out), err
	})
	if err != nil || !c.Negative() {
		return out, err
	}
	out = slices.Clone(out)
	out.Complement()
	return out, nil
}
