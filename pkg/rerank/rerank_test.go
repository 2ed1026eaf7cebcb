package rerank

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEachWireForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, served string }{
		"Cohere's":               {"/v2/rerank", "/v2/rerank"},
		"Cohere's, by its base":  {"/v2", "/v2/rerank"},
		"Jina's":                 {"/v1/rerank", "/v1/rerank"},
		"Jina's, by its base":    {"/v1/", "/v1/rerank"},
		"TEI's":                  {"/rerank", "/rerank"},
		"TEI's, by its base":     {"", "/rerank"},
		"Jina's without version": {"/jina/rerank", "/jina/rerank"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, c.served)
			client, _ := s.client(t, c.path)
			for range 2 {
				got, err := client.Rerank(t.Context(), "gate", []string{"0.2 a", "0.9 b", "0.5 c"}, time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]Result{{1, 0.9}, {2, 0.5}, {0, 0.2}}, got); diff != "" {
					t.Fatal(diff)
				}
			}
			last := s.requests[len(s.requests)-1]
			if last.path != c.served || last.key != "Bearer sesame" || last.body["query"] != "gate" {
				t.Errorf("%+v", last)
			}
			if _, texts := last.body["texts"]; texts != (c.served == "/rerank") || !texts && last.body["model"] != "cross" {
				t.Errorf("%+v", last)
			}
			if limit := map[bool]int{true: 3, false: 2}[strings.HasPrefix(name, "Jina's without")]; len(s.requests) != limit {
				t.Errorf("%d requests, want %d: the form is learned once", len(s.requests), limit)
			}
		})
	}
}

