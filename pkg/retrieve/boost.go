package retrieve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/boost"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

// Boosts apply to the first stage's final scores, after the penalty for link lists, so they influence which candidates
// are reranked. They then apply to the reranker's scores in the same way.

// Factor by which the search goes deeper if there are boosts, because a document lifted into the result may rank low
// without its boost.
const boostDepth = 5

// boostedDocument is a document's boost factors and their product.
type boostedDocument struct {
	factors []float64 // one per boost of its datastore
	product float64
}

// boost applies the boosts to a leg's candidates and sorts them again. If a boost can't use a document's value, boost
// normally returns domain.CodeInvalid. If the boost comes from the settings, or the value was read from the document's
// file, it only returns a note.
func (q *query) boost(all []*candidate) (notes []string, err error) {
	if !slices.ContainsFunc(q.Datastores, func(ds domain.Datastore) bool { return len(q.boosts(&ds)) > 0 }) {
		return nil, nil
	}
	now := q.opts.Now()
	scorers := make(map[string][]boost.Scorer) // by datastore
	documents := make(map[string]*boostedDocument)
	for _, c := range all {
		d := documents[c.source.ID]
		if d == nil {
			s, ok := scorers[c.ds.ID]
			if !ok {
				for _, b := range q.boosts(c.ds) {
					s = append(s, b.Scorer(now))
				}
				scorers[c.ds.ID] = s
			}
			d = &boostedDocument{factors: make([]float64, len(s))}
			for i := range s {
				field := fmt.Sprintf("boosts[%d].key", i)
				var wrong *boost.TypeError
				d.factors[i], err = s[i].FactorFor(documentValues(c.source, s[i].Key))
				switch {
				case err == nil:
				case !errors.As(err, &wrong):
					return nil, err
				case q.Boosts != nil && !strings.HasPrefix(s[i].Key, documentPrefix):
					return nil, domain.Invalid(field, "%s", wrong.Error())
				default: // the caller cannot change what a file says, or did not name the boost
					notes = appendNote(notes, field+" "+wrong.Error())
				}
			}
			d.product = boost.Product(d.factors)
			documents[c.source.ID] = d
		}
		c.boost = d
		before := c.final
		c.final = boost.Apply(c.final, d.product)
		c.boosted = c.final - before
		c.displayScore = displayScore(c.final)
	}
	slices.SortFunc(all, (*candidate).compare)
	return notes, nil
}

// Maximum number of notes about values of the wrong type.
const maxBoostNotes = 3

func appendNote(notes []string, note string) []string {
	if len(notes) < maxBoostNotes && !slices.Contains(notes, note) {
		notes = append(notes, note)
	}
	return notes
}

// rerankBoosted applies the boosts to the reranker's scores and sorts again.
func rerankBoosted(reranked []*candidate) {
	if !slices.ContainsFunc(reranked, func(c *candidate) bool { return c.boost != nil }) {
		return
	}
	for _, c := range reranked {
		if c.boost != nil {
			c.displayScore = boost.Apply(c.displayScore, c.boost.product)
		}
	}
	slices.SortStableFunc(reranked, func(a, b *candidate) int { return cmp.Compare(b.displayScore, a.displayScore) })
	for i, c := range reranked {
		c.second = i + 1
	}
}

// Prefix of the metadata keys that were read from a document's file.
const documentPrefix = "document."

// documentValues returns a key's values in a datasource's current metadata and properties.
func documentValues(d *domain.ActiveDatasource, key string) []filter.Value {
	switch {
	case filter.IsProperty(key):
		if text := property(d, key); text != "" {
			return []filter.Value{filter.TextOf(text)}
		}
		return nil
	case strings.HasPrefix(key, documentPrefix):
		return index.ValuesOf(domain.FragmentMetadata(d.Metadata, d.Document), key)
	}
	return index.ValuesOf(d.Metadata, key)
}

// property returns a datasource's built-in property as filters compare it, or "" if there is no such property.
func property(d *domain.ActiveDatasource, key string) string {
	switch key {
	case filter.PropertyID:
		return d.ID
	case filter.PropertyName:
		return d.Name
	case filter.PropertyType:
		return string(d.Type)
	case filter.PropertyCustomID:
		return d.CustomID
	case filter.PropertySite:
		return d.GroupID
	case filter.PropertySourceURL:
		if d.Type == domain.TypeWebPage {
			return d.SourceURL
		}
	case filter.PropertyMIMEType:
		return d.MIMEType
	case filter.PropertyCreated:
		return d.CreatedAt.Format(time.RFC3339Nano)
	case filter.PropertyChanged:
		if d.ChangedAt.IsZero() {
			return d.CreatedAt.Format(time.RFC3339Nano)
		}
		return d.ChangedAt.Format(time.RFC3339Nano)
	}
	return ""
}

// explainBoosts returns boosts as JSON, or nil if there are none.
func explainBoosts(boosts []boost.Boost) json.RawMessage {
	if len(boosts) == 0 {
		return nil
	}
	text, err := json.Marshal(boosts)
	if err != nil {
		return nil // unreachable: JSON can encode all finite numbers
	}
	return text
}

// factors returns a candidate's boost factors, or nil if nothing is boosted.
func (c *candidate) factors() []float64 {
	if c.boost == nil {
		return nil
	}
	return c.boost.factors
}
