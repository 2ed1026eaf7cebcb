package api

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// conversationName is the conversation that a question names.
type conversationName struct {
	id       string // in the catalog; "" if the question names none
	callerID string // the id that the caller chose, if it is not a UUID
	visitor  string // the conversation's visitor; "": the stored one, or a new one
}

// conversationNamed returns the conversation that a question names. A UUID is the id of a conversation. It is converted to
// lower case, because some languages write UUIDs in upper case.
//
// Any other id is chosen by the caller and may be easy to guess, so it is valid only within the agent. For callers without a key of the
// agent's workspace, it is also valid only for the visitor: two visitors who choose the same id have two conversations.
func (s *server) conversationNamed(ctx context.Context, who caller, agent domain.Agent, body AgentQuery) conversationName {
	given := value(body.ConversationId)
	named := conversationName{id: strings.ToLower(given), visitor: value(body.VisitorId)}
	if given == "" || domain.ValidID(named.id) {
		return named
	}
	owner := ""
	if who.workspace() != agent.WorkspaceID {
		if named.visitor == "" {
			if named.visitor = newVisitor(ctx); named.visitor == "" {
				named.visitor = s.NewID()
			}
		}
		owner = named.visitor
	}
	named.id, named.callerID = domain.CallerConversationID(agent.WorkspaceID, agent.ID, owner, given), given
	return named
}

// checkConversation rejects a conversation of another workspace, agent or visitor. The answerer does so too; this
// check reports it earlier. An unknown id names a new conversation.
func (s *server) checkConversation(ctx context.Context, agent domain.Agent, named conversationName) error {
	if named.id == "" {
		return nil
	}
	v, exists, err := s.Conversations.FindConversation(ctx, agent.WorkspaceID, agent.ID, named.id)
	if err == nil && exists && named.visitor != "" && named.visitor != v.VisitorID {
		err = noConversation(named.public())
	}
	return err
}

// public returns the id in the form that the caller sent.
func (n conversationName) public() string {
	if n.callerID != "" {
		return n.callerID
	}
	return n.id
}

func noConversation(id string) error { return domain.NotFound("conversation", jsonbody.Shorten(id)) }

// conversation returns the conversation with the id, a UUID or a caller's own, in the caller's workspace. Several conversations may have
// the same caller's id: agent and visitor, if given, select one.
func (s *server) conversation(ctx context.Context, who caller, id string, agentID, visitorID *string) (domain.Conversation, error) {
	if domain.ValidID(id) {
		v, err := s.Conversations.Conversation(ctx, who.workspace(), value(agentID), id)
		if err == nil && value(visitorID) != "" && value(visitorID) != v.VisitorID {
			err = noConversation(id)
		}
		return v, err
	}
	if utf8.RuneCountInString(id) > domain.MaxCallerIDCharacters || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return domain.Conversation{}, noConversation(id)
	}
	found, err := s.Conversations.ConversationsByCallerID(ctx, who.workspace(), value(agentID), value(visitorID), id, 2)
	switch {
	case err != nil:
		return domain.Conversation{}, err
	case len(found) == 0:
		return domain.Conversation{}, noConversation(id)
	case len(found) > 1:
		return domain.Conversation{}, domain.Errorf(domain.CodeConflict,
			"several conversations have the id %s: add ?agentId=%s&visitorId=%s, or those of another one; GET /conversations lists them",
			jsonbody.Describe(id), found[0].AgentID, url.QueryEscape(found[0].VisitorID))
	}
	return found[0], nil
}
