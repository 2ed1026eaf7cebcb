package catalogtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

func testConversations(t *testing.T, open world.Open) {
	setup := func(t *testing.T) (*world.World, domain.Conversation) {
		w := world.New(t, open)
		a := NewAgent(w)
		return w, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: a.ID, VisitorID: "visitor"}
	}
	t.Run("a conversation is made once and then found", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		first := world.Must(w.EnsureConversation(w.Ctx, v))(t)
		v.VisitorID = "somebody else"
		again := world.Must(w.EnsureConversation(w.Ctx, v))(t)
		world.Equal(t, first, again)
		world.Equal(t, "visitor", again.VisitorID)
	})
	t.Run("a conversation of another agent is not found and not taken over", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		world.Must(w.EnsureConversation(w.Ctx, v))(t)
		v.AgentID = NewAgent(w).ID
		world.Refused(w.EnsureConversation(w.Ctx, v))(t, domain.CodeNotFound)
	})
	t.Run("a conversation is found without its agent, in its workspace alone", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		made := world.Must(w.EnsureConversation(w.Ctx, v))(t)
		got := world.Must(w.Conversation(w.Ctx, w.WS, "", v.ID))(t)
		world.Equal(t, made, got)
		world.Refused(w.Conversation(w.Ctx, domain.NewID(), "", v.ID))(t, domain.CodeNotFound)
	})
	t.Run("a conversation is found by the id that its caller has chosen, in its workspace alone", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		v.ID, v.CallerID = domain.CallerConversationID(w.WS, v.AgentID, "", "größe/1"), "größe/1"
		first, err := w.EnsureConversation(w.Ctx, v)
		world.OK(t, err)
		v.ID, v.VisitorID = domain.CallerConversationID(w.WS, v.AgentID, "anna", v.CallerID), "anna"
		second := world.Must(w.EnsureConversation(w.Ctx, v))(t)
		plain := domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: v.AgentID, VisitorID: "anna"}
		world.Must(w.EnsureConversation(w.Ctx, plain))(t)
		for _, c := range []struct {
			ws, agent, visitor, id string
			limit                  int
			want                   []domain.Conversation
		}{
			{w.WS, "", "", v.CallerID, 10, []domain.Conversation{second, first}},
			{w.WS, "", "", v.CallerID, 1, []domain.Conversation{second}},
			{w.WS, v.AgentID, "visitor", v.CallerID, 10, []domain.Conversation{first}},
			{w.WS, NewAgent(w).ID, "", v.CallerID, 10, nil},
			{w.WS, "", "", "other", 10, nil},
			{w.WS, "", "", "", 10, nil},
			{domain.NewID(), "", "", v.CallerID, 10, nil},
		} {
			got := world.Must(w.ConversationsByCallerID(w.Ctx, c.ws, c.agent, c.visitor, c.id, c.limit))(t)
			world.Equal(t, conversationIDs(c.want), conversationIDs(got))
		}
		got, exists, err := w.FindConversation(w.Ctx, w.WS, v.AgentID, first.ID)
		world.OK(t, err)
		world.Equal(t, true, exists)
		world.Equal(t, "größe/1", got.CallerID)
	})
	t.Run("a conversation with an unknown agent is not found", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		v.AgentID = domain.NewID()
		world.Refused(w.EnsureConversation(w.Ctx, v))(t, domain.CodeNotFound)
	})
	t.Run("a conversation is created together with its first messages, or not at all", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		say := func(text string) domain.Message {
			return domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: text}
		}
		twice := say("one")
		_, err := w.EnsureConversation(w.Ctx, v, twice, twice)
		world.Code(t, domain.CodeConflict, err)
		_, exists, err := w.FindConversation(w.Ctx, w.WS, v.AgentID, v.ID)
		world.OK(t, err)
		world.Equal(t, false, exists)

		made := world.Must(w.EnsureConversation(w.Ctx, v, say("one"), say("two")))(t)
		again := world.Must(w.EnsureConversation(w.Ctx, v, say("three")))(t)
		world.Equal(t, made.ID, again.ID)
		got, exists, err := w.FindConversation(w.Ctx, w.WS, v.AgentID, v.ID)
		world.OK(t, err)
		world.Equal(t, true, exists)
		world.Equal(t, "one", got.Title)
		v.VisitorID = "somebody else"
		world.Refused(w.EnsureConversation(w.Ctx, v, say("four")))(t, domain.CodeNotFound)
		ms := world.Must(w.Messages(w.Ctx, v.ID, 10))(t)
		world.Equal(t, []string{"one", "two", "three"}, lists.Map(ms, func(m domain.Message) string { return m.Text }))
	})
	t.Run("an id used by another agent or workspace differs from an unused one", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.Ctx, v)
		world.OK(t, err)
		_, _, err = w.FindConversation(w.Ctx, w.WS, NewAgent(w).ID, v.ID)
		world.Code(t, domain.CodeNotFound, err)
		_, _, err = w.FindConversation(w.Ctx, domain.NewID(), v.AgentID, v.ID)
		world.Code(t, domain.CodeNotFound, err)
		_, exists, err := w.FindConversation(w.Ctx, w.WS, v.AgentID, domain.NewID())
		world.OK(t, err)
		world.Equal(t, false, exists)
	})
	t.Run("the newest messages come back oldest first, with their sources", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		world.Must(w.EnsureConversation(w.Ctx, v))(t)
		sources := []domain.Fragment{{ChunkID: "c", Text: "tighten\nthe bolt", Score: 0.5, Citation: 1}}
		world.OK(t, w.AppendMessages(w.Ctx, v.ID,
			domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: strings.Repeat("ü", 100)},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: "two"},
		))
		world.OK(t, w.AppendMessages(w.Ctx, v.ID,
			domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "three"},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: "four", Sources: sources},
		))
		ms := world.Must(w.Messages(w.Ctx, v.ID, 3))(t)
		world.Equal(t, []string{"two", "three", "four"}, lists.Map(ms, func(m domain.Message) string { return m.Text }))
		world.Equal(t, sources, ms[2].Sources)
		got := world.Must(w.Conversation(w.Ctx, w.WS, v.AgentID, v.ID))(t)
		world.Equal(t, strings.Repeat("ü", 79)+"…", got.Title)
	})
	t.Run("an answer keeps its sentences with their spans", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		sources := []domain.Fragment{{ChunkID: "c", Text: "tighten\nthe bolt", Citation: 1, Runs: domain.TextRuns{{Document: 100, Length: 16}}}, {ChunkID: "d", Text: "twice", Citation: 2}}
		half := 0.5
		sentences := []domain.AnswerSentence{
			{End: 20, Support: &half, Unsupported: true, Spans: append(
				domain.SourceSpans(sources[0], 0, domain.TextRange{Start: 8, End: 16}), domain.SourceSpans(sources[1], 1, domain.TextRange{End: 5})...)},
			{Start: 21, End: 25, Spans: []domain.SourceSpan{}},
		}
		_, err := w.EnsureConversation(w.Ctx, v, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "How?"},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: "Tighten the bolt [1]. Why?", Sources: sources, Sentences: sentences})
		world.OK(t, err)
		ms, err := w.Messages(w.Ctx, v.ID, 2)
		world.OK(t, err)
		world.Equal(t, sentences, ms[1].Sentences)
		world.Equal(t, 108, ms[1].Sentences[0].Spans[0].Original.Start)
		world.Equal(t, 0, len(ms[0].Sentences))
	})
	t.Run("messages of one call are stored all or none", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		world.Must(w.EnsureConversation(w.Ctx, v))(t)
		id := domain.NewID()
		world.Code(t, domain.CodeConflict, w.AppendMessages(w.Ctx, v.ID, domain.Message{ID: id, Role: domain.RoleUser, Text: "one"},
			domain.Message{ID: id, Role: domain.RoleAssistant, Text: "two"}))
		ms := world.Must(w.Messages(w.Ctx, v.ID, 10))(t)
		world.Equal(t, 0, len(ms))
	})
	t.Run("messages of an unknown conversation are refused", func(t *testing.T) {
		t.Parallel()
		w, _ := setup(t)
		world.Code(t, domain.CodeNotFound, w.AppendMessages(w.Ctx, domain.NewID(), domain.Message{ID: domain.NewID(), Role: domain.RoleUser}))
	})
	t.Run("conversations are listed by workspace and by agent, and go with their agent", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.Ctx, v)
		world.OK(t, err)
		other := domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: NewAgent(w).ID}
		world.Must(w.EnsureConversation(w.Ctx, other))(t)
		id := func(v domain.Conversation) string { return v.ID }
		all, _, err := w.Conversations(w.Ctx, w.WS, catalog.ConversationFilter{}, catalog.Page{})
		world.OK(t, err)
		world.Equal(t, []string{other.ID, v.ID}, lists.Map(all, id))
		world.Must(w.DeleteAgent(w.Ctx, w.WS, other.AgentID))(t)
		for _, agent := range []string{"", v.AgentID} {
			left, next, err := w.Conversations(w.Ctx, w.WS, catalog.ConversationFilter{AgentID: agent}, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, []string{v.ID}, lists.Map(left, id))
			world.Equal(t, "", next)
		}
	})
}

