package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
)

// manuals holds the documents for these tests, by custom id.
var manuals = map[string]string{
	"pump":   "The Aurora pump carries a warranty of thirty months. It begins on the day on which the pump is delivered, and covers seals, bearings and the motor. Claims are made in writing.",
	"logger": "The Nimbus logger shows error code E-23 when its memory card is full. Replace the card while the device is switched off, and format the new one before the first recording.",
	"valve":  "Tarnholm valves are opened by turning the red lever to the left. In frost the lever has to be warmed with water first, never with a flame, because the gasket melts.",
	"sensor": "The sensor measures pressure twelve times per second and sends what it has measured by radio. Its battery lasts four years, and a lamp blinks when it has to be replaced.",
}

func evaluated(t *testing.T) (p *program, storeID string) {
	t.Helper()
	p = newProgram(t)
	p.start()
	storeID = p.newDatastore()
	var documents []map[string]any
	for id, text := range manuals {
		documents = append(documents, map[string]any{"text": text, "name": "Manual of the " + id, "metadata": map[string]string{"custom_id": id}})
	}
	p.must(p.post("/datastores/upsert/"+storeID, map[string]any{"documents": documents}, nil))
	p.settled(storeID, time.Minute)
	return p, storeID
}

// eval runs sluice eval in the program's data directory.
func (p *program) eval(ctx context.Context, environ []string, args ...string) (out, errs string, err error) {
	var stdout, stderr bytes.Buffer
	environ = append([]string{"SLUICE_DATA_DIR=" + p.dir, "SLUICE_URL=http://" + p.addr}, environ...)
	err = run(ctx, API, append([]string{"eval"}, args...), environ, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

func writeLines(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEvalMeasuresARunningService(t *testing.T) {
	t.Parallel()
	p, storeID := evaluated(t)
	key := []string{"SLUICE_API_KEY=" + testKey}
	queries := writeLines(t, "q.jsonl",
		`{"_id": "1", "text": "warranty of the Aurora pump", "relevant": ["pump"], "answer": "thirty months"}`,
		`{"_id": "2", "text": "error code E-23", "relevant": ["Manual of the logger"], "answer": ["is full", "memory card"]}`,
		`{"_id": "3", "text": "open the valve in frost", "answer": "fifty levers"}`,
		`{"_id": "4", "text": "lamp that blinks", "relevant": ["nothing like it"]}`,
		`{"_id": "5", "text": "left out"}`)

	t.Run("with figures for machines", func(t *testing.T) {
		t.Parallel()
		out, errs, err := p.eval(t.Context(), key, "--datastore", "test", "--queries", queries, "--modes", "hybrid,lexical", "--k", "3", "--json")
		if err != nil {
			t.Fatal(err, errs)
		}
		var report compare.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Levels) != 2 || report.K != 3 || report.Questions != 4 {
			t.Fatalf("the report is %+v", report)
		}
		// Two of the three relevant documents exist and are ranked first. The first fragment contains two of the three
		// expected answers; none contains the third.
		for _, l := range report.Levels {
			for _, m := range l.Modes {
				if got := fmt.Sprintf("%.3f %.3f %.3f", m.NDCG.Mean, m.Recall.Mean, m.MRR.Mean); l.Questions != 3 || got != "0.667 0.667 0.667" {
					t.Errorf("%s, %s, %d questions: %s, want 0.667 everywhere", l.Name, m.Mode, l.Questions, got)
				}
			}
		}
		for _, part := range []string{`Skipped 1 of 5 questions without relevant documents or an answer`, `(the first is "5")`, `1 document marked as relevant is not in the datastore and counts as not found`, "nothing like it"} {
			if !strings.Contains(errs, part) {
				t.Errorf("%q is not said in %q", part, errs)
			}
		}
	})
	t.Run("with tables for people, in every mode that the service has", func(t *testing.T) {
		t.Parallel()
		qrels := writeLines(t, "qrels.tsv", "query-id\tcorpus-id\tscore", "1\tpump\t2", "2\tlogger\t1", "2\tpump\t0")
		bare := writeLines(t, "q.jsonl", `{"_id": "1", "text": "warranty of the Aurora pump"}`, `{"_id": "2", "text": "error code E-23"}`)
		out, errs, err := p.eval(t.Context(), key, "--datastore", storeID, "--queries", bare, "--qrels", qrels)
		if err != nil {
			t.Fatal(err, errs)
		}
		for _, part := range []string{"engine embedded", "Documents, 2 questions", "nDCG@10", "hybrid", "1.000 [1.000, 1.000]", "lexical − hybrid", "dense − hybrid"} {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
		if !strings.Contains(errs, "/") {
			t.Errorf("no progress is shown: %q", errs)
		}
	})
	t.Run("and says what is wrong", func(t *testing.T) {
		t.Parallel()
		strange := writeLines(t, "s.jsonl", `{"text": "a", "relevant": ["elsewhere"]}`)
		broken := writeLines(t, "b.jsonl", `{"text": "a", "answer": "b"}`, `{"text"`)
		ended, end := context.WithCancel(t.Context())
		end()
		for name, c := range map[string]struct {
			ctx   context.Context
			env   []string
			args  []string
			want  string
			usage bool
		}{
			"a datastore that is not there":       {t.Context(), key, []string{"--datastore", "none", "--queries", queries}, `datastore "none" does not exist`, false},
			"a key that is not valid":             {t.Context(), nil, []string{"--datastore", storeID, "--queries", queries, "--key", "sk_wrong"}, "set the API key with SLUICE_API_KEY or --key", false},
			"a service that is not there":         {t.Context(), key, []string{"--datastore", storeID, "--queries", queries, "--url", "http://127.0.0.1:1"}, "check that the service is running", false},
			"an address that is none":             {t.Context(), key, []string{"--datastore", storeID, "--queries", queries, "--url", "here"}, "is not the address of a service", true},
			"a file that is not there":            {t.Context(), key, []string{"--datastore", storeID, "--queries", "/none.jsonl"}, "/none.jsonl", false},
			"a line that cannot be read":          {t.Context(), key, []string{"--datastore", storeID, "--queries", broken}, "b.jsonl: questions, line 2: is not a JSON object", false},
			"documents of another datastore":      {t.Context(), key, []string{"--datastore", storeID, "--queries", strange}, "none of the documents in the judgements is in the datastore", false},
			"who leaves":                          {ended, key, []string{"--datastore", storeID, "--queries", queries}, "stopped; nothing was changed", false},
			"no datastore":                        {t.Context(), key, []string{"--queries", queries}, "specify --datastore", true},
			"no questions":                        {t.Context(), key, []string{"--datastore", storeID}, "specify questions", true},
			"a mode that is none":                 {t.Context(), key, []string{"--datastore", storeID, "--queries", queries, "--modes", "fast"}, `"fast" is not a mode`, true},
			"too many places":                     {t.Context(), key, []string{"--datastore", storeID, "--queries", queries, "--k", "101"}, "--k 101: must be between 1 and 100", true},
			"questions that are made and asked":   {t.Context(), key, []string{"--datastore", storeID, "--queries", queries, "--generate", "3"}, "--generate cannot be combined with --queries", true},
			"questions made without a chat model": {t.Context(), key, []string{"--datastore", storeID, "--generate", "3"}, "--generate needs a chat model: set SLUICE_CHAT_MODEL", true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				out, _, err := p.eval(c.ctx, c.env, c.args...)
				if err == nil || !strings.Contains(err.Error(), c.want) || (cli.ExitOf(err) == cli.Misused) != c.usage || out != "" {
					t.Errorf("the error is %v (usage: %v), want one with %q; printed %q", err, (cli.ExitOf(err) == cli.Misused), c.want, out)
				}
			})
		}
	})
}

// questionModel starts a chat model that writes questions about a passage. Every fourth response is useless.
func questionModel(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model    string
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/chat/completions" || req.Model != "inquisitive" {
			http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
			return
		}
		passage := req.Messages[len(req.Messages)-1].Content
		said := `{"question": null}`
		for word, reply := range map[string]string{
			"Aurora": `{"question": "For how long can one complain about a broken Aurora device?", "answer": "thirty months"}`,
			"Nimbus": "Here you are:\n```json\n{\"question\": \"What does E-23 mean?\", \"answer\": \"its memory card is full\"}\n```",
			"frost":  `I cannot do that.`,
			"radio":  `{"question": "How often is pressure taken by it?", "answer": "thirteen times"}`,
		} {
			if strings.Contains(passage, word) {
				said = reply
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "model": req.Model, "choices": []any{
			map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": said}},
		}})
	}))
	t.Cleanup(s.Close)
	return s
}

