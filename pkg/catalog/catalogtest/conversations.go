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
	"github.com/sluice/sluice/pkg/domain"
)

func testConversations(t *testing.T, open Open) {
	setup := func(t *testing.T) (*world, domain.Conversation) {
		w := newWorld(t, open)
		a := w.agent()
		return w, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.ws, AgentID: a.ID, VisitorID: "visitor"}
	}
	t.Run("a conversation is made once and then found", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		first, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		v.VisitorID = "somebody else"
		again, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		equal(t, first, again)
		equal(t, "visitor", again.VisitorID)
	})
	t.Run("a conversation of another agent is not found and not taken over", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		v.AgentID = w.agent().ID
		_, err = w.EnsureConversation(w.ctx, v)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("a conversation is found without its agent, in its workspace alone", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		made, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		got, err := w.Conversation(w.ctx, w.ws, "", v.ID)
		ok(t, err)
		equal(t, made, got)
		_, err = w.Conversation(w.ctx, domain.NewID(), "", v.ID)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("a conversation is found by the id that its caller has chosen, in its workspace alone", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		v.ID, v.CallerID = domain.CallerConversationID(w.ws, v.AgentID, "", "größe/1"), "größe/1"
		first, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		v.ID, v.VisitorID = domain.CallerConversationID(w.ws, v.AgentID, "anna", v.CallerID), "anna"
		second, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		plain := domain.Conversation{ID: domain.NewID(), WorkspaceID: w.ws, AgentID: v.AgentID, VisitorID: "anna"}
		_, err = w.EnsureConversation(w.ctx, plain)
		ok(t, err)
		for _, c := range []struct {
			ws, agent, visitor, id string
			limit                  int
			want                   []domain.Conversation
		}{
			{w.ws, "", "", v.CallerID, 10, []domain.Conversation{second, first}},
			{w.ws, "", "", v.CallerID, 1, []domain.Conversation{second}},
			{w.ws, v.AgentID, "visitor", v.CallerID, 10, []domain.Conversation{first}},
			{w.ws, w.agent().ID, "", v.CallerID, 10, nil},
			{w.ws, "", "", "other", 10, nil},
			{w.ws, "", "", "", 10, nil},
			{domain.NewID(), "", "", v.CallerID, 10, nil},
		} {
			got, err := w.ConversationsByCallerID(w.ctx, c.ws, c.agent, c.visitor, c.id, c.limit)
			ok(t, err)
			equal(t, conversationIDs(c.want), conversationIDs(got))
		}
		got, exists, err := w.FindConversation(w.ctx, w.ws, v.AgentID, first.ID)
		ok(t, err)
		equal(t, true, exists)
		equal(t, "größe/1", got.CallerID)
	})
	t.Run("a conversation with an unknown agent is not found", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		v.AgentID = domain.NewID()
		_, err := w.EnsureConversation(w.ctx, v)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("a conversation is begun with what was first said in it, all of it or nothing", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		say := func(text string) domain.Message {
			return domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: text}
		}
		twice := say("one")
		_, err := w.EnsureConversation(w.ctx, v, twice, twice)
		code(t, domain.CodeConflict, err)
		_, exists, err := w.FindConversation(w.ctx, w.ws, v.AgentID, v.ID)
		ok(t, err)
		equal(t, false, exists)

		made, err := w.EnsureConversation(w.ctx, v, say("one"), say("two"))
		ok(t, err)
		again, err := w.EnsureConversation(w.ctx, v, say("three"))
		ok(t, err)
		equal(t, made.ID, again.ID)
		got, exists, err := w.FindConversation(w.ctx, w.ws, v.AgentID, v.ID)
		ok(t, err)
		equal(t, true, exists)
		equal(t, "one", got.Title)
		v.VisitorID = "somebody else"
		_, err = w.EnsureConversation(w.ctx, v, say("four"))
		code(t, domain.CodeNotFound, err)
		ms, err := w.Messages(w.ctx, v.ID, 10)
		ok(t, err)
		equal(t, []string{"one", "two", "three"}, ids(ms, func(m domain.Message) string { return m.Text }))
	})
	t.Run("an id in use by another agent or workspace is told from one that is not in use", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		_, _, err = w.FindConversation(w.ctx, w.ws, w.agent().ID, v.ID)
		code(t, domain.CodeNotFound, err)
		_, _, err = w.FindConversation(w.ctx, domain.NewID(), v.AgentID, v.ID)
		code(t, domain.CodeNotFound, err)
		_, exists, err := w.FindConversation(w.ctx, w.ws, v.AgentID, domain.NewID())
		ok(t, err)
		equal(t, false, exists)
	})
	t.Run("the newest messages come back oldest first, with their sources", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		sources := []domain.Fragment{{ChunkID: "c", Text: "tighten\nthe bolt", Score: 0.5, Citation: 1}}
		ok(t, w.AppendMessages(w.ctx, v.ID,
			domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: strings.Repeat("ü", 100)},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: "two"},
		))
		ok(t, w.AppendMessages(w.ctx, v.ID,
			domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "three"},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: "four", Sources: sources},
		))
		ms, err := w.Messages(w.ctx, v.ID, 3)
		ok(t, err)
		equal(t, []string{"two", "three", "four"}, ids(ms, func(m domain.Message) string { return m.Text }))
		equal(t, sources, ms[2].Sources)
		got, err := w.Conversation(w.ctx, w.ws, v.AgentID, v.ID)
		ok(t, err)
		equal(t, strings.Repeat("ü", 79)+"…", got.Title)
	})
	t.Run("messages of one call are stored all or none", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		id := domain.NewID()
		code(t, domain.CodeConflict, w.AppendMessages(w.ctx, v.ID, domain.Message{ID: id, Role: domain.RoleUser, Text: "one"},
			domain.Message{ID: id, Role: domain.RoleAssistant, Text: "two"}))
		ms, err := w.Messages(w.ctx, v.ID, 10)
		ok(t, err)
		equal(t, 0, len(ms))
	})
	t.Run("messages of an unknown conversation are refused", func(t *testing.T) {
		t.Parallel()
		w, _ := setup(t)
		code(t, domain.CodeNotFound, w.AppendMessages(w.ctx, domain.NewID(), domain.Message{ID: domain.NewID(), Role: domain.RoleUser}))
	})
	t.Run("conversations are listed by workspace and by agent, and go with their agent", func(t *testing.T) {
		t.Parallel()
		w, v := setup(t)
		_, err := w.EnsureConversation(w.ctx, v)
		ok(t, err)
		other := domain.Conversation{ID: domain.NewID(), WorkspaceID: w.ws, AgentID: w.agent().ID}
		_, err = w.EnsureConversation(w.ctx, other)
		ok(t, err)
		id := func(v domain.Conversation) string { return v.ID }
		all, _, err := w.Conversations(w.ctx, w.ws, catalog.ConversationFilter{}, catalog.Page{})
		ok(t, err)
		equal(t, []string{other.ID, v.ID}, ids(all, id))
		_, err = w.DeleteAgent(w.ctx, w.ws, other.AgentID)
		ok(t, err)
		for _, agent := range []string{"", v.AgentID} {
			left, next, err := w.Conversations(w.ctx, w.ws, catalog.ConversationFilter{AgentID: agent}, catalog.Page{})
			ok(t, err)
			equal(t, []string{v.ID}, ids(left, id))
			equal(t, "", next)
		}
	})
}

