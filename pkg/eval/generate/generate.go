// Package generate uses a chat model to generate questions from a datastore's content. It samples chunks and requests a
// question with its answer for each. It checks the replies where it can: the answer must be in the chunk, and the
// question must not be copied from it.
package generate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
)

// MaxQuestions is the maximum number of questions per run.
const MaxQuestions = 5_000

const (
	samplesPerQuestion = 3   // chunks to sample per requested question, because some yield no question
	letters            = 120 // minimum number of letters in a chunk; shorter chunks have too little content
)

// Model is the chat model that writes the questions.
type Model interface {
	// Ask returns the model's response. It must limit its own running time, because the caller sets no timeout.
	Ask(ctx context.Context, system, user string) (string, error)
}

// Content is the source of chunks.
type Content interface {
	Datasources(ctx context.Context, datastoreID, status string, each func(service.Datasource) error) error
	Chunks(ctx context.Context, datasourceID string, each func(service.Chunk) error) error
}

// Options configure the generation.
type Options struct {
	DatastoreID string
	Questions   int // number of questions to generate, 1 to MaxQuestions
	Concurrency int // simultaneous requests to the model, at least 1
	Progress    func(made, dropped, wanted int)
}

// Question is one line in a question file: a question and its answer.
type Question struct {
	ID       string   `json:"_id"`
	Text     string   `json:"text"`
	Relevant []string `json:"relevant"` // the chunk's document
	Answer   string   `json:"answer"`   // copied from the chunk
}

// Result contains the generated questions and says how many chunks were dropped, and why.
type Result struct {
	Questions []Question
	Chunks    int           // number of chunks in the datastore
	Dropped   map[Fault]int // chunks without a question, by reason
	Failed    int           // number of requests that failed at the model server
	LastError error         // error from the last failed request
}

// Run draws a sample of the datastore's chunks. It generates one question for each chunk until there are enough
// questions or no chunks are left. For the same content, the sample is always the same. Run fails if there is no
// content or if all requests to the model server fail. When ctx is done, it returns ctx's error.
func Run(ctx context.Context, content Content, model Model, o Options) (Result, error) {
	all, err := sampled(ctx, content, o.DatastoreID, samplesPerQuestion*o.Questions)
	r := Result{Chunks: all.total, Dropped: map[Fault]int{}}
	if err != nil {
		return r, err
	}
	if all.total == 0 {
		return r, errors.New("the datastore has no searchable content")
	}
	m := generator{model: model, options: o, result: &r}
	return r, m.run(ctx, all.chunks)
}

// generator sends several chunks to the model concurrently but processes the replies in chunk order, so timing doesn't
// affect the questions.
type generator struct {
	model   Model
	options Options
	result  *Result
}

func (m *generator) run(ctx context.Context, chunks []source) error {
	wanted := m.options.Questions
	for from := 0; from < len(chunks) && len(m.result.Questions) < wanted; {
		n := min(max(m.options.Concurrency, 1)*2, len(chunks)-from, wanted-len(m.result.Questions))
		replies, err := m.ask(ctx, chunks[from:from+n])
		if err != nil {
			return err
		}
		for i, reply := range replies {
			m.accept(chunks[from+i], reply)
		}
		from += n
		if m.result.Failed > 0 && len(m.result.Questions) == 0 && m.result.Failed == from && from >= min(len(chunks), 4) {
			return fmt.Errorf("the chat model does not answer: %w", m.result.LastError)
		}
		if m.options.Progress != nil {
			m.options.Progress(len(m.result.Questions), from-len(m.result.Questions), wanted)
		}
	}
	return nil
}

type reply struct {
	text  string
	fault Fault
	err   error
}

