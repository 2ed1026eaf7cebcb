package milvus

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/sluice/sluice/pkg/analysis"
)

// Sample sizes in rows.
const (
	// Number of rows sampled for the languages and the average length. If a datastore has fewer rows, all are read, and
	// the results are exact.
	sampledRows = 4096
	// Number of rows sampled for word frequencies on servers without sparse vectors.
	readTexts = 1000
)

// sampleExpr returns a condition that selects a random fraction of the rows, or "" for all of them.
func sampleExpr(share float64) string {
	if share >= 1 {
		return ""
	}
	return " && " + fieldBucket + " < " + strconv.Itoa(max(1, int(share*buckets)))
}

// sample derives the languages and the average length from a sample of the rows that match the expression.
func (x *Index) sample(ctx context.Context, col *collection, expr string, c *termStatistics) error {
	return x.call(ctx, "sampling rows", func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, expr, []string{fieldLanguage, fieldLength}, eventualConsistency, maxLimit)
		if err != nil {
			return err
		}
		if set.Len() == 0 {
			c.average = assumedLength("")
			return nil
		}
		t := &table{set: set}
		languages, lengths := t.texts(fieldLanguage), t.numbers(fieldLength)
		if t.err != nil {
			return t.err
		}
		c.languages = ranked(languages)
		c.average, c.mismatch = averages(languages, lengths)
		return nil
	})
}

// rareLanguages adds languages that the sample missed to the statistics, so that queries match words in them too.
func (x *Index) rareLanguages(ctx context.Context, col *collection, here string, c *termStatistics) error {
	return x.call(ctx, "reading rare languages", func(ctx context.Context, srv *server) error {
		others := here
		for _, l := range c.languages {
			others += " && " + fieldLanguage + " != " + quote(string(l)) // Milvus Lite does not support "not in"
		}
		set, err := srv.Query(ctx, col.name, nil, others, []string{fieldLanguage}, eventualConsistency, maxLimit)
		if err != nil || set.Len() == 0 {
			return err
		}
		t := &table{set: set}
		c.languages = append(c.languages, ranked(t.texts(fieldLanguage))...)
		return t.err
	})
}

// averages returns the rows' average length, at least 1, and their mean mismatch. A row's mismatch is
// |log2(average/assumed)|, where `assumed` is the length assumed for its language. If the average is less than half of
// that length, the mismatch is squared, because a single term changes a short row's score more.
func averages(languages []string, lengths []int64) (average, mismatch float64) {
	for _, n := range lengths {
		average += float64(n)
	}
	average = max(average/float64(len(lengths)), 1)
	for _, l := range languages {
		longer := math.Log2(average / assumedLength(analysis.Language(l)))
		mismatch += max(longer, -longer*max(1, -longer))
	}
	return average, mismatch / float64(len(languages))
}

// sampleWords derives the word statistics from a sample of the rows that match the expression.
func (x *Index) sampleWords(ctx context.Context, col *collection, expr string, c *termStatistics) error {
	return x.call(ctx, "sampling the words of rows", func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, expr, []string{fieldLanguage, fieldText, fieldContext}, eventualConsistency, client.WithLimit(readTexts))
		if err != nil {
			return err
		}
		c.sampled, c.sample = 1, make(map[uint32]float64)
		if set.Len() == 0 {
			return nil
		}
		t := &table{set: set}
		languages, texts, contexts := t.texts(fieldLanguage), t.texts(fieldText), t.texts(fieldContext)
		if t.err != nil {
			return t.err
		}
		c.sampled, c.sample = float64(len(texts)), sampleTerms(texts, contexts, languages)
		return nil
	})
}

// ranked returns the distinct languages, most frequent first.
func ranked(languages []string) []analysis.Language {
	n := make(map[analysis.Language]int)
	for _, l := range languages {
		n[analysis.Language(l)]++
	}
	return slices.SortedFunc(maps.Keys(n), func(a, b analysis.Language) int {
		return cmp.Or(n[b]-n[a], cmp.Compare(a, b))
	})
}

// sampleTerms counts the rows that contain each term.
func sampleTerms(texts, contexts, languages []string) map[uint32]float64 {
	out := make(map[uint32]float64)
	var words analysis.Analyzer
	for i, text := range texts {
		lang := analysis.Language(languages[i])
		seen := make(map[uint32]bool)
		for _, part := range []string{text, contexts[i]} {
			for _, term := range words.Terms(part, lang) {
				if h := termHash(term); !seen[h] {
					seen[h] = true
					out[h]++
				}
			}
		}
	}
	return out
}