func TestEvalGeneratesUsableQuestions(t *testing.T) {
	t.Parallel()
	p, storeID := evaluated(t)
	model := questionModel(t)
	environ := []string{"SLUICE_API_KEY=" + testKey, "SLUICE_CHAT_MODEL=inquisitive", "OPENAI_BASE_URL=" + model.URL + "/v1"}
	path := filepath.Join(t.TempDir(), "made.jsonl")
	out, errs, err := p.eval(t.Context(), environ, "--datastore", storeID, "--generate", "4", "--out", path)
	if err != nil || out != "" {
		t.Fatal(out, errs, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	questions, err := eval.ReadQuestions(f)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]bool{}
	for _, q := range questions {
		of[q.Relevant[0]] = true
		if !eval.ContainsAnyAnswer(manuals[q.Relevant[0]], q.Answers) {
			t.Errorf("question %+v is not answered by its document", q)
		}
	}
	if len(questions) != 2 || !of["pump"] || !of["logger"] {
		t.Errorf("made %+v", questions)
	}
	for _, part := range []string{"Generated 2 questions from 4 chunks", "1 dropped: the chunk does not contain the answer", "1 dropped: the model's answer is not the requested JSON"} {
		if !strings.Contains(errs, part) {
			t.Errorf("%q is not said in %q", part, errs)
		}
	}
	out, errs, err = p.eval(t.Context(), environ, "--datastore", storeID, "--queries", path, "--modes", "hybrid")
	if err != nil || !strings.Contains(out, "Passages, 2 questions") || !strings.Contains(out, "Documents, 2 questions") {
		t.Errorf("asking them: %v\n%s\n%s", err, out, errs)
	}
	_, _, err = p.eval(t.Context(), environ, "--datastore", storeID, "--generate", "4", "--out", path)
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a file that is there: %v", err)
	}
	model.Close()
	other := filepath.Join(t.TempDir(), "other.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, _, err = p.eval(ctx, environ, "--datastore", storeID, "--generate", "4", "--out", other)
	if err == nil || !strings.Contains(err.Error(), "the chat model does not answer: the model server cannot be reached") {
		t.Errorf("without a model server: %v", err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty file of questions stays: %v", err)
	}
}
