package answer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture fakes everything an Answerer depends on.
type fixture struct {
	mu            sync.Mutex
	found         retrieve.Result
	asked         []retrieve.Request
	prompts       []chat.Prompt
	complete      func(ctx context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error)
	conversations map[string]domain.Conversation
	messages      map[string][]domain.Message
	holders       map[string]string // lock holders by conversation
	ids           int
}

func newFixture(found ...domain.Fragment) *fixture {
	return &fixture{
		found:         retrieve.Result{Fragments: found, TermWeights: map[string]float64{}},
		conversations: make(map[string]domain.Conversation),
		messages:      make(map[string][]domain.Message),
		holders:       make(map[string]string),
		complete: func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
			for _, piece := range []string{"It opens at six [", "2]. Closed ", "[9] by ten [1]."} {
				if err := emit(piece); err != nil {
					return chat.Completion{}, err
				}
			}
			return chat.Completion{Model: "m", PromptTokens: 11, CompletionTokens: 7}, nil
		},
	}
}

func (w *fixture) Retrieve(_ context.Context, req retrieve.Request) (retrieve.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, req)
	return w.found, nil
}

// queries returns all search queries. Their order varies, because a follow-up question's searches run concurrently.
func (w *fixture) queries() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, req := range w.asked {
		out = append(out, req.Query)
	}
	return out
}

func (w *fixture) Datastore(_ context.Context, ws, id string) (domain.Datastore, error) {
	if id == "deleted" {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	return domain.Datastore{ID: id, WorkspaceID: ws}, nil
}
func (w *fixture) Complete(ctx context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
	w.mu.Lock()
	w.prompts = append(w.prompts, p)
	w.mu.Unlock()
	return w.complete(ctx, p, emit)
}
func (w *fixture) FindConversation(_ context.Context, ws, agentID, id string) (domain.Conversation, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	has, ok := w.conversations[id]
	if ok && (has.WorkspaceID != ws || has.AgentID != agentID) {
		return domain.Conversation{}, false, domain.NotFound("conversation", id)
	}
	return has, ok, nil
}
func (w *fixture) EnsureConversation(ctx context.Context, c domain.Conversation, first ...domain.Message) (domain.Conversation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return domain.Conversation{}, ctx.Err()
	}
	if has, ok := w.conversations[c.ID]; ok {
		c = has
	}
	w.conversations[c.ID] = c
	w.messages[c.ID] = append(w.messages[c.ID], first...)
	return c, nil
}
func (w *fixture) Messages(_ context.Context, id string, limit int) ([]domain.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ms := w.messages[id]
	return ms[max(0, len(ms)-limit):], nil
}
func (w *fixture) AppendMessages(ctx context.Context, id string, ms ...domain.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.conversations[id]; !ok {
		return domain.NotFound("conversation", id)
	}
	w.messages[id] = append(w.messages[id], ms...)
	return ctx.Err()
}

func (w *fixture) Lock(_ context.Context, id, holder string, _ time.Duration) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if has := w.holders[id]; has != "" && has != holder {
		return false, nil
	}
	w.holders[id] = holder
	return true, nil
}
func (w *fixture) Unlock(_ context.Context, id, holder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holders[id] == holder {
		delete(w.holders, id)
	}
	return nil
}

func (w *fixture) answerer(opts Options) *Answerer {
	return New(Deps{
		Retriever: w, Datastores: w, Conversations: w, Models: chat.SingleModel(w), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(1_700_000_000, 0) },
		NewID: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ids++
			return fmt.Sprintf("00000000-0000-7000-8000-%012d", w.ids)
		},
	}, opts)
}

const someConversation = "0198f2a0-0000-7000-8000-00000000000a"

var agent = domain.Agent{ID: "ag", WorkspaceID: "ws", ModelName: "llm_4", Temperature: 0.3, DatastoreIDs: []string{"ds", "deleted"}}

func fragments() []domain.Fragment {
	return []domain.Fragment{
		{ChunkID: "a", Text: "The gate closes at ten.", Score: 0.9, Source: "gate.pdf#page=2", Heading: "Hours"},
		{ChunkID: "b", Text: "The gate opens at six.", Score: 0.8, Source: "gate.pdf#page=1", Heading: "Hours"},
		{ChunkID: "c", Text: "Ducks are birds.", Score: 0.05, Source: "ducks.txt"},
	}
}

