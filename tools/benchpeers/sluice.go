package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/pkg/loadtest"
	"github.com/sluice/sluice/tools/internal/bench"
)

// measureSluice measures a service, and then its index alone.
func measureSluice(ctx context.Context, s settings, w *workload, embedder, dir string, errs io.Writer) ([]result, error) {
	service, store, err := measureService(ctx, s, w, embedder, dir, errs)
	if err != nil {
		return nil, err
	}
	service.print(errs)
	alone, err := measureIndex(ctx, s, w, dir, store, errs)
	if err != nil {
		return nil, fmt.Errorf("measuring the index in process: %w", err)
	}
	for _, r := range alone {
		r.print(errs)
	}
	return append([]result{service}, alone...), nil
}

// measureService starts a service in `dir`, fills it, restarts it and queries it. It returns the figures and the
// datastore's id.
func measureService(ctx context.Context, s settings, w *workload, embedder, dir string, errs io.Writer) (own result, store string, err error) {
	environ := []string{
		"OPENAI_BASE_URL=" + embedder, "OPENAI_API_KEY=none", "SLUICE_EMBED_MODEL=" + embeddingModel,
	}
	fmt.Fprintln(errs, "Sluice: indexing …")
	store, filling, err := fillSluice(ctx, s, w, dir, environ)
	if err != nil {
		return own, "", err
	}
	began := time.Now()
	svc, err := bench.Start(ctx, s.api, dir, environ...)
	defer func() { err = errors.Join(err, svc.Close()) }()
	if err != nil {
		return own, "", err
	}
	if _, err := svc.Query(ctx, store, service.Query{Text: w.questions[0].text, TopK: topK, Mode: "dense"}); err != nil {
		return own, "", err
	}
	open := time.Since(began)
	fmt.Fprintln(errs, "Sluice: asking …")
	asked := func(mode string, text func(question) string, filters *service.Filters) asker {
		return func(ctx context.Context, q question) ([]int, error) {
			found, err := svc.Query(ctx, store, service.Query{Text: text(q), TopK: topK, Mode: mode, Filters: filters})
			return rowsOf(found), err
		}
	}
	whole, common := func(q question) string { return q.text }, func(q question) string { return q.common }
	part := &service.Filters{}
	for row := filteredPart * rowsPerDocument; row < s.rows; row += rowsPerDocument * parts {
		part.CustomIDs = append(part.CustomIDs, documentID(row/rowsPerDocument))
	}
	own = result{Name: "Sluice", Fill: filling.Seconds(), Open: open.Seconds(), Figures: map[string]figure{}}
	for _, m := range []struct {
		name  string
		ask   asker
		truth func(question) []int
	}{
		{"hybrid", asked("hybrid", whole, nil), nil},
		{"hybrid filtered", asked("hybrid", whole, part), nil},
		{"dense", asked("dense", whole, nil), func(q question) []int { return q.nearest }},
		{"filtered", asked("dense", whole, part), func(q question) []int { return q.filtered }},
		{"words", asked("lexical", common, nil), nil},
	} {
		for _, clients := range clientCounts {
			f, err := ask(ctx, querySettings{process: svc.PID(), one: m.ask, truth: m.truth, questions: w.questions, clients: clients, limit: s.duration})
			if err != nil {
				return own, "", fmt.Errorf("asking by %s: %w", m.name, err)
			}
			own.Figures[fmt.Sprint(m.name, "/", clients)] = f
		}
	}
	set := 0
	for _, mode := range []string{"hybrid", "dense"} {
		for _, clients := range clientCounts {
			f, err := ask(ctx, querySettings{process: svc.PID(), one: asked(mode, whole, nil), questions: w.uniqueSet(set), once: true, clients: clients, limit: s.duration})
			if err != nil {
				return own, "", fmt.Errorf("asking new questions by %s: %w", mode, err)
			}
			own.Figures[fmt.Sprint(mode, " fresh/", clients)] = f
			set++
		}
	}
	select {
	case <-ctx.Done():
		return own, "", ctx.Err()
	case <-time.After(s.idle):
	}
	own.Memory, err = bench.Memory(svc.PID(), bench.OwnMemory)
	return own, store, err
}

