// Package generate makes questions from a datastore's own content with a chat model: one of each of a sample of its chunks,
// with what answers it. What the model says is believed as far as it can be checked: the answer must stand in the chunk, and
// the question must not be copied from it.
package generate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
)

// MaxQuestions is how many questions can be asked for at once.
const MaxQuestions = 5_000

const (
	spare   = 3   // chunks sampled for each question wanted: some give none
	letters = 120 // that a chunk has at least, for there to be something to ask
)

// Model is the chat model.
type Model interface {
	// Ask returns what the model answers. It has a deadline of its own.
	Ask(ctx context.Context, system, user string) (string, error)
}

// Content is where chunks come from.
type Content interface {
	Datasources(ctx context.Context, datastoreID, status string, each func(service.Datasource) error) error
	Chunks(ctx context.Context, datasourceID string, each func(service.Chunk) error) error
}

// Options say what is made.
type Options struct {
	DatastoreID string
	Questions   int // wanted, 1 to MaxQuestions
	Concurrency int // requests to the model at once, at least 1
	Progress    func(made, dropped, wanted int)
}

// Question is a question with what answers it, as a line of a file of questions.
type Question struct {
	ID       string   `json:"_id"`
	Text     string   `json:"text"`
	Relevant []string `json:"relevant"` // the document that the chunk is of
	Answer   string   `json:"answer"`   // a part of the chunk
}

// Result is what was made, and why the rest was dropped.
type Result struct {
	Questions []Question
	Chunks    int           // in the datastore
	Dropped   map[Fault]int // chunks that gave no question
	Failed    int           // requests that the model server did not answer
	LastError error         // of those
}

// Run samples chunks, the same ones of the same content, and has a question made of each until there are as many as wanted
// or no chunks left. It fails when there is no content, when the model server answers nothing at all, and with ctx's error
// when that ends.
func Run(ctx context.Context, content Content, model Model, o Options) (Result, error) {
	all, err := sampled(ctx, content, o.DatastoreID, spare*o.Questions)
	r := Result{Chunks: all.total, Dropped: map[Fault]int{}}
	if err != nil {
		return r, err
	}
	if all.total == 0 {
		return r, errors.New("the datastore has no content that queries see")
	}
	m := maker{model: model, options: o, result: &r}
	return r, m.run(ctx, all.chunks)
}

// maker asks the model, several chunks at once, and takes what it answers in the order of the chunks: so the questions do
// not depend on who was faster.
type maker struct {
	model   Model
	options Options
	result  *Result
}

func (m *maker) run(ctx context.Context, chunks []source) error {
	wanted := m.options.Questions
	for from := 0; from < len(chunks) && len(m.result.Questions) < wanted; {
		n := min(max(m.options.Concurrency, 1)*2, len(chunks)-from, wanted-len(m.result.Questions))
		replies, err := m.ask(ctx, chunks[from:from+n])
		if err != nil {
			return err
		}
		for i, reply := range replies {
			m.take(chunks[from+i], reply)
		}
		from += n
		if m.result.Failed > 0 && len(m.result.Questions) == 0 && m.result.Failed == from && from >= min(len(chunks), 4) {
			return fmt.Errorf("the chat model answers nothing: %w", m.result.LastError)
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

func (m *maker) ask(ctx context.Context, chunks []source) ([]reply, error) {
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

// take checks a reply and keeps what is good.
func (m *maker) take(c source, r reply) {
	fault := r.fault
	var q Question
	switch {
	case r.err != nil:
		m.result.Failed, m.result.LastError = m.result.Failed+1, r.err
		return
	case fault == "":
		q, fault = read(r.text, c.text)
	}
	if fault == "" && m.repeats(q.Text) {
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

// repeats reports whether a question like it is there.
func (m *maker) repeats(question string) bool {
	words := units(question)
	for _, q := range m.result.Questions {
		if alike(words, units(q.Text)) {
			return true
		}
	}
	return false
}

// source is a chunk and what its document is called.
type source struct{ document, text string }

type sample struct {
	total  int // chunks of the datastore
	chunks []source
}

// sampled draws up to n chunks, each with the same chance, in an order of chance: the same for the same content.
func sampled(ctx context.Context, content Content, datastoreID string, n int) (sample, error) {
	type holder struct {
		service.Datasource
		first int // number of its first chunk among all
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
	drawn := draw(s.total, n)
	place := make(map[int]int, len(drawn)) // chunk's number → its place in the sample
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
				chunks[at] = source{document: called(h.Datasource), text: c.Text}
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
		if c.text != "" { // content may have gone meanwhile
			s.chunks = append(s.chunks, c)
		}
	}
	return s, nil
}

// called is the name by which a judgement finds the datasource again, the one that lasts longest.
func called(d service.Datasource) string {
	if d.CustomID != "" {
		return d.CustomID
	}
	return d.ID
}

// draw draws up to n different numbers under total, in an order of chance that is always the same.
func draw(total, n int) []int {
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