// talk makes a conversation of the agent and the visitor in which the texts were said in turn.
func (w *world) talk(agent, visitor string, texts ...string) domain.Conversation {
	w.t.Helper()
	v, err := w.EnsureConversation(w.ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.ws, AgentID: agent, VisitorID: visitor})
	ok(w.t, err)
	var ms []domain.Message
	for i, text := range texts {
		ms = append(ms, domain.Message{ID: domain.NewID(), Role: []domain.Role{domain.RoleUser, domain.RoleAssistant}[i%2], Text: text})
	}
	ok(w.t, w.AppendMessages(w.ctx, v.ID, ms...))
	return v
}

func conversationIDs(vs []domain.Conversation) []string {
	return ids(vs, func(v domain.Conversation) string { return v.ID })
}

func testConversationLists(t *testing.T, open Open) {
	t.Run("conversations are filtered by each field", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		sales, support := w.agent().ID, w.agent().ID
		begin := w.clock.now()
		first := w.talk(sales, "anna", "Was kostet ein Ölfilter?", "Er kostet 100 % mehr.").ID
		w.clock.advance(time.Hour)
		second := w.talk(support, "anna", "How is a_b written?", "Like this.").ID
		w.clock.advance(time.Hour)
		third := w.talk(support, "bert", "Does it leak?", "No!").ID
		stranger := w.workspace()
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
			got, next, err := w.Conversations(w.ctx, w.ws, test.filter, catalog.Page{})
			ok(t, err)
			equal(t, test.want, conversationIDs(got))
			equal(t, "", next)
			got, _, err = w.Conversations(w.ctx, stranger, test.filter, catalog.Page{})
			ok(t, err)
			equal(t, 0, len(got))
		}
	})
	t.Run("pages of a search follow one another", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		agent := w.agent().ID
		var want []string
		for i := range 5 {
			id := w.talk(agent, "anna", fmt.Sprintf("Question %d", i), "Answer").ID
			w.talk(agent, "anna", "Something else", "Answer")
			want = append([]string{id}, want...)
		}
		var got []string
		for page := (catalog.Page{Limit: 2}); ; {
			vs, next, err := w.Conversations(w.ctx, w.ws, catalog.ConversationFilter{Search: "question"}, page)
			ok(t, err)
			got = append(got, conversationIDs(vs)...)
			if page.Cursor = next; next == "" {
				break
			}
		}
		equal(t, want, got)
	})
	t.Run("every message of a long conversation is walked in its order", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		v := w.talk(w.agent().ID, "anna")
		var want, got []string
		for i := range 45 {
			want = append(want, fmt.Sprint(i))
			ok(t, w.AppendMessages(w.ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: fmt.Sprint(i)}))
		}
		walk := func(m domain.Message) error {
			got = append(got, m.Text)
			return nil
		}
		ok(t, w.EachMessage(w.ctx, v.ID, walk))
		equal(t, want, got)
		enough := errors.New("enough")
		if err := w.EachMessage(w.ctx, v.ID, func(domain.Message) error { return enough }); !errors.Is(err, enough) {
			t.Fatalf("got %v", err)
		}
	})
}

