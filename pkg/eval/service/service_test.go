package service

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a service that sends its answers in order, one per request, and records the requests.
type fake struct {
	mu      sync.Mutex
	answers []answer
	asked   []string
}

type answer struct {
	status int
	after  string // Retry-After
	body   string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	f.asked = append(f.asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(body))
	if len(f.answers) == 0 {
		http.Error(w, "nothing is left to answer", http.StatusTeapot)
		return
	}
	a := f.answers[0]
	f.answers = f.answers[1:]
	if a.after != "" {
		w.Header().Set("Retry-After", a.after)
	}
	kind := "application/json"
	if strings.Contains(string(body), `"streaming":true`) {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// asking returns a client for a service that sends the given answers.
func asking(t *testing.T, answers ...answer) (*Service, *fake) {
	t.Helper()
	f := &fake{answers: answers}
	server := httptest.NewServer(f)
	s, err := New(server.URL+"/", "sk_test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); server.Close() })
	return s, f
}

func TestAQuerySendsWhatIsSetAndReadsTheFragments(t *testing.T) {
	t.Parallel()
	s, f := asking(t, answer{200, "", `[{"text":"a","score":0.5,"datasource_id":"d","custom_id":null,"offset":3,"extra":1}]`})
	no := false
	found, err := s.Query(t.Context(), "a/b", Query{Text: "how long?", TopK: 7, Mode: "dense", Rerank: &no})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Fragment{{Text: "a", Score: 0.5, DatasourceID: "d", Offset: 3}}, found); diff != "" {
		t.Error(diff)
	}
	want := `POST /datastores/a%2Fb/query Bearer sk_test {"mode":"dense","query":"how long?","rerank":false,"topK":7}`
	if f.asked[0] != want {
		t.Errorf("asked %s, want %s", f.asked[0], want)
	}
}

func TestAListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	s, f := asking(t,
		answer{200, "", `{"data":[{"id":"1"},{"id":"2"}],"nextCursor":"n&1"}`},
		answer{200, "", `{"data":[{"id":"3"}],"nextCursor":null}`})
	var ids []string
	err := s.Datasources(t.Context(), "d", "synched", func(d Datasource) error { ids = append(ids, d.ID); return nil })
	if err != nil || strings.Join(ids, "") != "123" {
		t.Errorf("read %v, %v", ids, err)
	}
	if !strings.Contains(f.asked[1], "cursor=n%261") || !strings.Contains(f.asked[0], "status=synched") {
		t.Errorf("asked %q", f.asked)
	}
}

func TestUpsertSendsNamesAndCustomIDs(t *testing.T) {
	t.Parallel()
	s, f := asking(t, answer{200, "", `{"ids":["1","2"]}`})
	_, err := s.Upsert(t.Context(), "d", []Document{{CustomID: "a", Name: "A", Text: "x"}, {CustomID: "b", Text: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(f.asked[0], "sk_test ")
	var sent map[string][]map[string]any
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	want := map[string][]map[string]any{"documents": {
		{"text": "x", "name": "A", "metadata": map[string]any{"custom_id": "a"}},
		{"text": "y", "metadata": map[string]any{"custom_id": "b"}},
	}}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

func TestAnAgentIsMadeAndAsked(t *testing.T) {
	t.Parallel()
	s, f := asking(t, answer{201, "", `{"id":"ag"}`}, answer{200, "", `{"answer":"Six [1].","conversationId":"c","visitorId":"v","sources":[{"text":"at six","citation":1}]}`},
		answer{200, "", `{"answer":"Seven.","conversationId":"c","visitorId":"v","sources":[]}`})
	id, err := s.CreateAgent(t.Context(), "n", "d1", "d2")
	if err != nil || id != "ag" {
		t.Fatalf("made %q, %v", id, err)
	}
	got, err := s.Ask(t.Context(), id, "When?")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Answer{Text: "Six [1].", Sources: []Fragment{{Text: "at six"}}, ConversationID: "c"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err = s.Continue(t.Context(), id, got.ConversationID, "And on Sundays?"); err != nil {
		t.Fatal(err)
	}
	want := []string{`POST /agents Bearer sk_test {"datastoreIds":["d1","d2"],"name":"n"}`, `POST /agents/ag/query Bearer sk_test {"query":"When?"}`,
		`POST /agents/ag/query Bearer sk_test {"conversationId":"c","query":"And on Sundays?"}`}
	if diff := cmp.Diff(want, f.asked); diff != "" {
		t.Error(diff)
	}
}

func TestAnAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		pieces []string
		want   string
	}{
		"to its end":          {": hi\n\nevent: answer\ndata: Six\n\nevent: answer\ndata: \ndata:  o'clock\n\nevent: endpoint_response\ndata: {\"conversationId\":\n\nevent: endpoint_response\ndata: \"c\"}\n\ndata: [DONE]\n\n", []string{"Six", "\n o'clock"}, ""},
		"until it fails":      {"event: answer\ndata: Six\n\ndata: [ERROR] the model stopped\n\n", []string{"Six"}, (&client.Error{Status: 200, Message: "the model stopped"}).Error()},
		"until it is cut off": {"event: answer\ndata: Six\n\n", []string{"Six"}, client.ErrUnfinished.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := asking(t, answer{200, "", c.body})
			var pieces []string
			id, err := s.Stream(t.Context(), "a", "When?", func(p string) { pieces = append(pieces, p) })
			if (id == "c") != (c.want == "") {
				t.Errorf("the conversation is %q", id)
			}
			if diff := cmp.Diff(c.pieces, pieces); diff != "" || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("the error is %v %s", err, diff)
			}
			if want := `POST /agents/a/query Bearer sk_test {"query":"When?","streaming":true}`; f.asked[0] != want {
				t.Errorf("asked %s", f.asked[0])
			}
		})
	}
}

func TestWithoutRetriesSendsOneRequest(t *testing.T) {
	t.Parallel()
	s, f := asking(t, answer{503, "1", ""}, answer{200, "", `{"id":"x"}`})
	impatient, err := s.WithoutRetries(4)
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.Close()
	var refused *client.Error
	if _, err := impatient.Datastore(t.Context(), "x"); !errors.As(err, &refused) || refused.Status != 503 || len(f.asked) != 1 {
		t.Errorf("after %d requests: %v", len(f.asked), err)
	}
}