// talk creates a conversation whose messages alternate between questions and answers, starting with a question.
func talk(w *world.World, agent, visitor string, texts ...string) domain.Conversation {
	w.T.Helper()
	v := world.Must(w.EnsureConversation(w.Ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: agent, VisitorID: visitor}))(w.T)
	var ms []domain.Message
	for i, text := range texts {
		ms = append(ms, domain.Message{ID: domain.NewID(), Role: []domain.Role{domain.RoleUser, domain.RoleAssistant}[i%2], Text: text})
	}
	world.OK(w.T, w.AppendMessages(w.Ctx, v.ID, ms...))
	return v
}

func conversationIDs(vs []domain.Conversation) []string {
	return lists.Map(vs, func(v domain.Conversation) string { return v.ID })
}

func testConversationLists(t *testing.T, open world.Open) {
	world.Run(t, open, "conversations are filtered by each field", func(t *testing.T, w *world.World) {
		sales, support := NewAgent(w).ID, NewAgent(w).ID
		begin := w.Clock.Now()
		first := talk(w, sales, "anna", "Was kostet ein Ölfilter?", "Er kostet 100 % mehr.").ID
		w.Clock.Advance(time.Hour)
		second := talk(w, support, "anna", "How is a_b written?", "Like this.").ID
		w.Clock.Advance(time.Hour)
		third := talk(w, support, "bert", "Does it leak?", "No!").ID
		stranger := w.NewWorkspace()
		for _, test := range []struct {
			filter catalog.ConversationFilter
			want   []string
		}{
			{catalog.ConversationFilter{}, []string{third, second, first}},
			{catalog.ConversationFilter{AgentID: support}, []string{third, second}},
			{catalog.ConversationFilter{VisitorID: "anna"}, []string{second, first}},
			{catalog.ConversationFilter{VisitorID: "nobody"}, []string{}},
			{catalog.ConversationFilter{AgentID: support, VisitorID: "anna"}, []string{second}},
			{catalog.ConversationFilter{From: begin.Add(time.Hour)}, []string{third, second}},
			{catalog.ConversationFilter{To: begin.Add(time.Hour)}, []string{first}},
			{catalog.ConversationFilter{From: begin.Add(time.Hour), To: begin.Add(2 * time.Hour)}, []string{second}},
			{catalog.ConversationFilter{Search: "ÖLFILTER"}, []string{first}},
			{catalog.ConversationFilter{Search: "100 % M"}, []string{first}},
			{catalog.ConversationFilter{Search: "a_b"}, []string{second}},
			{catalog.ConversationFilter{Search: "i_ l"}, []string{}},
			{catalog.ConversationFilter{Search: "no!"}, []string{third}},
			{catalog.ConversationFilter{Search: "leak", VisitorID: "bert", AgentID: support, From: begin, To: begin.Add(3 * time.Hour)}, []string{third}},
		} {
			got, next, err := w.Conversations(w.Ctx, w.WS, test.filter, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, test.want, conversationIDs(got))
			world.Equal(t, "", next)
			got, _, err = w.Conversations(w.Ctx, stranger, test.filter, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, 0, len(got))
		}
	})
	world.Run(t, open, "pages of a search follow one another", func(t *testing.T, w *world.World) {
		agent := NewAgent(w).ID
		var want []string
		for i := range 5 {
			id := talk(w, agent, "anna", fmt.Sprintf("Question %d", i), "Answer").ID
			talk(w, agent, "anna", "Something else", "Answer")
			want = append([]string{id}, want...)
		}
		var got []string
		for page := (catalog.Page{Limit: 2}); ; {
			vs, next, err := w.Conversations(w.Ctx, w.WS, catalog.ConversationFilter{Search: "question"}, page)
			world.OK(t, err)
			got = append(got, conversationIDs(vs)...)
			if page.Cursor = next; next == "" {
				break
			}
		}
		world.Equal(t, want, got)
	})
	world.Run(t, open, "every message of a long conversation is walked in its order", func(t *testing.T, w *world.World) {
		v := talk(w, NewAgent(w).ID, "anna")
		var want, got []string
		for i := range 45 {
			want = append(want, fmt.Sprint(i))
			world.OK(t, w.AppendMessages(w.Ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: fmt.Sprint(i)}))
		}
		walk := func(m domain.Message) error {
			got = append(got, m.Text)
			return nil
		}
		world.OK(t, w.EachMessage(w.Ctx, v.ID, walk))
		world.Equal(t, want, got)
		enough := errors.New("enough")
		if err := w.EachMessage(w.Ctx, v.ID, func(domain.Message) error { return enough }); !errors.Is(err, enough) {
			t.Fatalf("got %v", err)
		}
	})
}

