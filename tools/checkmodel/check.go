package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// The model is slow on a CPU, so keep the prompts short and the timeouts long.
var serviceSettings = []string{
	"SLUICE_CHAT_MODEL=openai:small", "OPENAI_API_KEY=none",
	"SLUICE_CHAT_WINDOW=4096", "SLUICE_CHAT_FRAGMENTS=3", "SLUICE_CHAT_CONTEXT=500", "SLUICE_CHAT_MAX_TOKENS=200",
	"SLUICE_CHAT_START_TIMEOUT=10m", "SLUICE_CHAT_STALL_TIMEOUT=5m", "SLUICE_CHAT_TIMEOUT=15m",
}

// tally counts the answers to one kind of question.
type tally struct {
	questions, right, cited, sourced, streamed int
	first, total                               []float64 // seconds to the answer's first piece and to its end
}

// check runs the model and a service and asks the questions.
func check(ctx context.Context, s settings, in installation, out, errs io.Writer) (err error) {
	address, stop, err := startModel(ctx, in)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	dir, remove, err := bench.Directory("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b, err := bench.Start(ctx, s.api, dir, append(serviceSettings, "OPENAI_BASE_URL="+address+"/v1")...)
	defer func() { err = errors.Join(err, b.Close()) }()
	if err != nil {
		return err
	}
	agent, all, err := fill(ctx, b)
	if err != nil {
		return err
	}
	c, err := client.New(b.Address, b.Key)
	if err != nil {
		return err
	}
	tallies := map[string]*tally{}
	for _, q := range all {
		t := tallies[q.kind]
		if t == nil {
			t = &tally{}
			tallies[q.kind] = t
		}
		if len(s.kinds) > 0 && !slices.Contains(s.kinds, q.kind) || s.questions > 0 && t.questions == s.questions {
			continue
		}
		if err := t.ask(ctx, c, agent, q, errs); err != nil {
			return fmt.Errorf("asking %q: %w", q.text, err)
		}
	}
	bench.Header(out, 1, "kind", "questions", "right", "with citations", "with sources", "streamed", "first piece, s (median)", "whole answer, s (median)")
	for _, kind := range kinds {
		if t := tallies[kind]; t != nil && t.questions > 0 {
			fmt.Fprintf(out, "| %s | %d | **%d** | %d | %d | %d | %s | %s |\n", kind, t.questions, t.right, t.cited, t.sourced, t.streamed,
				bench.Figure("%.1f", bench.Median(t.first)), bench.Figure("%.1f", bench.Median(t.total)))
		}
	}
	return nil
}

// fill creates a datastore with all documents and an agent, and returns the questions.
func fill(ctx context.Context, b *bench.Service) (agent string, all []question, err error) {
	store, err := b.CreateDatastore(ctx, service.NewDatastore{Name: "check-model"})
	if err != nil {
		return "", nil, err
	}
	bad, more := injected()
	for _, d := range slices.Concat(documents, bad) {
		if _, err := b.Upload(ctx, store.ID, d.name, []byte(d.text)); err != nil {
			return "", nil, err
		}
	}
	if err := b.Settled(ctx, store.ID); err != nil {
		return "", nil, err
	}
	agent, err = b.CreateAgent(ctx, "check-model", store.ID)
	return agent, slices.Concat(questions, more), err
}

// ask asks a question. Before a follow-up, it asks the earlier question in the same conversation.
func (t *tally) ask(ctx context.Context, c *client.Client, agent string, q question, errs io.Writer) error {
	t.questions++
	query := client.AgentQuery{Query: q.text}
	if q.before != "" {
		earlier, err := c.QueryAgent(ctx, agent, client.AgentQuery{Query: q.before})
		if err != nil {
			return err
		}
		query.ConversationId = &earlier.ConversationId
	}
	var text strings.Builder
	pieces, begun := 0, time.Now()
	answer, err := c.StreamAgent(ctx, agent, query, func(piece string) error {
		if pieces++; pieces == 1 {
			t.first = append(t.first, time.Since(begun).Seconds())
		}
		text.WriteString(piece)
		return nil
	})
	if err != nil {
		return err
	}
	t.total = append(t.total, time.Since(begun).Seconds())
	if pieces > 1 {
		t.streamed++
	}
	var sources []string
	for _, s := range answer.Sources {
		sources = append(sources, s.DatasourceName)
	}
	if len(sources) > 0 {
		t.sourced++
	}
	if mark.MatchString(text.String()) {
		t.cited++
	}
	right := q.accepts(text.String(), sources)
	if right {
		t.right++
	}
	fmt.Fprintf(errs, "%s, right %v: %s\n  %s %q\n", q.kind, right, q.text, strings.Join(strings.Fields(text.String()), " "), sources)
	return nil
}

// mark matches a citation, such as [1].
var mark = regexp.MustCompile(`\[\d+\]`)

// startModel starts the model's server on loopback and waits until it is ready. The caller must call `stop` even on an
// error.
func startModel(ctx context.Context, in installation) (address string, stop func() error, err error) {
	stop = func() error { return nil }
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", stop, err
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err = errors.Join(err, l.Close()); err != nil {
		return "", stop, err
	}
	cmd := exec.CommandContext(ctx, in.server, "-m", in.model, "--host", host, "--port", port, "-c", "4096", "--parallel", "1", "--alias", "small")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(in.server))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return "", stop, err
	}
	ended := make(chan struct{})
	var exit error // valid once `ended` is closed
	go func() {
		defer close(ended)
		exit = cmd.Wait()
	}()
	stop = func() error {
		err := cmd.Process.Kill()
		<-ended
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		return err
	}
	address = "http://" + net.JoinHostPort(host, port)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ended:
			return "", stop, fmt.Errorf("the model's server ended: %w: %s", exit, lastLines(said.String()))
		case <-ctx.Done():
			return "", stop, fmt.Errorf("waiting for the model's server: %w", ctx.Err())
		case <-poll.C:
		}
		if isReady(ctx, address) {
			return address, stop, nil
		}
	}
}

func isReady(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func lastLines(text string) string { return text[max(0, len(text)-1000):] }
