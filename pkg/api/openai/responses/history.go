package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on the items preceding the input. Older items are dropped.
const (
	maxEarlierItems     = 1000
	maxEarlierResponses = 100
	maxEarlierBytes     = 4 << 20
)

type stored struct {
	domain.StoredResponse
	body  object.Response
	input []json.RawMessage
}

// load returns a stored response that the caller may see.
func (s *Service) load(ctx context.Context, caller access.Caller, id string) (stored, error) {
	bare, err := responseKind.Parse(id)
	if err != nil {
		return stored{}, err
	}
	r, err := s.Store.Response(ctx, caller.Workspace(), responseKind.ID(bare))
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && !s.mayRead(caller, r.KeyID) || err == nil && s.expired(r) {
		return stored{}, responseKind.NotFound(id)
	}
	if err != nil {
		return stored{}, err
	}
	return s.decode(r)
}

// mayRead reports whether the caller may see a response or conversation created with the key keyID.
func (s *Service) mayRead(caller access.Caller, keyID string) bool {
	return caller.MayRead(caller.Workspace()) || caller.Key.ID == keyID
}

// requireChange returns an error unless the caller may change a response or conversation created with the key keyID.
// The caller needs that key, or a key with write scope.
func requireChange(caller access.Caller, keyID string) error {
	if caller.Key.Can(domain.ScopeWrite) || caller.Key.ID == keyID {
		return nil
	}
	return problem.Forbidden("this was created with another key; the key %q needs the scope write to change or delete it", caller.Key.Name)
}

// expired reports whether a response is older than Retention, even if it has not been deleted yet.
func (s *Service) expired(r domain.StoredResponse) bool {
	return s.Now().Sub(r.CreatedAt) > Retention
}

// decode parses a stored response's JSON. If a process died while generating a response, the response counts as failed.
func (s *Service) decode(r domain.StoredResponse) (out stored, err error) {
	out.StoredResponse = r
	if err := json.Unmarshal([]byte(r.Body), &out.body); err != nil {
		return out, fmt.Errorf("decoding response %s: %w", r.ID, err)
	}
	if err := json.Unmarshal([]byte(r.Input), &out.input); err != nil {
		return out, fmt.Errorf("decoding the input of response %s: %w", r.ID, err)
	}
	if !r.Status.Ended() && s.Now().After(r.HeldUntil.Add(holdGrace)) {
		out.Status = domain.ResponseFailed
	}
	out.body.Status = out.Status
	if out.Status == domain.ResponseFailed && out.body.Error == nil {
		out.body.Error = &object.Error{Code: codeServer, Message: "the service stopped while answering; send the request again"}
	}
	return out, nil
}

// earlier returns the items preceding a request's input, oldest first.
func (s *Service) earlier(ctx context.Context, caller access.Caller, p params) ([]item, error) {
	switch {
	case p.conversation != "":
		return s.conversationItems(ctx, caller, p.conversation)
	case p.previous != "":
		return s.chain(ctx, caller, p.previous)
	}
	return nil, nil
}

func (s *Service) conversationItems(ctx context.Context, caller access.Caller, id string) ([]item, error) {
	c, err := s.conversation(ctx, caller, "conversation", id)
	if err != nil {
		return nil, err
	}
	newest, err := s.Store.Items(ctx, c.ID, "", true, maxEarlierItems)
	if err != nil {
		return nil, err
	}
	var items []item
	bytes := 0
	for _, i := range newest {
		if bytes += len(i.Item); bytes > maxEarlierBytes {
			break
		}
		items = append(items, storedItem(json.RawMessage(i.Item)))
	}
	slices.Reverse(items)
	return items, nil
}

// chain returns the items from a response and all responses before it.
func (s *Service) chain(ctx context.Context, caller access.Caller, id string) ([]item, error) {
	var newest []item // newest first
	bytes := 0
	for n := range maxEarlierResponses {
		r, err := s.load(ctx, caller, id)
		if domain.CodeOf(err) == domain.CodeNotFound && n > 0 {
			break // deleted or expired
		}
		if domain.CodeOf(err) == domain.CodeNotFound {
			why := "is " + jsonbody.Describe(id) + "; there is no response with this id"
			return nil, &domain.Error{
				Code: domain.CodeInvalid, Message: why, Fields: []domain.FieldError{{Field: "previous_response_id", Message: why}}, Err: problem.ErrNoPreviousResponse,
			}
		}
		if err != nil {
			return nil, err
		}
		if !r.Status.Ended() {
			return nil, &domain.Error{Code: domain.CodeConflict, Message: fmt.Sprintf("response %s is still %s; wait until it has finished", id, r.Status)}
		}
		if bytes += len(r.Input) + len(r.Body); bytes > maxEarlierBytes || len(newest) > maxEarlierItems {
			break
		}
		for _, raw := range slices.Backward(r.output()) {
			newest = append(newest, storedItem(raw))
		}
		for _, raw := range slices.Backward(r.input) {
			newest = append(newest, storedItem(raw))
		}
		if r.body.PreviousResponseID == nil {
			break
		}
		id = *r.body.PreviousResponseID
	}
	slices.Reverse(newest)
	return newest, nil
}

// output returns the output items as JSON, without unfinished function calls.
func (r stored) output() []json.RawMessage {
	var out []json.RawMessage
	for _, i := range r.body.Output {
		if i.Type != object.TypeFunctionCall || i.Status == object.ItemCompleted {
			out = append(out, encode(i))
		}
	}
	return out
}

// resolve replaces references in the input with the items they refer to, from the conversation or from a stored
// response's input or output.
func (s *Service) resolve(ctx context.Context, caller access.Caller, p *params) error {
	for n, i := range p.input {
		if i.kind != object.TypeReference {
			continue
		}
		raw, err := s.find(ctx, caller, p.conversation, i.id)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return domain.Invalid(i.field+".id", "is %s; there is no item with this id", jsonbody.Describe(i.id))
		}
		if err != nil {
			return err
		}
		found := storedItem(raw)
		found.field = i.field
		if err := json.Unmarshal(raw, &found.fields); err != nil {
			return fmt.Errorf("decoding item %s: %w", strconv.Quote(i.id), err)
		}
		p.input[n] = found
	}
	return nil
}

func (s *Service) find(ctx context.Context, caller access.Caller, conversationID, id string) (json.RawMessage, error) {
	if conversationID != "" {
		c, err := s.conversation(ctx, caller, "conversation", conversationID)
		if err != nil {
			return nil, err
		}
		if i, err := s.Store.Item(ctx, c.ID, id); domain.CodeOf(err) != domain.CodeNotFound {
			return json.RawMessage(i.Item), err
		}
	}
	if responseID := object.ResponseOf(id); responseID != "" {
		r, err := s.load(ctx, caller, responseID)
		if err != nil {
			return nil, err
		}
		for _, raw := range append(r.output(), r.input...) {
			if idOf(raw) == id {
				return raw, nil
			}
		}
	}
	return nil, domain.NotFound("item", id)
}

func idOf(raw json.RawMessage) string {
	var v struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &v) // an unreadable item has no id
	return v.ID
}