func testConversationsEnd(t *testing.T, open world.Open) {
	world.Run(t, open, "a deleted conversation is returned and gone with its messages, and another workspace cannot delete it", func(t *testing.T, w *world.World) {
		v := talk(w, NewAgent(w).ID, "anna", "How?", "So.")
		world.Refused(w.DeleteConversation(w.Ctx, w.NewWorkspace(), v.ID))(t, domain.CodeNotFound)
		got := world.Must(w.DeleteConversation(w.Ctx, w.WS, v.ID))(t)
		world.Equal(t, v.ID, got.ID)
		ms := world.Must(w.Messages(w.Ctx, v.ID, 10))(t)
		world.Equal(t, 0, len(ms))
		world.Refused(w.DeleteConversation(w.Ctx, w.WS, v.ID))(t, domain.CodeNotFound)
		world.Code(t, domain.CodeNotFound, w.AppendMessages(w.Ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser}))
	})
	world.Run(t, open, "an agent with many conversations is deleted with all of them and no other's", func(t *testing.T, w *world.World) {
		agent, other := NewAgent(w).ID, NewAgent(w).ID
		for range 205 {
			world.Must(w.EnsureConversation(w.Ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: agent}))(t)
		}
		kept := talk(w, other, "anna", "How?", "So.").ID
		_, err := w.DeleteAgent(w.Ctx, w.WS, agent)
		world.OK(t, err)
		left, _, err := w.Conversations(w.Ctx, w.WS, catalog.ConversationFilter{}, catalog.Page{})
		world.OK(t, err)
		world.Equal(t, []string{kept}, conversationIDs(left))
	})
	world.Run(t, open, "idle conversations are deleted in batches", func(t *testing.T, w *world.World) {
		agent := NewAgent(w).ID
		for range 150 {
			talk(w, agent, "anna", "How?", "So.")
		}
		continued := talk(w, agent, "anna", "How?", "So.").ID
		answered := talk(w, agent, "anna", "How?", "So.").ID
		w.Clock.Advance(48 * time.Hour)
		world.OK(t, w.AppendMessages(w.Ctx, continued, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "And then?"}))
		taken, err := w.Lock(w.Ctx, answered, "a", time.Minute)
		world.OK(t, err)
		world.Equal(t, true, taken)
		fresh := talk(w, agent, "anna", "How?", "So.").ID
		since := w.Clock.Now().Add(-24 * time.Hour)
		for _, more := range []bool{true, false, false} {
			got := world.Must(w.ForgetConversations(w.Ctx, since))(t)
			world.Equal(t, more, got)
		}
		left, _, err := w.Conversations(w.Ctx, w.WS, catalog.ConversationFilter{}, catalog.Page{})
		world.OK(t, err)
		world.Equal(t, []string{fresh, answered, continued}, conversationIDs(left))
	})
}

