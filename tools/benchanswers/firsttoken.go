package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// measureFirstToken measures how long agents with different settings take to return their first token if the chat model
// answers at once. The model is a loopback server that speaks OpenAI's protocol. All agents search the same documents
// and take turns on each question, so they run under the same load, and delays can be compared question by question.
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
	variants, closed, err := startVariants(ctx, s, set, model.address)
	defer func() { err = errors.Join(err, closed()) }()
	if err != nil {
		return err
	}
	questions := slices.DeleteFunc(set.questions, func(q setQuestion) bool {
		return len(q.History) > 0 || s.half != "" && q.half() != s.half
	})
	if s.questions > 0 {
		questions = questions[:min(s.questions, len(questions))]
	}
	var profiling errgroup.Group
	for round := range s.rounds + 1 { // round 0 only fills the caches
		if round == 1 && s.profile != "" {
			profiling.Go(func() error { return writeProfile(ctx, variants[0].service, s.profile) })
		}
		for n, q := range questions {
			for i := range variants {
				v := variants[(i+n+round)%len(variants)]
				if err := v.ask(ctx, model, q, round > 0); err != nil {
					return fmt.Errorf("%s: asking %s: %w", v.name, q.ID, err)
				}
			}
		}
		fmt.Fprintf(errs, "round %d of %d\n", round, s.rounds)
	}
	if err := profiling.Wait(); err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	bench.Header(out, 1, "agent", "questions", "median ms", "95 % ms", "median difference ms")
	for _, v := range variants {
		v.write(out, v.name, questions, variants[0])
		if v.planned > 0 {
			v.write(out, v.name+": the model planned", v.those(questions, true), variants[0])
			v.write(out, v.name+": no plan needed", v.those(questions, false), variants[0])
		}
	}
	return nil
}

// adminKey is the operator's API key, needed for the service's CPU profile.
const adminKey = "operator-of-the-benchmark"

// writeProfile records a ten-second CPU profile of the service in a file for `go tool pprof`.
func writeProfile(ctx context.Context, b *bench.Service, path string) error {
	const seconds = 10
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", b.Address, seconds), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the service answered %s", resp.Status)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func percentile95(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*95/100]
}

// variant is an agent to measure.
type variant struct {
	name    string
	agent   string
	service *bench.Service
	delays  map[string][]float64 // milliseconds, by question
	plans   map[string]bool      // questions with a search plan from the model
	planned int                  // number of these questions
}

// startVariants starts the service with all of the set's documents and creates the agents. The first agent neither
// plans searches nor marks unsupported sentences. If the settings name another program, startVariants also starts that
// program, with the same documents, and adds its default agent as the last variant. The caller must call the returned
// function even on an error.
func startVariants(ctx context.Context, s settings, set questionSet, model string) (variants []*variant, closed func() error, err error) {
	var closers []func() error
	closed = func() (err error) {
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c())
		}
		return err
	}
	start := func(program string) (b *bench.Service, store, agent string, err error) {
		dir, remove, err := bench.Directory("")
		if err != nil {
			return nil, "", "", err
		}
		closers = append(closers, remove)
		b, err = bench.Start(ctx, program, dir, "OPENAI_BASE_URL="+model, "SLUICE_CHAT_MODEL=immediate", "SLUICE_ADMIN_KEY="+adminKey)
		closers = append(closers, b.Close)
		if err == nil {
			store, agent, err = fillSet(ctx, b, set)
		}
		return b, store, agent, err
	}
	b, store, agent, err := start(s.api)
	if err != nil {
		return nil, closed, err
	}
	add := func(b *bench.Service, name, agent string) {
		variants = append(variants, &variant{name: name, agent: agent, service: b, delays: make(map[string][]float64), plans: make(map[string]bool)})
	}
	for _, unsupported := range []string{"keep", "mark", "drop"} {
		name := "no plans, " + unsupported
		id, err := b.CreateAgentWith(ctx, name, service.AgentOptions{UnsupportedSentences: unsupported}, store)
		if err != nil {
			return nil, closed, err
		}
		add(b, name, id)
	}
	add(b, "plans, mark (default)", agent)
	if s.base != "" {
		other, _, agent, err := start(s.base)
		if err != nil {
			return nil, closed, err
		}
		add(other, "default of "+s.base, agent)
	}
	return variants, closed, nil
}

// ask asks a question and, if `counts` is true, records how long the answer's first chunk took to arrive.
func (v *variant) ask(ctx context.Context, model *immediateModel, q setQuestion, counts bool) error {
	before := model.plans.Load()
	begun := time.Now()
	var first time.Duration
	_, err := v.service.Stream(ctx, v.agent, q.Question, func(string) {
		if first == 0 {
			first = time.Since(begun)
		}
	})
	if err != nil || !counts {
		return err
	}
	v.delays[q.ID] = append(v.delays[q.ID], float64(first)/float64(time.Millisecond))
	if model.plans.Load() > before && !v.plans[q.ID] {
		v.plans[q.ID] = true
		v.planned++
	}
	return nil
}

// those returns the questions for which this agent asked the model for a search plan or, if `planned` is false, those
// for which it didn't.
func (v *variant) those(questions []setQuestion, planned bool) []setQuestion {
	return slices.DeleteFunc(slices.Clone(questions), func(q setQuestion) bool { return v.plans[q.ID] != planned })
}

// write writes a table row with this variant's delays. The row includes the median difference between its delay and the
// delay of `than` for the same question.
func (v *variant) write(out io.Writer, name string, questions []setQuestion, than *variant) {
	if len(questions) == 0 {
		return
	}
	var all, differences []float64
	for _, q := range questions {
		all = append(all, v.delays[q.ID]...)
		differences = append(differences, bench.Median(v.delays[q.ID])-bench.Median(than.delays[q.ID]))
	}
	fmt.Fprintf(out, "| %s | %d | %.2f | %.2f | %s |\n", name, len(questions), bench.Median(all), percentile95(all), bench.Figure("%+.2f", bench.Median(differences)))
}

// immediateModel is a server that speaks OpenAI's protocol and answers immediately.
type immediateModel struct {
	server  *http.Server
	address string
	plans   atomic.Int64 // number of plans requested
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

// ServeHTTP streams the answer to a chat completion request as a single chunk.
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
	if err == nil { // the service will notice a missing piece
		_, _ = fmt.Fprintf(w, "data: %s\n\n", chunk)
		_ = http.NewResponseController(w).Flush()
	}
}