func ask(mod ...func(*Request)) Request {
	req := Request{Agent: agent, Query: "When does the gate open?"}
	for _, f := range mod {
		f(&req)
	}
	return req
}

func in(conversation, visitor string) func(*Request) {
	return func(r *Request) { r.ConversationID, r.VisitorID = conversation, visitor }
}

func TestAnswerStreamsACheckedAnswerWithItsSources(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	var pieces []string
	got, err := w.answerer(Options{}).Answer(t.Context(), ask(), func(s string) error { pieces = append(pieces, s); return nil })
	if err != nil {
		t.Fatal(err)
	}
	const text = "It opens at six [1]. Closed by ten [2]."
	if got.Text != text || strings.Join(pieces, "") != text || len(pieces) < 2 {
		t.Errorf("got %q in pieces %q", got.Text, pieces)
	}
	var sources []string
	for _, s := range got.Sources {
		sources = append(sources, fmt.Sprintf("%d %s", s.Citation, s.ChunkID))
	}
	if diff := cmp.Diff([]string{"1 b", "2 a"}, sources); diff != "" {
		t.Error(diff)
	}
	if got.Model != "m" || got.PromptTokens != 11 || got.CompletionTokens != 7 {
		t.Errorf("got %+v", got)
	}
	if c := w.conversations[got.ConversationID]; c.VisitorID != got.VisitorID || c.AgentID != "ag" || c.Title != "When does the gate open?" {
		t.Errorf("conversation is %+v", c)
	}
	ms := w.messages[got.ConversationID]
	if len(ms) != 2 || ms[0].Role != domain.RoleUser || ms[1].Text != text || len(ms[1].Sources) != 2 {
		t.Errorf("messages are %+v", ms)
	}
	p := w.prompts[0]
	if !p.Stream || p.Model != "llm_4" || *p.Params.Temperature != 0.3 || len(p.Fragments) != 2 {
		t.Errorf("prompt is %+v", p)
	}
	if ds := w.asked[0].Datastores; len(ds) != 1 || ds[0].ID != "ds" {
		t.Errorf("asked %+v", ds)
	}
}

func TestAnAnswerWithoutCitationsHasTheFragmentsOfItsWords(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{}, emit("At six.")
	}
	got, err := w.answerer(Options{}).Answer(t.Context(), ask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Sources) != 1 || got.Sources[0].ChunkID != "b" || got.Sources[0].Citation != 0 {
		t.Fatalf("got %+v", got.Sources)
	}
	if w.prompts[0].Stream {
		t.Error("a stream was asked for that nobody reads")
	}
}

func TestAnAnswerSaysThatTheDocumentsContainNoAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query string
		want  string
	}{
		"in English":  {"When does the gate open?", "The documents do not answer this question."},
		"in German":   {"Wann öffnet die Schleuse?", "Die Dokumente beantworten diese Frage nicht."},
		"in French":   {"Quand la vanne s'ouvre-t-elle ?", "Les documents ne répondent pas à cette question."},
		"in Spanish":  {"¿Cuándo se abre la compuerta?", "Los documentos no responden a esta pregunta."},
		"in Chinese":  {"水闸什么时候打开？", "文档中没有这个问题的答案。"},
		"in Japanese": {"水門はいつ開きますか？", "文書の中にこの質問の答えは見つかりませんでした。"},
		"in Russian":  {"Когда открывается шлюз?", "В документах нет ответа на этот вопрос."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()[2])
			got, err := w.answerer(Options{}).Answer(t.Context(), ask(func(r *Request) { r.Query = test.query }), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != test.want || len(got.Sources) != 0 || len(w.prompts) != 0 {
				t.Fatalf("got %q, %d sources, %d prompts", got.Text, len(got.Sources), len(w.prompts))
			}
		})
	}
}