func testConversationLocks(t *testing.T, open world.Open) {
	world.Run(t, open, "one holder at a time has the turn, until it ends it", func(t *testing.T, w *world.World) {
		v := talk(w, NewAgent(w).ID, "anna")
		for _, step := range []struct {
			holder string
			end    bool
			want   bool
		}{{"a", false, true}, {"b", false, false}, {"a", false, true}, {"b", true, false}, {"b", false, false}, {"a", true, false}, {"b", false, true}} {
			if step.end {
				world.OK(t, w.Unlock(w.Ctx, v.ID, step.holder))
				continue
			}
			got := world.Must(w.Lock(w.Ctx, v.ID, step.holder, time.Minute))(t)
			world.Equal(t, step.want, got)
		}
	})
	world.Run(t, open, "a turn that was not ended passes to another with its time, and what its holder says late is stored whole", func(t *testing.T, w *world.World) {
		v := talk(w, NewAgent(w).ID, "anna")
		world.Must(w.Lock(w.Ctx, v.ID, "a", time.Minute))(t)
		w.Clock.Advance(time.Minute)
		got := world.Must(w.Lock(w.Ctx, v.ID, "b", time.Minute))(t)
		world.Equal(t, true, got)
		got = world.Must(w.Lock(w.Ctx, v.ID, "a", time.Minute))(t)
		world.Equal(t, false, got)
		world.OK(t, w.Unlock(w.Ctx, v.ID, "a")) // no effect, because b has the lock
		got = world.Must(w.Lock(w.Ctx, v.ID, "c", time.Minute))(t)
		world.Equal(t, false, got)
		for _, holder := range []string{"b", "a"} {
			world.OK(t, w.AppendMessages(w.Ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: holder + "?"},
				domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: holder + "!"}))
		}
		ms := world.Must(w.Messages(w.Ctx, v.ID, 10))(t)
		world.Equal(t, []string{"b?", "b!", "a?", "a!"}, lists.Map(ms, func(m domain.Message) string { return m.Text }))
	})
	world.Run(t, open, "there is a turn in a conversation that is not stored yet, and none is stored by it", func(t *testing.T, w *world.World) {
		id := domain.NewID()
		for i, want := range []bool{true, false} {
			got := world.Must(w.Lock(w.Ctx, id, fmt.Sprint(i), time.Minute))(t)
			world.Equal(t, want, got)
		}
		world.Refused(w.Conversation(w.Ctx, w.WS, "", id))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "of many that ask at once one has the turn", func(t *testing.T, w *world.World) {
		v := talk(w, NewAgent(w).ID, "anna")
		var taken atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				got, err := w.Lock(w.Ctx, v.ID, fmt.Sprint(i), time.Minute)
				if err != nil {
					t.Error(err)
				}
				if got {
					taken.Add(1)
				}
			})
		}
		wg.Wait()
		world.Equal(t, int64(1), taken.Load())
	})
}
