package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Kinds of questions in a set, in the same order as in the table.
const (
	kindSingle   = "single"    // one fact
	kindSeveral  = "several"   // two or three facts
	kindFollowUp = "follow-up" // continues an earlier question or changes the subject
	kindNearMiss = "near miss" // the documents do not answer the question
)

var kinds = []string{kindSingle, kindSeveral, kindFollowUp, kindNearMiss}

// setQuestion is a question in a set.
type setQuestion struct {
	ID       string   `json:"id"`
	Document string   `json:"document"` // path of the document: HALF/NAME
	Language string   `json:"language"`
	Kind     string   `json:"kind"`
	History  []string `json:"history"` // earlier questions in the conversation
	Question string   `json:"question"`
	Facts    []string `json:"facts"` // regular expressions; a right answer matches all of them
	Wrong    string   `json:"wrong"` // regular expression that must not match a right answer

	facts []*regexp.Regexp
	wrong *regexp.Regexp
}

// half returns the half of the set that contains the question.
func (q setQuestion) half() string { return path.Dir(q.Document) }

// questionSet is a set of questions about documents.
type questionSet struct {
	documents []string // paths
	questions []setQuestion
}

// loadSet reads a question set from a folder, which contains questions.jsonl and a folder of documents for each half of
// the set.
func loadSet(folder string) (set questionSet, err error) {
	if set.documents, err = filepath.Glob(filepath.Join(folder, "*", "*")); err != nil {
		return set, err
	}
	name := filepath.Join(folder, "questions.jsonl")
	f, err := os.Open(name)
	if err != nil {
		return set, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var q setQuestion
		if err := errors.Join(json.Unmarshal(lines.Bytes(), &q), q.compile()); err != nil {
			return set, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		set.questions = append(set.questions, q)
	}
	return set, lines.Err()
}

// compile checks a question and compiles its expressions.
func (q *setQuestion) compile() (err error) {
	switch {
	case !slices.Contains(kinds, q.Kind):
		return fmt.Errorf("question %s: kind %q is not one of %s", q.ID, q.Kind, strings.Join(kinds, ", "))
	case (len(q.Facts) == 0) != (q.Kind == kindNearMiss):
		return fmt.Errorf("question %s: %d facts do not fit the kind %q", q.ID, len(q.Facts), q.Kind)
	}
	for _, expression := range q.Facts {
		compiled, err := regexp.Compile("(?i)" + expression)
		if err != nil {
			return fmt.Errorf("question %s: fact: %w", q.ID, err)
		}
		q.facts = append(q.facts, compiled)
	}
	if q.Wrong != "" {
		if q.wrong, err = regexp.Compile("(?i)" + q.Wrong); err != nil {
			return fmt.Errorf("question %s: wrong: %w", q.ID, err)
		}
	}
	return nil
}

// statedFacts returns how many of the expected facts a text states, or 0 if it says something wrong.
func (q setQuestion) statedFacts(text string) int {
	text = strings.Join(strings.Fields(text), " ")
	if q.wrong != nil && q.wrong.MatchString(text) {
		return 0
	}
	n := 0
	for _, fact := range q.facts {
		if fact.MatchString(text) {
			n++
		}
	}
	return n
}

// measureSet uploads a set's documents to one datastore, asks all questions and prints the figures.
func measureSet(ctx context.Context, s settings, out, errs io.Writer) (err error) {
	set, err := loadSet(s.set)
	if err != nil {
		return err
	}
	dir, remove, err := bench.Directory(s.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b, err := bench.Start(ctx, s.api, dir)
	defer func() { err = errors.Join(err, b.Close()) }()
	if err != nil {
		return err
	}
	store, agent, err := fillSet(ctx, b, set)
	if err != nil {
		return err
	}
	questions := slices.DeleteFunc(set.questions, func(q setQuestion) bool { return s.half != "" && q.half() != s.half })
	asked := make([]exchange, len(questions))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, q := range questions {
		group.Go(func() (err error) {
			asked[i], err = converse(gctx, b, store, agent, q)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	tallies := make(map[string]*setTally) // by half and kind
	for i, q := range questions {
		name := "| " + q.half() + " | " + q.Kind + " |"
		if tallies[name] == nil {
			tallies[name] = new(setTally)
		}
		right := tallies[name].add(q, asked[i])
		if s.wrong && !right {
			fmt.Fprintf(errs, "%s (%s) %s %q\n\tanswer: %q\n\tbest fragment (%v): %q\n", q.ID, q.Kind, strings.Join(q.History, " | "), q.Question,
				asked[i].answer.Text, q.statedFacts(topText(asked[i])) == len(q.facts), topText(asked[i]))
		}
	}
	writeSet(out, tallies)
	return nil
}

// fillSet creates a datastore with all of a set's documents, and an agent. It returns the ids of the datastore and the
// agent.
func fillSet(ctx context.Context, b *bench.Service, set questionSet) (store, agent string, err error) {
	made, err := b.CreateDatastore(ctx, service.NewDatastore{Name: "question set"})
	if err != nil {
		return "", "", fmt.Errorf("creating the datastore: %w", err)
	}
	for _, name := range set.documents {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", "", err
		}
		if _, err := b.Upload(ctx, made.ID, filepath.Base(name), content); err != nil {
			return "", "", fmt.Errorf("uploading %s: %w", name, err)
		}
	}
	if err := b.Settled(ctx, made.ID); err != nil {
		return "", "", fmt.Errorf("waiting for the documents: %w", err)
	}
	agent, err = b.CreateAgent(ctx, "question set", made.ID)
	return made.ID, agent, err
}

// converse starts a conversation, asks the earlier questions and then the actual one, and returns its answer and best
// fragment.
func converse(ctx context.Context, b *bench.Service, store, agent string, q setQuestion) (e exchange, err error) {
	for _, text := range append(slices.Clone(q.History), q.Question) {
		if e.answer, err = b.Continue(ctx, agent, e.answer.ConversationID, text); err != nil {
			return e, fmt.Errorf("asking question %s: %w", q.ID, err)
		}
	}
	if e.top, err = b.Query(ctx, store, service.Query{Text: q.Question, TopK: 1}); err != nil {
		return e, fmt.Errorf("searching for question %s: %w", q.ID, err)
	}
	return e, nil
}

// topText returns the best fragment's text, or "" if there is none.
func topText(e exchange) string {
	if len(e.top) == 0 {
		return ""
	}
	return e.top[0].Text
}

// setTally sums up the results for one kind of question.
type setTally struct {
	questions int
	right     int // answered with all facts; near misses: declined
	partly    int // answered with some facts
	declined  int
	topRight  int // the best fragment contains all facts

	lengths    []float64 // of the answers, in characters
	topLengths []float64
}

// add counts a question and reports whether its answer is correct.
func (t *setTally) add(q setQuestion, e exchange) bool {
	t.questions++
	top := topText(e)
	t.topLengths = append(t.topLengths, float64(utf8.RuneCountInString(top)))
	if q.Kind != kindNearMiss && q.statedFacts(top) == len(q.facts) {
		t.topRight++
	}
	if len(e.answer.Sources) == 0 {
		t.declined++
		if q.Kind == kindNearMiss {
			t.right++
		}
		return q.Kind == kindNearMiss
	}
	text := quoted(e.answer.Text)
	t.lengths = append(t.lengths, float64(utf8.RuneCountInString(text)))
	held := q.statedFacts(text)
	if held > 0 {
		t.partly++
	}
	if q.Kind != kindNearMiss && held == len(q.facts) {
		t.right++
		return true
	}
	return false
}

// writeSet writes the table for a set. It has one row per half and kind, plus one per half for all answerable
// questions.
func writeSet(out io.Writer, tallies map[string]*setTally) {
	bench.Header(out, 2, "half", "kind", "questions", "answer right", "some fact", "declined", "characters (median)", "best fragment right", "characters (median)")
	row := func(name string, t *setTally) {
		fmt.Fprintf(out, "%s %d | **%s** | %s | %s | %s | %s | %s |\n", name, t.questions, bench.Figure("%.3f", bench.Share(t.right, t.questions)),
			bench.Figure("%.3f", bench.Share(t.partly, t.questions)), bench.Figure("%.3f", bench.Share(t.declined, t.questions)), bench.Figure("%.0f", bench.Median(t.lengths)),
			bench.Figure("%.3f", bench.Share(t.topRight, t.questions)), bench.Figure("%.0f", bench.Median(t.topLengths)))
	}
	halves := make(map[string]bool)
	for name := range tallies {
		halves[strings.Fields(name)[1]] = true
	}
	for _, half := range slices.Sorted(maps.Keys(halves)) {
		var all setTally
		for _, kind := range kinds {
			t := tallies["| "+half+" | "+kind+" |"]
			if t == nil {
				continue
			}
			row("| "+half+" | "+kind+" |", t)
			if kind != kindNearMiss {
				all = all.plus(*t)
			}
		}
		row("| "+half+" | **all answerable** |", &all)
	}
}

// plus adds up two tallies.
func (t setTally) plus(other setTally) setTally {
	return setTally{
		questions: t.questions + other.questions, right: t.right + other.right, partly: t.partly + other.partly,
		declined: t.declined + other.declined, topRight: t.topRight + other.topRight,
		lengths: slices.Concat(t.lengths, other.lengths), topLengths: slices.Concat(t.topLengths, other.topLengths),
	}
}
