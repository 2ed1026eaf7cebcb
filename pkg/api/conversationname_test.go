package api_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
)

// remembers stubs the answerer to store questions in their conversations, as the real one does. Each answer lists the
// conversation's earlier questions.
func (s *service) remembers() {
	s.answerer.answer = func(ctx context.Context, r answer.Request, _ func(string) error) (answer.Answer, error) {
		v, exists, err := s.catalog.FindConversation(ctx, r.Agent.WorkspaceID, r.Agent.ID, r.ConversationID)
		if err != nil {
			return answer.Answer{}, err
		}
		if !exists {
			v = domain.Conversation{ID: r.ConversationID, CallerID: r.CallerID, WorkspaceID: r.Agent.WorkspaceID, AgentID: r.Agent.ID, VisitorID: r.VisitorID, Title: r.Query}
			if v.VisitorID == "" {
				v.VisitorID = domain.NewID()
			}
			if _, err := s.catalog.EnsureConversation(ctx, v); err != nil {
				return answer.Answer{}, err
			}
		}
		before, err := s.catalog.Messages(ctx, v.ID, 100)
		if err != nil {
			return answer.Answer{}, err
		}
		var said []string
		for _, m := range before {
			said = append(said, m.Text)
		}
		must(s.T, s.catalog.AppendMessages(ctx, v.ID, domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: r.Query}))
		return answer.Answer{Text: "before: " + strings.Join(said, ","), ConversationID: v.ID, VisitorID: v.VisitorID}, nil
	}
}

func (s *service) asks(agent, question, conversation string, more ...object) object {
	s.Helper()
	return s.call("POST", "/agents/"+agent+"/query", with(object{"query": question, "conversationId": conversation}, more...)).want(200).object()
}

func TestACallerChoosesTheIDOfAConversation(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.remembers()
	agent := s.newAgent()
	for _, id := range []string{
		"1", "session_42", "chat:7/a b?c#d&e", "größe-日本-😀", strings.Repeat("ö", 100), "caller:" + unusedID, " ", "a\nb", "..", "%2F", "a+b", unusedID + "x", "{" + unusedID + "}",
	} {
		if got := s.asks(agent, "one", id); got.text("conversationId") != id || got.text("answer") != "before: " {
			t.Errorf("%q: %v", id, got)
		}
		if got := s.asks(agent, "two", id); got.text("conversationId") != id || got.text("answer") != "before: one" {
			t.Errorf("%q again: %v", id, got)
		}
		path := "/conversations/" + url.PathEscape(id)
		if id == ".." {
			path = "/conversations/%2e%2e"
		}
		if got := s.call("GET", path, nil).want(200).object(); got.id() != id || len(got.list("messages")) != 2 {
			t.Errorf("%q is read as %v", id, got)
		}
		if got := s.call("GET", path+"?agentId="+agent, nil).want(200).object(); got.id() != id {
			t.Errorf("%q of its agent is read as %v", id, got)
		}
		s.call("GET", path+"?agentId="+s.newAgent(), nil).problem(404)
		s.call("GET", path+"?visitorId=nobody", nil).problem(404)
		if got := s.call("DELETE", path, nil).want(200).object(); got.id() != id {
			t.Errorf("%q is deleted as %v", id, got)
		}
		s.call("GET", path, nil).problem(404)
	}
	// Callers can also choose the id in chat completions. Ids are case-sensitive: Talk and talk are different
	// conversations.
	s.chat(agent, object{"conversationId": "Talk"}).want(200)
	if got := s.chat(agent, object{"conversationId": "Talk"}).want(200).object(); got.text("conversationId") != "Talk" {
		t.Errorf("%v", got)
	}
	if got := s.asks(agent, "q", "talk"); got.text("answer") != "before: " {
		t.Errorf("in other letters it is the same: %v", got)
	}
	list := s.call("GET", "/conversations", nil).want(200).object().list("data")
	if len(list) != 2 || object(list[1].(map[string]any)).id() != "Talk" {
		t.Errorf("listed: %v", list)
	}
	if export := string(s.call("GET", "/conversations/export?format=csv", nil).want(200).body); !strings.Contains(export, "\nTalk,") || strings.Contains(export, "caller:") {
		t.Errorf("exported: %s", export)
	}
	for _, path := range []string{"/conversations/" + strings.Repeat("x", 101), "/conversations/%00", "/conversations/%ff", "/conversations/nothing"} {
		s.call("GET", path, nil).problem(404)
	}
}