func TestAnAgentWithoutDatastoresAnswersFromItsModel(t *testing.T) {
	t.Parallel()
	w := newFixture()
	got, err := w.answerer(Options{}).Answer(t.Context(), ask(func(r *Request) { r.Agent.DatastoreIDs = nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "It opens at six. Closed by ten." || got.Sources != nil || len(w.asked) != 0 {
		t.Fatalf("got %+v", got)
	}
}

func TestAnInvalidRequestNamesEveryFault(t *testing.T) {
	t.Parallel()
	f := func(v float64) *float64 { return &v }
	n, model, kind := 0, "gpt-9", domain.PromptType("odd")
	req := Request{Agent: agent, Query: " ", ConversationID: "../x", VisitorID: strings.Repeat("v", 201), Temperature: f(1.1), TopP: f(-0.1),
		PresencePenalty: f(2.1), FrequencyPenalty: f(-2.1), MaxTokens: &n, ModelName: &model, PromptType: &kind}
	req.Agent.UserPrompt = strings.Repeat("{context}", domain.MaxPlaceholders+1)
	_, err := newFixture().answerer(Options{}).Answer(t.Context(), req, nil)
	var typed *domain.Error
	if !errors.As(err, &typed) || typed.Code != domain.CodeInvalid {
		t.Fatalf("got %v", err)
	}
	var fields []string
	for _, f := range typed.Fields {
		fields = append(fields, f.Field)
	}
	want := []string{"query", "conversationId", "visitorId", "temperature", "presencePenalty", "frequencyPenalty", "topP", "maxTokens", "modelName", "promptType", "userPrompt"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(err.Error(), "llm_3_5_turbo, llm_3_5_turbo_16k, llm_4, llm_4_32k") {
		t.Errorf("the known models are not listed: %v", err)
	}
}

func TestAnAnswerContinuesAConversation(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	a := w.answerer(Options{})
	first, err := a.Answer(t.Context(), ask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Answer(t.Context(), ask(in(first.ConversationID, ""), func(r *Request) { r.Query = "And when does it close?" }), nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.ConversationID != first.ConversationID || second.VisitorID != first.VisitorID {
		t.Errorf("went on as %q in %q", second.VisitorID, second.ConversationID)
	}
	want := []chat.Turn{
		{Role: domain.RoleUser, Text: "When does the gate open?"},
		{Role: domain.RoleAssistant, Text: "It opens at six. Closed by ten."},
		{Role: domain.RoleUser, Text: "And when does it close?"},
	}
	if diff := cmp.Diff(want, w.prompts[1].Messages); diff != "" {
		t.Error(diff)
	}
	if queries := w.queries(); !slices.Contains(queries[1:], "When does the gate open? And when does it close?") {
		t.Errorf("searched for %q", queries)
	}
}

func TestAnswerKeepsConversationsApart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mod  func(*Request)
		want domain.Code
	}{
		"the visitor's own is found":           {in(someConversation, "anna"), ""},
		"without a visitor it is found":        {in(someConversation, ""), ""},
		"another visitor's is not found":       {in(someConversation, "bert"), domain.CodeNotFound},
		"another agent's is not found":         {func(r *Request) { in(someConversation, "anna")(r); r.Agent.ID = "other" }, domain.CodeNotFound},
		"another workspace's is not found":     {func(r *Request) { in(someConversation, "anna")(r); r.Agent.WorkspaceID = "other" }, domain.CodeNotFound},
		"an id that is not in use is accepted": {in("0198f2a0-0000-7000-8000-00000000000b", "bert"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()...)
			w.conversations[someConversation] = domain.Conversation{ID: someConversation, WorkspaceID: "ws", AgentID: "ag", VisitorID: "anna"}
			got, err := w.answerer(Options{}).Answer(t.Context(), ask(test.mod), nil)
			if domain.CodeOf(err) != test.want {
				t.Fatalf("got %v", err)
			}
			if test.want != "" && (len(w.messages) != 0 || len(w.prompts) != 0 || got.Text != "") {
				t.Fatal("something was read or written all the same")
			}
		})
	}
}

func TestAnAnswerIsStoredUpToTheDisconnectOfItsClient(t *testing.T) {
	t.Parallel()
	gone := errors.New("broken pipe")
	w := newFixture(fragments()...)
	sent := 0
	got, err := w.answerer(Options{}).Answer(t.Context(), ask(), func(string) error {
		if sent++; sent > 1 {
			return gone
		}
		return nil
	})
	if !errors.Is(err, gone) {
		t.Fatalf("got %v", err)
	}
	ms := w.messages[got.ConversationID]
	if len(ms) != 2 || ms[1].Text != "It opens at six" {
		t.Fatalf("stored %+v", ms)
	}
}

func TestAnswerStopsTheModelWhenTheReaderIsCancelled(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	ctx, cancel := context.WithCancel(t.Context())
	w.complete = func(ctx context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		if err := emit("It opens"); err != nil {
			return chat.Completion{}, err
		}
		cancel()
		<-ctx.Done()
		return chat.Completion{}, ctx.Err()
	}
	got, err := w.answerer(Options{}).Answer(ctx, ask(), func(string) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if ms := w.messages[got.ConversationID]; len(ms) != 2 || ms[1].Text != "It opens" {
		t.Fatalf("stored %+v", ms)
	}
}

func TestAnswerStoresNothingWhenTheModelFails(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	down := domain.Errorf(domain.CodeUnavailable, "the model server failed")
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{}, errors.Join(emit("It opens"), down)
	}
	_, err := w.answerer(Options{}).Answer(t.Context(), ask(), func(string) error { return nil })
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
	if len(w.messages)+len(w.conversations) != 0 {
		t.Fatalf("stored %+v %+v", w.conversations, w.messages)
	}
}

func TestAnswerEndsWithItsTimeOut(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(ctx context.Context, _ chat.Prompt, _ func(string) error) (chat.Completion, error) {
		<-ctx.Done()
		return chat.Completion{}, ctx.Err()
	}
	_, err := w.answerer(Options{Timeout: time.Millisecond}).Answer(t.Context(), ask(), nil)
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "1ms") {
		t.Fatalf("got %v", err)
	}
}

func TestTheLengthOfAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		for {
			if err := emit(strings.Repeat("x", 64<<10)); err != nil {
				return chat.Completion{}, err
			}
		}
	}
	if _, err := w.answerer(Options{}).Answer(t.Context(), ask(), nil); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
}