func testConversationsEnd(t *testing.T, open Open) {
	t.Run("a deleted conversation is returned and gone with its messages, and another workspace cannot delete it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		v := w.talk(w.agent().ID, "anna", "How?", "So.")
		_, err := w.DeleteConversation(w.ctx, w.workspace(), v.ID)
		code(t, domain.CodeNotFound, err)
		got, err := w.DeleteConversation(w.ctx, w.ws, v.ID)
		ok(t, err)
		equal(t, v.ID, got.ID)
		ms, err := w.Messages(w.ctx, v.ID, 10)
		ok(t, err)
		equal(t, 0, len(ms))
		_, err = w.DeleteConversation(w.ctx, w.ws, v.ID)
		code(t, domain.CodeNotFound, err)
		code(t, domain.CodeNotFound, w.AppendMessages(w.ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser}))
	})
	t.Run("an agent with many conversations is deleted with all of them and no other's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		agent, other := w.agent().ID, w.agent().ID
		for range 205 {
			_, err := w.EnsureConversation(w.ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.ws, AgentID: agent})
			ok(t, err)
		}
		kept := w.talk(other, "anna", "How?", "So.").ID
		_, err := w.DeleteAgent(w.ctx, w.ws, agent)
		ok(t, err)
		left, _, err := w.Conversations(w.ctx, w.ws, catalog.ConversationFilter{}, catalog.Page{})
		ok(t, err)
		equal(t, []string{kept}, conversationIDs(left))
	})
	t.Run("what nobody went on with is forgotten, a batch at a time", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		agent := w.agent().ID
		for range 150 {
			w.talk(agent, "anna", "How?", "So.")
		}
		continued := w.talk(agent, "anna", "How?", "So.").ID
		answered := w.talk(agent, "anna", "How?", "So.").ID
		w.clock.advance(48 * time.Hour)
		ok(t, w.AppendMessages(w.ctx, continued, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "And then?"}))
		taken, err := w.TakeTurn(w.ctx, answered, "a", time.Minute)
		ok(t, err)
		equal(t, true, taken)
		fresh := w.talk(agent, "anna", "How?", "So.").ID
		since := w.clock.now().Add(-24 * time.Hour)
		for _, more := range []bool{true, false, false} {
			got, err := w.ForgetConversations(w.ctx, since)
			ok(t, err)
			equal(t, more, got)
		}
		left, _, err := w.Conversations(w.ctx, w.ws, catalog.ConversationFilter{}, catalog.Page{})
		ok(t, err)
		equal(t, []string{fresh, answered, continued}, conversationIDs(left))
	})
}