func (m *generator) ask(ctx context.Context, chunks []source) ([]reply, error) {
	replies := make([]reply, len(chunks))
	var group errgroup.Group
	group.SetLimit(max(1, m.options.Concurrency))
	for i, c := range chunks {
		group.Go(func() error {
			if lettersIn(c.text) < letters {
				replies[i].fault = TooShort
				return nil
			}
			replies[i].text, replies[i].err = m.model.Ask(ctx, instructions, prompt(c.text))
			return nil
		})
	}
	_ = group.Wait() // the errors are in the replies
	return replies, ctx.Err()
}

// accept adds the question from the model's reply to the result. If the reply is unusable, accept counts the reason.
func (m *generator) accept(c source, r reply) {
	fault := r.fault
	var q Question
	switch {
	case r.err != nil:
		m.result.Failed, m.result.LastError = m.result.Failed+1, r.err
		return
	case fault == "":
		q, fault = parseReply(r.text, c.text)
	}
	if fault == "" && m.isRepeated(q.Text) {
		fault = Repeated
	}
	if fault != "" {
		m.result.Dropped[fault]++
		return
	}
	q.ID = "g" + strconv.Itoa(len(m.result.Questions)+1)
	q.Relevant = []string{c.document}
	m.result.Questions = append(m.result.Questions, q)
}

// isRepeated reports whether the result already contains a similar question.
func (m *generator) isRepeated(question string) bool {
	words := units(question)
	return slices.ContainsFunc(m.result.Questions, func(q Question) bool { return isSimilar(words, units(q.Text)) })
}

type source struct{ document, text string }

type sample struct {
	total  int // number of chunks in the datastore
	chunks []source
}

// sampled returns a uniformly drawn sample of up to n chunks, in random order. For the same content, the sample is
// always the same.
func sampled(ctx context.Context, content Content, datastoreID string, n int) (sample, error) {
	type holder struct {
		service.Datasource
		first int // index of its first chunk among all chunks
	}
	var s sample
	var holders []holder
	err := content.Datasources(ctx, datastoreID, "synched", func(d service.Datasource) error {
		if d.Chunks > 0 {
			holders = append(holders, holder{d, s.total})
			s.total += int(d.Chunks)
		}
		return nil
	})
	if err != nil || s.total == 0 {
		return s, err
	}
	drawn := sampleNumbers(s.total, n)
	place := make(map[int]int, len(drawn)) // maps a chunk's number to its index in the sample
	for i, number := range drawn {
		place[number] = i
	}
	chunks := make([]source, len(drawn))
	errEnough := errors.New("enough")
	for _, h := range holders {
		last := -1
		for i := range int(h.Chunks) {
			if _, wanted := place[h.first+i]; wanted {
				last = i
			}
		}
		if last < 0 {
			continue
		}
		i := 0
		err := content.Chunks(ctx, h.ID, func(c service.Chunk) error {
			if at, wanted := place[h.first+i]; wanted && i < int(h.Chunks) {
				chunks[at] = source{document: stableName(h.Datasource), text: c.Text}
			}
			if i++; i > last {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return s, fmt.Errorf("reading the chunks of %q: %w", h.Name, err)
		}
	}
	for _, c := range chunks {
		if c.text != "" { // the content may have been deleted in the meantime
			s.chunks = append(s.chunks, c)
		}
	}
	return s, nil
}

// stableName returns the datasource's custom id or, if it has none, its id. Judgements refer to documents by this name,
// because it stays the same when a document is renamed.
func stableName(d service.Datasource) string {
	if d.CustomID != "" {
		return d.CustomID
	}
	return d.ID
}

// sampleNumbers returns up to n distinct numbers below `total` in a random but reproducible order.
func sampleNumbers(total, n int) []int {
	r := rand.New(rand.NewPCG(20, 26))
	if total <= n {
		return r.Perm(total)
	}
	var drawn []int
	for seen := map[int]bool{}; len(drawn) < n; {
		if number := r.IntN(total); !seen[number] {
			seen[number] = true
			drawn = append(drawn, number)
		}
	}
	return drawn
}