func TestQuestionsOfOneConversationAreSerialised(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	var mu sync.Mutex
	busy := false
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		if !mu.TryLock() {
			return chat.Completion{}, errors.New("two answers at once")
		}
		defer mu.Unlock()
		busy = true
		return chat.Completion{}, emit("At six [1].")
	}
	a := w.answerer(Options{})
	var wg sync.WaitGroup
	errs := make(chan error, 20)
	for range 20 {
		wg.Go(func() {
			_, err := a.Answer(t.Context(), ask(in(someConversation, "anna")), nil)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	ms := w.messages[someConversation]
	if len(ms) != 40 || !busy {
		t.Fatalf("%d messages", len(ms))
	}
	for i, m := range ms {
		if want := []domain.Role{domain.RoleUser, domain.RoleAssistant}[i%2]; m.Role != want {
			t.Fatalf("message %d is the %s's", i, m.Role)
		}
	}
	if len(a.locks.busy) != 0 {
		t.Errorf("%d locks left behind", len(a.locks.busy))
	}
}

func TestTheLockIsReleasedWhenTheClientDisconnects(t *testing.T) {
	t.Parallel()
	a := newFixture().answerer(Options{})
	release, err := a.locks.acquire(t.Context(), someConversation)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Answer(ctx, ask(in(someConversation, "anna")), nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	release()
	if len(a.locks.busy) != 0 {
		t.Fatalf("%d locks left behind", len(a.locks.busy))
	}
}

func TestAnswerHasNoSourcesWhereTheProviderFoundNoAnswer(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{NoAnswer: true}, emit("No answer.")
	}
	got, err := w.answerer(Options{}).Answer(t.Context(), ask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "No answer." || len(got.Sources) != 0 || len(w.messages[got.ConversationID][1].Sources) != 0 {
		t.Errorf("got %q with sources %+v", got.Text, got.Sources)
	}
}

func TestTheProviderKnowsThatThereIsNoDatastore(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][]string{"none": nil, "a deleted one": {"deleted"}, "one": {"ds"}} {
		w := newFixture(fragments()...)
		_, err := w.answerer(Options{}).Answer(t.Context(), ask(func(r *Request) { r.Agent.DatastoreIDs = ids }), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.prompts[0].NoDatastores; got != (name != "one") {
			t.Errorf("with %s: NoDatastores is %v", name, got)
		}
	}
}

func TestAModelWithoutDocumentsCitesNone(t *testing.T) {
	t.Parallel()
	template := "Question: {query}"
	for name, c := range map[string]struct {
		composes          bool
		searches, sources int
	}{
		"a model":               {true, 0, 0},
		"the built-in answerer": {false, 1, 2}, // quotes the fragments found, whatever the prompt says
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()...)
			got, err := w.answerer(Options{Composes: c.composes}).Answer(t.Context(), ask(func(r *Request) { r.PromptTemplate = &template }), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(w.asked) != c.searches || len(got.Sources) != c.sources {
				t.Errorf("%d searches, %d sources of %q", len(w.asked), len(got.Sources), got.Text)
			}
		})
	}
}