// fillSluice uploads the workload, waits until the service is idle, and stops it. It returns the datastore's id and the
// time from the first upload until the service became idle.
func fillSluice(ctx context.Context, s settings, w *workload, dir string, environ []string) (store string, took time.Duration, err error) {
	svc, err := bench.Start(ctx, s.api, dir, environ...)
	defer func() { err = errors.Join(err, svc.Close()) }()
	if err != nil {
		return "", 0, err
	}
	// Each paragraph becomes one chunk: one exceeds the target size, and two would exceed the maximum.
	made, err := svc.CreateDatastore(ctx, service.NewDatastore{Name: "peers", Chunking: &service.Chunking{TargetTokens: 64, MaxTokens: 480}})
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	err = svc.Fill(ctx, made.ID, func(yield func(service.Document) bool) {
		for row := 0; row < s.rows; row += rowsPerDocument {
			id := documentID(row / rowsPerDocument)
			if !yield(service.Document{CustomID: id, Name: id, Text: strings.Join(w.texts[row:row+rowsPerDocument], "\n\n")}) {
				return
			}
		}
	})
	if err != nil {
		return "", 0, err
	}
	rested, err := waitIdle(ctx, svc.PID())
	if err != nil {
		return "", 0, err
	}
	took = rested.Sub(began)
	var chunks int64
	err = svc.Datasources(ctx, made.ID, "synched", func(d service.Datasource) error { chunks += d.Chunks; return nil })
	if err == nil && chunks != int64(s.rows) {
		err = fmt.Errorf("%d chunks were made of %d paragraphs", chunks, s.rows)
	}
	return made.ID, took, err
}

// waitIdle waits until a process has been idle for some seconds. It returns the time at which the process became idle,
// which is when filling ends: the service goes on merging after the last write.
func waitIdle(ctx context.Context, pid int) (since time.Time, err error) {
	const (
		rest  = 4 * time.Second
		every = 500 * time.Millisecond
		busy  = every / 20 // slightly above an idle service's usage
	)
	since = time.Now()
	before, err := bench.ProcessorTime(pid)
	if err != nil {
		return since, err
	}
	look := time.NewTicker(every)
	defer look.Stop()
	for time.Since(since) < rest {
		select {
		case <-ctx.Done():
			return since, ctx.Err()
		case <-look.C:
		}
		used, err := bench.ProcessorTime(pid)
		if err != nil {
			return since, err
		}
		if used-before > busy {
			since = time.Now()
		}
		before = used
	}
	return since, nil
}

func documentID(n int) string { return fmt.Sprintf("document-%d", n) }

// rowsOf returns the rows whose markers appear in the fragments.
func rowsOf(found []service.Fragment) []int {
	var rows []int
	for _, f := range found {
		rows = append(rows, rowsIn(f.Text)...)
	}
	return rows
}

// rowsIn returns the rows marked in a text. It's part of the measured times, so it must be as fast as reading a row
// number from another store's answer.
func rowsIn(text string) (rows []int) {
	for {
		before, rest, found := strings.Cut(text, itemMark)
		if !found {
			return rows
		}
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		text = rest[len(digits):]
		if strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\n") || before == "" {
			if n, err := strconv.Atoi(digits); err == nil {
				rows = append(rows, n)
			}
		}
	}
}

// asker asks a question and returns the rows found.
type asker func(ctx context.Context, q question) ([]int, error)

// Numbers of concurrent clients.
var clientCounts = []int{1, 8}

// querySettings says how to query a process.
type querySettings struct {
	process   int // process id
	one       asker
	truth     func(question) []int // correct rows; nil if unknown
	questions []question           // in the order to ask them
	once      bool                 // ask each question once; the first few only warm up
	clients   int
	limit     time.Duration
}

// Number of warm-up questions if each question is asked only once.
const warmupQuestions = 10

// ask runs a.clients concurrent clients. Each one asks one question after another until a.limit has passed or there are
// none left. If questions may be repeated, ask begins by asking each of them once, if there is time.
func ask(ctx context.Context, a querySettings) (figure, error) {
	questions, warm := a.questions, len(a.questions)
	load := loadtest.Load{Clients: a.clients, For: a.limit, Grace: time.Minute}
	if a.once {
		warm = min(warmupQuestions, len(questions))
		questions = questions[warm:]
		load.Requests = len(questions)
	}
	warmed := time.Now()
	for _, q := range a.questions[:warm] {
		if time.Since(warmed) > a.limit {
			break
		}
		if _, err := a.one(ctx, q); err != nil {
			return figure{}, err
		}
	}
	before, err := bench.ProcessorTime(a.process)
	if err != nil {
		return figure{}, err
	}
	var mu sync.Mutex
	var hits float64
	loading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	report, err := loadtest.Run(loading, load, func(ctx context.Context, n int, take *loadtest.Times) error {
		q := questions[n%len(questions)]
		found, err := a.one(ctx, q)
		take.Since("answered")
		if err != nil {
			stop(err) // any error ends the measurement
		} else if a.truth != nil {
			mu.Lock()
			defer mu.Unlock()
			hits += recall(found, a.truth(q))
		}
		return err
	})
	if err != nil || loading.Err() != nil {
		return figure{}, errors.Join(err, context.Cause(loading))
	}
	after, err := bench.ProcessorTime(a.process)
	f := figure{CPU: (after - before).Seconds() / float64(report.Succeeded), Rate: report.PerSecond}
	for _, m := range report.Measures {
		f.P50, f.P99 = m.P50/1000, m.P99/1000
	}
	if a.truth != nil {
		f.Recall = hits / float64(report.Succeeded)
	}
	return f, err
}