func testTurns(t *testing.T, open Open) {
	t.Run("one holder at a time has the turn, until it ends it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		v := w.talk(w.agent().ID, "anna")
		for _, step := range []struct {
			holder string
			end    bool
			want   bool
		}{{"a", false, true}, {"b", false, false}, {"a", false, true}, {"b", true, false}, {"b", false, false}, {"a", true, false}, {"b", false, true}} {
			if step.end {
				ok(t, w.EndTurn(w.ctx, v.ID, step.holder))
				continue
			}
			got, err := w.TakeTurn(w.ctx, v.ID, step.holder, time.Minute)
			ok(t, err)
			equal(t, step.want, got)
		}
	})
	t.Run("a turn that was not ended passes to another with its time, and what its holder says late is stored whole", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		v := w.talk(w.agent().ID, "anna")
		_, err := w.TakeTurn(w.ctx, v.ID, "a", time.Minute)
		ok(t, err)
		w.clock.advance(time.Minute)
		got, err := w.TakeTurn(w.ctx, v.ID, "b", time.Minute)
		ok(t, err)
		equal(t, true, got)
		got, err = w.TakeTurn(w.ctx, v.ID, "a", time.Minute)
		ok(t, err)
		equal(t, false, got)
		ok(t, w.EndTurn(w.ctx, v.ID, "a")) // not its own any more
		got, err = w.TakeTurn(w.ctx, v.ID, "c", time.Minute)
		ok(t, err)
		equal(t, false, got)
		for _, holder := range []string{"b", "a"} {
			ok(t, w.AppendMessages(w.ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: holder + "?"},
				domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: holder + "!"}))
		}
		ms, err := w.Messages(w.ctx, v.ID, 10)
		ok(t, err)
		equal(t, []string{"b?", "b!", "a?", "a!"}, ids(ms, func(m domain.Message) string { return m.Text }))
	})
	t.Run("there is a turn in a conversation that is not stored yet, and none is stored by it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		id := domain.NewID()
		for i, want := range []bool{true, false} {
			got, err := w.TakeTurn(w.ctx, id, fmt.Sprint(i), time.Minute)
			ok(t, err)
			equal(t, want, got)
		}
		_, err := w.Conversation(w.ctx, w.ws, "", id)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("of many that ask at once one has the turn", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		v := w.talk(w.agent().ID, "anna")
		var taken atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				got, err := w.TakeTurn(w.ctx, v.ID, fmt.Sprint(i), time.Minute)
				if err != nil {
					t.Error(err)
				}
				if got {
					taken.Add(1)
				}
			})
		}
		wg.Wait()
		equal(t, int64(1), taken.Load())
	})
}
