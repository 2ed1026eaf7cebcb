package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Questions with several parts are made by joining questions of a collection. Such a question counts as answered if the
// first joinedTop fragments include, for every part, a fragment of a relevant document.
const (
	joinedTop   = 10
	joinedParts = 4   // maximum number of parts
	joinedCount = 100 // number of questions for each number of parts
	joinedSeed  = 31
)

// conjunctions are the words that join two questions, by language. The name of a collection ends with its language.
// Questions in languages that are not listed are joined only with question marks.
var conjunctions = map[string]string{
	"en": " and ", "reddit": " and ", "es": " y ", "it": " e ", "ro": " și ", "ru": " и ", "el": " και ", "tr": " ve ", "hi": " और ", "vi": " và ", "ar": " و", "zh": "，",
}

// joined is a question with several parts.
type joined struct {
	text  string
	parts []string // ids of the joined questions
}

// join makes questions with n parts. Half of them are joined with question marks, half with the conjunction of the
// language.
func join(c collection, n int) []joined {
	random := rand.New(rand.NewPCG(joinedSeed, uint64(n)))
	_, language, _ := strings.Cut(c.Name, "-")
	conjunction, ok := conjunctions[language]
	out := make([]joined, 0, joinedCount)
	for i := range joinedCount {
		var j joined
		var text strings.Builder
		for k, q := range random.Perm(len(c.Questions))[:min(n, len(c.Questions))] {
			asked := strings.TrimRight(strings.TrimSpace(c.Questions[q].Text), "?？؟.")
			j.parts = append(j.parts, c.Questions[q].ID)
			switch {
			case k == 0:
				text.WriteString(asked)
			case ok && i%2 == 1:
				first, size := utf8.DecodeRuneInString(asked)
				text.WriteString(conjunction + string(unicode.ToLower(first)) + asked[size:])
			default:
				text.WriteString("? " + asked)
			}
		}
		j.text = text.String() + "?"
		out = append(out, j)
	}
	return out
}

// measureJoined measures how many joined questions get a relevant document for every part. It writes the share for each
// collection and number of parts.
func (b *measured) measureJoined(ctx context.Context, s settings, wanted []string, out, errs io.Writer) error {
	fmt.Fprintf(out, "\nShare of %d joined questions whose parts all have a relevant document among the first %d fragments:\n\n| collection |", joinedCount, joinedTop)
	for n := 1; n <= joinedParts; n++ {
		fmt.Fprintf(out, " %d |", n)
	}
	fmt.Fprint(out, "\n|---|"+strings.Repeat("---|", joinedParts)+"\n")
	for _, name := range wanted {
		loaded, err := bench.LoadCollection(s.data, name)
		if err != nil {
			return err
		}
		c := collection{Collection: loaded}
		id, err := b.datastore(ctx, s, content{name: name, documents: c.Uploads()}, s.engines[0], errs)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s |", name)
		for n := 1; n <= joinedParts; n++ {
			complete, err := b.complete(ctx, id, c, join(c, n))
			if err != nil {
				return fmt.Errorf("%s, %d parts: %w", name, n, err)
			}
			fmt.Fprintf(out, " %.2f |", float64(complete)/joinedCount)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// complete counts the questions whose parts all have a relevant document among the fragments.
func (b *measured) complete(ctx context.Context, id string, c collection, questions []joined) (int, error) {
	found := make([]bool, len(questions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, q := range questions {
		group.Go(func() error {
			fragments, err := b.Query(ctx, id, service.Query{Text: q.text, TopK: joinedTop, Mode: "hybrid"})
			if err != nil {
				return fmt.Errorf("question %q: %w", q.text, err)
			}
			found[i] = true
			for _, part := range q.parts {
				grades, has := c.Relevant.Relevant(part), false
				for _, f := range fragments {
					has = has || grades[f.CustomID] > 0
				}
				found[i] = found[i] && has
			}
			return nil
		})
	}
	err := group.Wait()
	n := 0
	for _, f := range found {
		if f {
			n++
		}
	}
	return n, err
}