func TestManyPassagesGoToTEIInBatches(t *testing.T) {
	t.Parallel()
	s := newServer(t, "/rerank")
	client, _ := s.client(t, "")
	var passages []string
	for i := range 70 {
		passages = append(passages, fmt.Sprintf("0.%03d", i))
	}
	got, err := client.Rerank(t.Context(), "gate", passages, time.Time{})
	if err != nil || len(got) != 70 || len(s.requests) != 3 {
		t.Fatalf("%d results, %d requests, %v", len(got), len(s.requests), err)
	}
	for i, r := range got {
		if r.Index != 69-i {
			t.Fatalf("place %d has passage %d", i, r.Index)
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, "/rerank")
	client, _ := s.client(t, "")
	if _, err := client.Rerank(t.Context(), strings.Repeat("門", MaxQueryBytes), []string{"0.5 " + strings.Repeat("é", MaxPassageBytes), "0.1 \xff"}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	body := s.requests[0].body
	texts := body["texts"].([]any)
	if q := body["query"].(string); len(q) > MaxQueryBytes || strings.Contains(q, "\ufffd") {
		t.Errorf("a query of %d bytes", len(q))
	}
	if p := texts[0].(string); len(p) > MaxPassageBytes || len(p) < MaxPassageBytes-4 || strings.Contains(p, "\ufffd") {
		t.Errorf("a passage of %d bytes", len(p))
	}
	if texts[1] != "0.1 \ufffd" {
		t.Errorf("%q", texts[1])
	}
	if _, err := client.Rerank(t.Context(), "gate", make([]string, MaxPassages+1), time.Time{}); err == nil {
		t.Error("too many passages were taken")
	}
	if got, err := client.Rerank(t.Context(), "gate", nil, time.Time{}); got != nil || err != nil || len(s.requests) != 1 {
		t.Error("nothing was asked for, and the server asked")
	}
}

func TestScoresAreMappedTo0To1InOrder(t *testing.T) {
	t.Parallel()
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for name, c := range map[string]struct {
		scores []float64
		want   []Result
	}{
		"probabilities stay":             {[]float64{0, 1, 0.5}, []Result{{1, 1}, {2, 0.5}, {0, 0}}},
		"equal ones keep their order":    {[]float64{0.5, 0.7, 0.5}, []Result{{1, 0.7}, {0, 0.5}, {2, 0.5}}},
		"similarities count from 0":      {[]float64{-0.3, 0.4, -0.1}, []Result{{1, 0.4}, {2, 0}, {0, 0}}},
		"raw outputs are mapped":         {[]float64{-8, 4, 0.5}, []Result{{1, logistic(4)}, {2, logistic(0.5)}, {0, logistic(-8)}}},
		"extreme raw outputs are mapped": {[]float64{-1e308, 1e308}, []Result{{1, 1}, {0, 0}}},
		"a single passage is accepted":   {[]float64{3}, []Result{{0, logistic(3)}}},
	} {
		if diff := cmp.Diff(c.want, normalise(c.scores)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, words string }{
		"nothing":                     {"", "not in a reranker's format"},
		"a page":                      {"<html>busy</html>", "not in a reranker's format"},
		"another object":              {`{"data": []}`, "0 results for 2 passages"},
		"null":                        {`null`, "0 results for 2 passages"},
		"a list of numbers":           {`[1, 2]`, "not a list of scores"},
		"too few":                     {`{"results":[{"index":0,"relevance_score":1}]}`, "1 results for 2 passages"},
		"too many":                    {`[{"index":0,"score":1},{"index":1,"score":1},{"index":1,"score":1}]`, "3 results for 2 passages"},
		"one twice":                   {`[{"index":1,"score":1},{"index":1,"score":1}]`, "there are two results with index 1"},
		"an index beyond":             {`[{"index":0,"score":1},{"index":2,"score":1}]`, "index 2 is out of range"},
		"an index below":              {`[{"index":0,"score":1},{"index":-1,"score":1}]`, "index -1 is out of range"},
		"an index that is a fraction": {`[{"index":0,"score":1},{"index":0.5,"score":1}]`, "not a list of scores"},
		"no index":                    {`[{"index":0,"score":1},{"score":1}]`, "has no index or no score"},
		"no score":                    {`[{"index":0,"score":1},{"index":1}]`, "has no index or no score"},
		"a score out of range":        {`[{"index":0,"score":1},{"index":1,"score":1e999}]`, "not a list of scores"},
		"a score that is NaN":         {`[{"index":0,"score":1},{"index":1,"score":NaN}]`, "not a list of scores"},
		"a score that is a text":      {`[{"index":0,"score":1},{"index":1,"score":"0.5"}]`, "not a list of scores"},
		"depth":                       {strings.Repeat("[", 1_000_000), "not a list of scores"},
		"length":                      {"[" + strings.Repeat(" ", maxResponseBytes) + "]", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.before = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				_, _ = w.Write([]byte(c.body))
				return true
			}
			client, _ := s.client(t, "")
			got, err := client.Rerank(t.Context(), "gate", []string{"a", "b"}, time.Time{})
			var failure *Error
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), c.words) || got != nil {
				t.Errorf("%v, %v; want %q", got, err, c.words)
			}
			if len(s.requests) != 1 {
				t.Errorf("%d requests: an answer that is wrong would be so again", len(s.requests))
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"results":[{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":0.1}]}`))
	f.Add([]byte(`[{"index":1,"score":0.5},{"index":0,"score":-3}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		scores := make([]float64, 2)
		if decode(body, scores) != nil {
			return
		}
		last := 1.0
		for _, r := range normalise(scores) {
			if !(r.Score >= 0 && r.Score <= last) {
				t.Fatalf("%v of %q", normalise(scores), body)
			}
			last = r.Score
		}
	})
}

func TestTemporaryErrorsAreRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		header   string
		failures int
		requests int
		words    string // "" if it succeeds
		pause    time.Duration
	}{
		"a busy server":                          {status: 429, failures: 2, requests: 3},
		"a server that is starting":              {status: 503, failures: 1, requests: 2},
		"a server that says when to retry":       {status: 429, header: "1", failures: 1, requests: 2, pause: time.Second},
		"a server that asks for too long a wait": {status: 429, header: "3600", failures: 1, requests: 1, words: "the server answered 429: slow down"},
		"a server that keeps failing":            {status: 500, failures: 99, requests: tries, words: "the server answered 500: slow down"},
		"a permanent error":                      {status: 501, failures: 99, requests: 1, words: "the server answered 501"},
		"a wrong key":                            {status: 401, failures: 99, requests: 1, words: "the server answered 401: slow down, [key]"},
		"a redirect, which is not followed":      {status: 307, header: "0", failures: 99, requests: 1, words: "the server answered 307"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "/v1/rerank")
			s.before = func(w http.ResponseWriter, _ *http.Request, count int) bool {
				if count > c.failures {
					return false
				}
				w.Header().Set("Retry-After", c.header)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				fmt.Fprint(w, `{"detail":"slow  down, sesame"}`)
				return true
			}
			client, pauses := s.client(t, "/v1")
			_, err := client.Rerank(t.Context(), "gate", []string{"0.1"}, time.Time{})
			if len(s.requests) != c.requests || (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("%d requests, %v", len(s.requests), err)
			}
			if c.pause > 0 && (len(*pauses) != 1 || (*pauses)[0] != c.pause) {
				t.Errorf("pauses %v", *pauses)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the key is told: %v", err)
			}
		})
	}
}

func TestRerankEndsInTime(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.before = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		<-r.Context().Done()
		return true
	}
	client, _ := s.client(t, "", func(c *Config) { c.Timeout = 50 * time.Millisecond })
	_, err := client.Rerank(t.Context(), "gate", []string{"a"}, time.Time{})
	var failure *Error
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "did not answer in time") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Rerank(ctx, "gate", []string{"a"}, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnUnreachableServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	client, pauses := s.client(t, "")
	s.Close()
	if _, err := client.Rerank(t.Context(), "gate", []string{"a"}, time.Time{}); err == nil || !strings.Contains(err.Error(), "the connection failed") {
		t.Error(err)
	}
	if len(*pauses) != tries-1 {
		t.Errorf("%d pauses", len(*pauses))
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://h":                          "http://h/rerank",
		"https://api.cohere.com/v2":         "https://api.cohere.com/v2/rerank",
		"https://api.jina.ai/v1/rerank/":    "https://api.jina.ai/v1/rerank",
		"http://h:8080/rerank?deployment=x": "http://h:8080/rerank?deployment=x",
	} {
		c, err := New(Config{URL: url})
		if err != nil || c.address != want {
			t.Errorf("%s: %v, %v", url, c, err)
		}
	}
	for _, url := range []string{"", "h:8080", "ftp://h", "http://", "http://h:port", "/rerank"} {
		if _, err := New(Config{URL: url}); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
	_, err := New(Config{URL: "ftp://user:sesame@h"})
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Error(err)
	}
}
