package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/local/started"
)

// measureSluice measures a service, and then by itself the index that it has left.
func measureSluice(ctx context.Context, s settings, w *workload, embedder, dir string, errs io.Writer) ([]result, error) {
	service, store, err := measureService(ctx, s, w, embedder, dir, errs)
	if err != nil {
		return nil, err
	}
	service.tell(errs)
	alone, err := measureIndex(ctx, s, w, dir, store, errs)
	if err != nil {
		return nil, fmt.Errorf("measuring the index in process: %w", err)
	}
	alone.tell(errs)
	return []result{service, alone}, nil
}

// measureService fills a service that it starts in dir, starts it anew, and asks it.
func measureService(ctx context.Context, s settings, w *workload, embedder, dir string, errs io.Writer) (own result, store string, err error) {
	environ := []string{
		"SLUICE_EMBEDDED_INDEX=true", "SLUICE_AUDIT_EVERY=24h", "OPENAI_BASE_URL=" + embedder, "OPENAI_API_KEY=none",
		"SLUICE_EMBED_MODEL=" + embeddingModel,
	}
	fmt.Fprintln(errs, "Sluice: taking in …")
	store, filling, err := fillSluice(ctx, s, w, dir, environ)
	if err != nil {
		return own, "", err
	}
	began := time.Now()
	svc, err := started.Start(ctx, s.api, dir, environ...)
	defer func() { err = errors.Join(err, svc.Close()) }()
	if err != nil {
		return own, "", err
	}
	if _, err := svc.Query(ctx, store, service.Query{Text: w.questions[0].text, TopK: best, Mode: "dense"}); err != nil {
		return own, "", err
	}
	open := time.Since(began)
	fmt.Fprintln(errs, "Sluice: asking …")
	asked := func(mode string, text func(question) string, filters *service.Filters) asker {
		return func(ctx context.Context, q question) ([]int, error) {
			found, err := svc.Query(ctx, store, service.Query{Text: text(q), TopK: best, Mode: mode, Filters: filters})
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
			f, err := ask(ctx, asking{process: svc.PID(), one: m.ask, truth: m.truth, questions: w.questions, clients: clients, limit: s.each})
			if err != nil {
				return own, "", fmt.Errorf("asking by %s: %w", m.name, err)
			}
			own.Figures[fmt.Sprint(m.name, "/", clients)] = f
		}
	}
	set := 0
	for _, mode := range []string{"hybrid", "dense"} {
		for _, clients := range clientCounts {
			f, err := ask(ctx, asking{process: svc.PID(), one: asked(mode, whole, nil), questions: w.freshSet(set), once: true, clients: clients, limit: s.each})
			if err != nil {
				return own, "", fmt.Errorf("asking by %s what was never asked: %w", mode, err)
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
	own.Memory, err = memoryOf(svc.PID())
	return own, store, err
}

// fillSluice takes the workload in, and stops the service when it has nothing left to do.
func fillSluice(ctx context.Context, s settings, w *workload, dir string, environ []string) (store string, took time.Duration, err error) {
	svc, err := started.Start(ctx, s.api, dir, environ...)
	defer func() { err = errors.Join(err, svc.Close()) }()
	if err != nil {
		return "", 0, err
	}
	// A chunk is a paragraph: each is longer than the target, and two of them than what is allowed.
	made, err := svc.CreateDatastore(ctx, service.NewDatastore{Name: "peers", Chunking: &service.Chunking{TargetTokens: 64, MaxTokens: 480}})
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	const batch = 50
	var documents []service.Document
	for row := 0; row < s.rows; row += rowsPerDocument {
		id := documentID(row / rowsPerDocument)
		documents = append(documents, service.Document{CustomID: id, Name: id, Text: strings.Join(w.texts[row:row+rowsPerDocument], "\n\n")})
		if len(documents) == batch || row+rowsPerDocument >= s.rows {
			if _, err := svc.Upsert(ctx, made.ID, documents); err != nil {
				return "", 0, err
			}
			documents = documents[:0]
		}
	}
	if err := svc.Settled(ctx, made.ID); err != nil {
		return "", 0, err
	}
	rested, err := atRest(ctx, svc.PID())
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

// atRest waits until a process has done nothing for some seconds, and tells since when: what the index merges once nobody writes belongs
// to filling it.
func atRest(ctx context.Context, pid int) (since time.Time, err error) {
	const (
		rest  = 4 * time.Second
		every = 500 * time.Millisecond
		busy  = every / 20 // that a service needs which nobody asks, and more
	)
	since = time.Now()
	before, err := processorTimeOf(pid)
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
		used, err := processorTimeOf(pid)
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

// rowsOf are the rows that fragments are made of, by their marks.
func rowsOf(found []service.Fragment) []int {
	var rows []int
	for _, f := range found {
		rows = append(rows, rowsIn(f.Text)...)
	}
	return rows
}

// rowsIn are the rows whose marks are in a text. It is part of what is timed, so that it takes no longer than the others do to read
// a row's number.
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

// asker asks one question and returns the rows that were found.
type asker func(ctx context.Context, q question) ([]int, error)

// clientCounts are how many clients ask at once.
var clientCounts = []int{1, 8}

// asking says how a process is asked.
type asking struct {
	process   int // its id
	one       asker
	truth     func(question) []int // the rows that are to be found; nil: nobody knows
	questions []question           // in turn
	once      bool                 // each of them, but for some that only warm up
	clients   int
	limit     time.Duration
}

// warming is how many of the questions that are asked once are asked before anything is measured.
const warming = 10

// ask has so many clients ask a process one question after the other, until the time has passed or there are no more. Questions
// that come again were asked before, each once, or as many as there is time for.
func ask(ctx context.Context, a asking) (figure, error) {
	questions, most, warm := a.questions, int64(math.MaxInt64), len(a.questions)
	if a.once {
		warm = min(warming, len(questions))
		questions = questions[warm:]
		most = int64(len(questions))
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
	var next atomic.Int64
	var mu sync.Mutex
	var waits []time.Duration
	var hits float64
	var faults []error
	before, err := processorTimeOf(a.process)
	if err != nil {
		return figure{}, err
	}
	began := time.Now()
	var all sync.WaitGroup
	for range a.clients {
		all.Go(func() {
			for time.Since(began) < a.limit {
				n := next.Add(1) - 1
				if n >= most {
					return
				}
				q := questions[n%int64(len(questions))]
				start := time.Now()
				found, err := a.one(ctx, q)
				took := time.Since(start)
				mu.Lock()
				waits = append(waits, took)
				if a.truth != nil {
					hits += recall(found, a.truth(q))
				}
				if err != nil {
					faults = append(faults, err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	f := figureOf(waits, time.Since(began))
	after, err := processorTimeOf(a.process)
	f.CPU = (after - before).Seconds() / float64(len(waits))
	faults = append(faults, err)
	if a.truth != nil {
		f.Recall = hits / float64(len(waits))
	}
	return f, errors.Join(faults...)
}

// memoryOf is the memory of a process that is its own, in bytes: without the pages of files, which the system takes back
// when it needs them.
func memoryOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading what memory the service has: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("the system does not tell what memory a process has")
}

// processorTimeOf is what a process has used of all processors, to a hundredth of a second.
func processorTimeOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading what time the service has used: %w", err)
	}
	// The name, which may hold anything, ends with the last bracket; utime and stime are the 12th and 13th after it (proc(5)).
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading what time the service has used: %w", err)
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // on every Linux of today
	return time.Duration(ticks) * tick, nil
}
