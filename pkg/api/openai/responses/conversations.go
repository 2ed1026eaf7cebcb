package responses

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// Maximum number of items a request may add to a conversation, as documented by OpenAI.
const maxNewItems = 20

// conversationObject is a conversation as clients see it.
type conversationObject struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"` // always "conversation"
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

func shownConversation(c domain.ItemConversation) conversationObject {
	out := conversationObject{ID: conversationKind.ID(c.ID), Object: "conversation", CreatedAt: c.CreatedAt.Unix(), Metadata: c.Metadata}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	return out
}

// conversation returns the conversation, or an error if the caller may not see it. `field` is the body field with the
// id, for error messages, or "" if the id is in the path.
func (s *Service) conversation(ctx context.Context, caller access.Caller, field, id string) (domain.ItemConversation, error) {
	bare, err := conversationKind.Parse(id)
	var c domain.ItemConversation
	if err != nil && field != "" && !strings.HasPrefix(id, conversationKind.Prefix) {
		return c, domain.Invalid(field, "is %s; it must be the id of a conversation, which begins with %s", jsonbody.Describe(id), conversationKind.Prefix)
	}
	if err == nil {
		c, err = s.Store.ItemConversation(ctx, caller.Workspace(), bare)
	}
	if err == nil && !s.mayRead(caller, c.KeyID) || domain.CodeOf(err) == domain.CodeNotFound {
		err = conversationKind.NotFound(id)
		if field != "" {
			err = &domain.Error{Code: domain.CodeNotFound, Message: err.Error(), Fields: []domain.FieldError{{Field: field, Message: "is " + jsonbody.Describe(id) + "; there is no conversation with this id"}}}
		}
	}
	return c, err
}

// createConversation serves POST /v1/conversations.
func (s *Service) createConversation(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	o, err := bodyOf(c)
	if err != nil {
		return err
	}
	v := domain.ItemConversation{
		ID: idempotency.ID(ctx, s.NewID, "conversation"), WorkspaceID: caller.Workspace(), KeyID: caller.Key.ID, Metadata: readMetadata(o),
	}
	items := s.newItems(o)
	if err := problem.Invalid(o.Faults()); err != nil {
		return err
	}
	find := func() (domain.ItemConversation, error) { return s.Store.ItemConversation(ctx, v.WorkspaceID, v.ID) }
	create := func() (domain.ItemConversation, error) { return s.Store.CreateItemConversation(ctx, v, items...) }
	if v, err = idempotency.CreateOnce(ctx, find, create); err != nil {
		return err
	}
	return openai.Reply(c, shownConversation(v))
}

// newItems reads the items in a body and assigns ids to them.
func (s *Service) newItems(o jsonbody.Object) []domain.ConversationItem {
	var out []domain.ConversationItem
	for _, i := range readItems(o, "items", maxNewItems) {
		if i.fields == nil {
			o.Fault(i.field, "is a reference; send the item itself")
			continue
		}
		id := object.ItemID(i.kind, s.NewID())
		i.fields["id"] = id
		out = append(out, domain.ConversationItem{ID: id, Item: string(encode(i.fields))})
	}
	return out
}

// getConversation serves GET /v1/conversations/{id}.
func (s *Service) getConversation(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err != nil {
		return err
	}
	return openai.Reply(c, shownConversation(v))
}

// updateConversation serves POST /v1/conversations/{id}.
func (s *Service) updateConversation(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	o, err := bodyOf(c)
	if err != nil {
		return err
	}
	metadata := readMetadata(o)
	if _, given := o.Fields()["metadata"]; !given {
		o.Fault("metadata", "is required; send the new metadata")
	}
	if err := problem.Invalid(o.Faults()); err != nil {
		return err
	}
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err == nil {
		err = requireChange(caller, v.KeyID)
	}
	if err != nil {
		return err
	}
	if v, err = s.Store.UpdateItemConversation(ctx, caller.Workspace(), v.ID, metadata); err != nil {
		return err
	}
	return openai.Reply(c, shownConversation(v))
}

// deleteConversation serves DELETE /v1/conversations/{id}.
func (s *Service) deleteConversation(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err == nil {
		err = requireChange(caller, v.KeyID)
	}
	if err != nil {
		return err
	}
	if err := s.Store.DeleteItemConversation(ctx, caller.Workspace(), v.ID); err != nil {
		return err
	}
	return openai.Reply(c, deleted{conversationKind.ID(v.ID), "conversation.deleted", true})
}

func rawOf(i domain.ConversationItem) json.RawMessage { return json.RawMessage(i.Item) }

// createItems serves POST /v1/conversations/{id}/items.
func (s *Service) createItems(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	results, err := queryInclude(c)
	if err != nil {
		return err
	}
	o, err := bodyOf(c)
	if err != nil {
		return err
	}
	items := s.newItems(o)
	if len(items) == 0 && len(o.Faults()) == 0 {
		o.Fault("items", "is missing or empty; send an array of items")
	}
	if err := problem.Invalid(o.Faults()); err != nil {
		return err
	}
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err != nil {
		return err
	}
	if err := s.Store.AppendItems(ctx, caller.Workspace(), v.ID, items...); err != nil {
		return err
	}
	return openai.Reply(c, openai.NewList(shownItems(lists.Map(items, rawOf), results), false, idOf))
}

// listItems serves GET /v1/conversations/{id}/items.
func (s *Service) listItems(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	page, err := openai.ReadPage(c.Request.URL.Query(), openai.DefaultLimit, openai.MaxLimit)
	if err != nil {
		return err
	}
	results, err := queryInclude(c)
	if err != nil {
		return err
	}
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err != nil {
		return err
	}
	items, err := s.Store.Items(ctx, v.ID, page.After, !page.Ascending, page.Limit+1)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = domain.Invalid("after", "is %s; the conversation has no item with this id", jsonbody.Describe(page.After))
	}
	if err != nil {
		return err
	}
	more := len(items) > page.Limit
	items = items[:min(len(items), page.Limit)]
	return openai.Reply(c, openai.NewList(shownItems(lists.Map(items, rawOf), results), more, idOf))
}

// getItem serves GET /v1/conversations/{id}/items/{item}.
func (s *Service) getItem(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	results, err := queryInclude(c)
	if err != nil {
		return err
	}
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err != nil {
		return err
	}
	i, err := s.Store.Item(ctx, v.ID, c.Param("item"))
	if err != nil {
		return err
	}
	return openai.Reply(c, shownItems([]json.RawMessage{rawOf(i)}, results)[0])
}

// deleteItem serves DELETE /v1/conversations/{id}/items/{item}. As in OpenAI's API, the response is the conversation.
func (s *Service) deleteItem(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	v, err := s.conversation(ctx, caller, "", c.Param("id"))
	if err == nil {
		err = requireChange(caller, v.KeyID)
	}
	if err != nil {
		return err
	}
	if err := s.Store.DeleteItem(ctx, v.ID, c.Param("item")); err != nil {
		return err
	}
	return openai.Reply(c, shownConversation(v))
}
