package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
)

func TestTransientFailuresAreRetried(t *testing.T) {
	t.Parallel()
	write := func(w http.ResponseWriter, text string) bool {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, text)
		return true
	}
	for name, fail := range map[string]func(w http.ResponseWriter) bool{
		"429": func(w http.ResponseWriter) bool { return refuse(w, http.StatusTooManyRequests, "rate limit reached") },
		"500": func(w http.ResponseWriter) bool {
			return refuse(w, http.StatusInternalServerError, "CUDA out of memory")
		},
		"503 without JSON": func(w http.ResponseWriter) bool {
			http.Error(w, "model is loading", http.StatusServiceUnavailable)
			return true
		},
		"408":            func(w http.ResponseWriter) bool { return refuse(w, http.StatusRequestTimeout, "timeout") },
		"connection cut": func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) },
		"body cut": func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Length", "999")
			return write(w, `{"data":[`)
		},
		"half a JSON":           func(w http.ResponseWriter) bool { return write(w, `{"data":[{"index":0,"embe`) },
		"too few vectors":       func(w http.ResponseWriter) bool { return write(w, `{"data":[]}`) },
		"an index out of range": func(w http.ResponseWriter) bool { return write(w, `{"data":[{"index":7,"embedding":[1,0,0]}]}`) },
		"null for a number":     func(w http.ResponseWriter) bool { return write(w, `{"data":[{"index":0,"embedding":null}]}`) },
		"a number too large":    func(w http.ResponseWriter) bool { return write(w, `{"data":[{"index":0,"embedding":[1e999,0,0]}]}`) },
		"NaN in base64": func(w http.ResponseWriter) bool {
			return write(w, `{"data":[{"index":0,"embedding":"AADAfwAAwH8AAMB/"}]}`)
		},
		"base64 of three bytes": func(w http.ResponseWriter) bool { return write(w, `{"data":[{"index":0,"embedding":"AADA"}]}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(n int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool { return n <= 2 && fail(w) })
			e, waits := newEmbedder(t, s, nil)
			vectors, err := e.Embed(t.Context(), []string{"text"}, embed.Passage)
			if err != nil {
				t.Fatal(err)
			}
			sameDirection(t, vectors[0], "text")
			if s.calls() != 3 || len(waits.list) != 2 {
				t.Errorf("%d requests with %d waits, want 3 with 2", s.calls(), len(waits.list))
			}
		})
	}
}

func TestRetryDelaysGrow(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
		return refuse(w, http.StatusInternalServerError, "no")
	})
	e, waits := newEmbedder(t, s, func(c *Config) { c.MaxAttempts = 9 })
	_, err := e.Embed(t.Context(), []string{"text"}, embed.Passage)
	var failure *embed.Error
	if !errors.As(err, &failure) || failure.Kind != embed.Transient || failure.Status != 500 || s.calls() != 9 {
		t.Fatalf("error %v after %d requests, want a transient one after 9", err, s.calls())
	}
	for i, wait := range waits.list {
		limit := min(firstPause<<i, maxPause)
		if wait < limit/2 || wait > limit {
			t.Errorf("wait %d is %v, want %v to %v", i+1, wait, limit/2, limit)
		}
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	limited := func(after string) func(int, http.ResponseWriter, *http.Request, wireRequest) bool {
		return func(n int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
			w.Header().Set("Retry-After", after)
			return n == 1 && refuse(w, http.StatusTooManyRequests, "slow down")
		}
	}
	t.Run("a short one is waited for", func(t *testing.T) {
		t.Parallel()
		e, waits := newEmbedder(t, newServer(t, limited("7")), nil)
		if _, err := e.Embed(t.Context(), []string{"text"}, embed.Query); err != nil {
			t.Fatal(err)
		}
		if len(waits.list) != 1 || waits.list[0] != 7*time.Second {
			t.Errorf("waits %v, want 7 s", waits.list)
		}
	})
	for name, c := range map[string]struct {
		after    string
		deadline time.Duration
	}{
		"one that outlasts the deadline is returned": {"20", 10 * time.Second},
		"a very long one is returned":                {"3600", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, waits := newEmbedder(t, newServer(t, limited(c.after)), nil)
			ctx := t.Context()
			if c.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			_, err := e.Embed(ctx, []string{"text"}, embed.Query)
			var reported *domain.Error
			if !errors.As(err, &reported) || reported.Code != domain.CodeUnavailable || reported.RetryAfter.String() != shown(c.after) {
				t.Errorf("error %v (%+v), want unavailable for %s s", err, reported, c.after)
			}
			if len(waits.list) != 0 {
				t.Errorf("waited %v", waits.list)
			}
		})
	}
}

func shown(seconds string) string {
	d, err := time.ParseDuration(seconds + "s")
	if err != nil {
		panic(err)
	}
	return d.String()
}

func TestRejectionsArePermanentAndQuoteTheProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		body, want string
	}{
		"400 of OpenAI":        {400, `{"error":{"message":"unknown model","type":"invalid_request_error"}}`, "unknown model"},
		"401 with the key":     {401, `{"error":{"message":"bad key sk-very-secret given"}}`, "bad key [key] given"},
		"404 of Ollama":        {404, `{"error":"model \"x\" not found, try pulling it first"}`, `model "x" not found`},
		"422 of FastAPI":       {422, `{"detail":"no such task"}`, "no such task"},
		"403 in plain text":    {403, "Forbidden by proxy\n", "Forbidden by proxy"},
		"404 without a body":   {404, "", "gave no reason"},
		"a body without end":   {400, strings.Repeat("x", 1<<20), strings.Repeat("x", maxMessage)},
		"a redirect elsewhere": {300, `{}`, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
				return true
			})
			e, waits := newEmbedder(t, s, nil)
			_, err := e.Embed(t.Context(), []string{"text"}, embed.Query)
			var failure *embed.Error
			if !errors.As(err, &failure) || !isPermanent(err) || failure.Status != c.status {
				t.Fatalf("error %v, want a permanent one of status %d", err, c.status)
			}
			if !strings.Contains(failure.Message, c.want) || len(failure.Message) > maxMessage {
				t.Errorf("message %q, want %q", failure.Message, c.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, failure), "sk-very-secret") {
				t.Error("the error holds the key")
			}
			if s.calls() != 1 || len(waits.list) != 0 {
				t.Errorf("%d requests, want 1", s.calls())
			}
		})
	}
}

func TestTextsAreNotSentAlongRedirects(t *testing.T) {
	t.Parallel()
	other := newServer(t, nil)
	s := newServer(t, func(_ int, w http.ResponseWriter, r *http.Request, _ wireRequest) bool {
		http.Redirect(w, r, other.URL+"/v1/embeddings", http.StatusTemporaryRedirect)
		return true
	})
	client := newClient(1)
	defer client.CloseIdleConnections()
	e, _ := newEmbedder(t, s, func(c *Config) { c.HTTPClient = client })
	if _, err := e.Embed(t.Context(), []string{"text"}, embed.Passage); !isPermanent(err) || other.calls() != 0 {
		t.Errorf("error %v, and %d requests came to the other host", err, other.calls())
	}
}

func TestInputRejectedAsTooLongIsHalved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		message string
	}{
		"OpenAI":         {400, "This model's maximum context length is 8192 tokens, however you requested 9000"},
		"TEI":            {413, "Input validation error: `inputs` must have less than 512 tokens"},
		"vLLM, llamacpp": {422, "input is too large to process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, body wireRequest) bool {
				for _, text := range body.Input {
					if len(text) > 100 {
						return refuse(w, c.status, c.message)
					}
				}
				return false
			})
			e, _ := newEmbedder(t, s, nil)
			texts := []string{"short", strings.Repeat("long", 75), "another", "last"}
			vectors, err := e.Embed(t.Context(), texts, embed.Passage)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				sameDirection(t, vectors[i], text[:min(75, len(text))])
			}
		})
	}
}

func TestBatchesShrinkToTheServersLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, body wireRequest) bool {
		return len(body.Input) > 4 && refuse(w, 422, "batch size 16 > maximum allowed batch size 4")
	})
	e, _ := newEmbedder(t, s, nil)
	vectors, err := e.Embed(t.Context(), repeat("text", 16), embed.Passage)
	if err != nil || len(vectors) != 16 {
		t.Errorf("%d vectors, error %v", len(vectors), err)
	}
}

func TestHalvingATextIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
		return refuse(w, http.StatusBadRequest, "input length is wrong")
	})
	e, _ := newEmbedder(t, s, nil)
	_, err := e.Embed(t.Context(), []string{strings.Repeat("x", 1000)}, embed.Passage)
	if !isPermanent(err) || s.calls() > 8 {
		t.Errorf("error %v after %d requests, want a permanent one after 8 at most", err, s.calls())
	}
}

func TestAnotherDimensionIsAnotherModel(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.Dimensions = 768 })
	_, err := e.Embed(t.Context(), []string{"text"}, embed.Passage)
	if !isPermanent(err) || !strings.Contains(err.Error(), "3 dimensions") || !strings.Contains(err.Error(), "768") {
		t.Errorf("error %v, want a permanent one that names 3 and 768", err)
	}
}

func TestAHangingServerTimesOut(t *testing.T) {
	t.Parallel()
	hang := func(_ int, _ http.ResponseWriter, r *http.Request, _ wireRequest) bool {
		<-r.Context().Done()
		return true
	}
	t.Run("of one request, then it is tried again", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(n int, w http.ResponseWriter, r *http.Request, body wireRequest) bool {
			return n == 1 && hang(n, w, r, body)
		})
		e, _ := newEmbedder(t, s, func(c *Config) { c.Timeout = time.Second })
		if _, err := e.Embed(t.Context(), []string{"text"}, embed.Query); err != nil || s.calls() != 2 {
			t.Errorf("error %v after %d requests, want success after 2", err, s.calls())
		}
	})
	t.Run("of the caller", func(t *testing.T) {
		t.Parallel()
		e, _ := newEmbedder(t, newServer(t, hang), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := e.Embed(ctx, []string{"text"}, embed.Query)
		var failure *embed.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failure) || failure.Kind != embed.Unavailable {
			t.Errorf("error %v, want unavailable for the deadline", err)
		}
	})
	t.Run("until the caller leaves", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		e, waits := newEmbedder(t, newServer(t, func(n int, w http.ResponseWriter, r *http.Request, body wireRequest) bool {
			cancel()
			return hang(n, w, r, body)
		}), nil)
		if _, err := e.Embed(ctx, []string{"text"}, embed.Query); !errors.Is(err, context.Canceled) || len(waits.list) != 0 {
			t.Errorf("error %v after waits %v, want context.Canceled at once", err, waits.list)
		}
	})
}

func TestAnUnreachableServerIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.Close()
	e, waits := newEmbedder(t, s, nil)
	_, err := e.Embed(t.Context(), []string{"text"}, embed.Query)
	var failure *embed.Error
	if !errors.As(err, &failure) || failure.Kind != embed.Unavailable || len(waits.list) != 5 {
		t.Errorf("error %v after %d waits, want unavailable after 5", err, len(waits.list))
	}
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("code %s, want %s", domain.CodeOf(err), domain.CodeUnavailable)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
		block := []byte(strings.Repeat(" ", 1<<20))
		for range maxResponse>>20 + 1 {
			if _, err := w.Write(block); err != nil {
				break
			}
		}
		return true
	})
	e, _ := newEmbedder(t, s, nil)
	_, err := e.Embed(t.Context(), []string{"text"}, embed.Query)
	if !errors.Is(err, bounded.ErrTooLarge) || !isPermanent(err) || s.calls() != 1 {
		t.Errorf("error %v after %d requests, want bounded.ErrTooLarge after 1", err, s.calls())
	}
}

// FuzzNumbersAreWhatJSONSays compares numbersOf with encoding/json.
func FuzzNumbersAreWhatJSONSays(f *testing.F) {
	for _, seed := range []string{
		`[1,-2.5e-3, 0 ,1E2]`, `[]`, `[ ]`, `null`, `[null]`, `[1,[2,3]]`, `["1,2"]`, `[1e39]`, `[1e400,1]`, `{"a":[1,2]}`, `[-0,16777217,3.4028235e38,1e-46]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		data = bytes.TrimSpace(data)
		got, ok := numbersOf(data)
		var want []float32
		err := json.Unmarshal(data, &want)
		if ok && (err != nil || !slices.Equal(got, want)) {
			t.Fatalf("%q is read as %v, want %v: %v", data, got, want, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	numbers := make([]string, 384)
	for i := range numbers {
		numbers[i] = strconv.FormatFloat(math.Sin(float64(i)), 'g', 9, 32)
	}
	body := []byte(`{"object":"list","data":[{"index":0,"embedding":[` + strings.Join(numbers, ",") + `]}],"model":"m"}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := decode(body, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}`,
		`{"data":[{"embedding":"AACAPwAAAEA="},{"index":1,"embedding":[3,4]}]}`, `{"data":null}`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		vectors, err := decode(body, 2)
		if err != nil {
			return
		}
		if len(vectors) != 2 || len(vectors[0]) == 0 || len(vectors[0]) != len(vectors[1]) {
			t.Fatalf("vectors %v of %q", vectors, body)
		}
		for _, v := range vectors {
			var squares float64
			for _, x := range v {
				squares += float64(x) * float64(x)
			}
			if squares != 0 && (squares < 0.99 || squares > 1.01) {
				t.Fatalf("squared length %g of %q", squares, body)
			}
		}
	})
}

// isPermanent reports whether retrying after err is pointless.
func isPermanent(err error) bool {
	e, ok := errors.AsType[*embed.Error](err)
	return ok && e.Kind == embed.Permanent
}