func TestAChosenIDOpensNoConversationOfAnotherVisitor(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.remembers()
	stranger := s.stranger()
	ours, other, theirs := s.newAgent(object{"visibility": "public"}), s.newAgent(), stranger.newAgent()
	const id = "chat-1"
	s.asks(ours, "our secret", id)
	nothing := func(what string, got object) {
		t.Helper()
		if got.text("answer") != "before: " {
			t.Errorf("%s: %v", what, got)
		}
	}
	nothing("another agent", s.asks(other, "x", id))
	nothing("another workspace", stranger.asks(theirs, "x", id))
	noneKnown, known := s.as(""), stranger
	nothing("a public agent without a key", noneKnown.asks(ours, "a", id))
	nothing("a public agent without a key again", noneKnown.asks(ours, "a", id))
	nothing("a public agent with another workspace's key", known.asks(ours, "b", id))
	nothing("one visitor", noneKnown.asks(ours, "anna's", id, object{"visitorId": "anna"}))
	nothing("another visitor", noneKnown.asks(ours, "bert's", id, object{"visitorId": "bert"}))
	if got := noneKnown.asks(ours, "more", id, object{"visitorId": "anna"}); got.text("answer") != "before: anna's" {
		t.Errorf("a visitor does not find the conversation again: %v", got)
	}
	first := noneKnown.asks(ours, "first", "chat-2")
	if got := noneKnown.asks(ours, "second", "chat-2", object{"visitorId": first.text("visitorId")}); got.text("answer") != "before: first" {
		t.Errorf("the visitor that was answered does not find it again: %v", got)
	}
	if got := s.asks(ours, "more", id); got.text("answer") != "before: our secret" {
		t.Errorf("the owner: %v", got)
	}
	// Knowing the id under which the catalog stores the conversation doesn't give access to it, either.
	inside := domain.CallerConversationID(s.ws, ours, "", id)
	nothing("the inner id", noneKnown.asks(ours, "x", inside))
	nothing("its UUID", noneKnown.asks(ours, "x", strings.TrimPrefix(inside, "caller:")))
	if got := s.call("GET", "/conversations/"+inside, nil).want(200).object(); got.text("title") != "x" { // the conversation just created under this name
		t.Errorf("the inner id reads %v", got)
	}
	s.call("POST", "/agents/"+ours+"/query", object{"query": "q", "conversationId": id, "visitorId": "another"}).problem(404)

	if got := s.call("GET", "/conversations/"+id, nil).problem(409).Detail; !strings.Contains(got, "agentId=") || !strings.Contains(got, "visitorId=") {
		t.Errorf("several with one id: %s", got)
	}
	if got := s.call("GET", "/conversations/"+id+"?agentId="+ours+"&visitorId=anna", nil).want(200).object(); got.text("visitorId") != "anna" {
		t.Errorf("one of them: %v", got)
	}
	if got := stranger.call("GET", "/conversations/"+id, nil).want(200).object(); got.text("agentId") != theirs {
		t.Errorf("the stranger reads %v", got)
	}
	s.call("DELETE", "/conversations/"+id, nil).problem(409)
	s.call("DELETE", "/conversations/"+id+"?agentId="+ours+"&visitorId=anna", nil).want(200)
	s.call("GET", "/conversations/"+id+"?agentId="+ours+"&visitorId=anna", nil).problem(404)
	s.call("GET", "/conversations/"+id+"?agentId="+ours+"&visitorId=bert", nil).want(200)
}
