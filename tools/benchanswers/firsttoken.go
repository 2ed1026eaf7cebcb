package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/tools/internal/bench"
)

// rounds is the number of times that each program is asked each question.
const rounds = 5

// measureFirstToken compares how long two programs of the service take until they send the first token of an answer.
// The questions go to the two programs alternately. The chat model is a server on loopback that speaks OpenAI's
// protocol and answers at once.
func measureFirstToken(ctx context.Context, s settings, out, errs io.Writer) (err error) {
	set, err := loadSet(s.set)
	if err != nil {
		return err
	}
	model, err := startModel(ctx)
	if err != nil {
		return err
	}
	defer model.server.Close()
	programs := []*measured{{name: "base", program: s.firstToken}, {name: "now", program: s.api}}
	for _, m := range programs {
		closed, err := m.start(ctx, set, model.address)
		defer func() { err = errors.Join(err, closed()) }()
		if err != nil {
			return err
		}
	}
	questions := slices.DeleteFunc(set.questions, func(q setQuestion) bool {
		return len(q.History) > 0 || s.half != "" && q.half() != s.half
	})
	for round := range rounds + 1 { // the first round fills caches
		for _, q := range questions {
			for i := range programs { // alternately, so that the machine's load affects both equally
				m := programs[(i+round)%len(programs)]
				if err := m.ask(ctx, model, q, round > 0); err != nil {
					return fmt.Errorf("asking %s: %w", q.ID, err)
				}
			}
		}
		fmt.Fprintf(errs, "round %d of %d\n", round, rounds)
	}
	bench.Header(out, 1, "kind", "questions", "base: median ms", "95 % ms", "now: median ms", "95 % ms", "with a plan")
	for _, kind := range kinds {
		base, now := programs[0].delays[kind], programs[1].delays[kind]
		if len(base) == 0 {
			continue
		}
		fmt.Fprintf(out, "| %s | %d | %.2f | %.2f | %.2f | %.2f | %.3f |\n", kind, len(base)/rounds, bench.Median(base), percentile95(base),
			bench.Median(now), percentile95(now), bench.Share(programs[1].plans[kind], len(now)))
	}
	return nil
}

func percentile95(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*95/100]
}

// measured is one of the programs.
type measured struct {
	name, program string
	service       *bench.Service
	agent         string
	delays        map[string][]float64 // milliseconds, by kind of question
	plans         map[string]int       // questions for which the model was asked for a plan, by kind
}

// start starts the program with all documents in the set. The caller must call the returned function closed, even if
// start fails.
func (m *measured) start(ctx context.Context, set questionSet, model string) (closed func() error, err error) {
	m.delays, m.plans = make(map[string][]float64), make(map[string]int)
	dir, remove, err := bench.Directory("")
	if err != nil {
		return func() error { return nil }, err
	}
	m.service, err = bench.Start(ctx, m.program, dir, "OPENAI_BASE_URL="+model, "SLUICE_CHAT_MODEL=immediate")
	closed = func() error { return errors.Join(m.service.Close(), remove()) }
	if err == nil {
		_, m.agent, err = fillSet(ctx, m.service, set)
	}
	return closed, err
}

// ask asks a question and, if `counts` is true, records the time until the first piece of the answer.
func (m *measured) ask(ctx context.Context, model *immediateModel, q setQuestion, counts bool) error {
	before := model.plans.Load()
	begun := time.Now()
	var first time.Duration
	_, err := m.service.Stream(ctx, m.agent, q.Question, func(string) {
		if first == 0 {
			first = time.Since(begun)
		}
	})
	if err != nil || !counts {
		return err
	}
	m.delays[q.Kind] = append(m.delays[q.Kind], float64(first)/float64(time.Millisecond))
	m.plans[q.Kind] += int(model.plans.Load() - before)
	return nil
}

// immediateModel is a server that speaks OpenAI's protocol and answers at once.
type immediateModel struct {
	server  *http.Server
	address string
	plans   atomic.Int64 // number of plans that it was asked for
}

func startModel(ctx context.Context) (*immediateModel, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &immediateModel{address: "http://" + l.Addr().String() + "/v1"}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(l) }() // ends when the server is closed
	return m, nil
}

// ServeHTTP answers a chat completion with a stream of one piece.
func (m *immediateModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no messages"}}`, http.StatusBadRequest)
		return
	}
	text := "It is in the documents [1]."
	if strings.HasPrefix(asked.Messages[0].Content, "You prepare searches in documents.") {
		m.plans.Add(1)
		_, question, _ := strings.Cut(asked.Messages[len(asked.Messages)-1].Content, "\n\nQuestion:\n")
		text = question
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, delta := range []any{map[string]string{"role": "assistant", "content": ""}, map[string]string{"content": text}} {
		m.send(w, delta, nil)
	}
	stop := "stop"
	m.send(w, struct{}{}, &stop)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func (m *immediateModel) send(w http.ResponseWriter, delta any, finish *string) {
	chunk, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "immediate",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	if err == nil { // the service notices a missing piece
		_, _ = fmt.Fprintf(w, "data: %s\n\n", chunk)
		_ = http.NewResponseController(w).Flush()
	}
}
