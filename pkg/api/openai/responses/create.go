package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/responses/events"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/domain"
)

// create serves POST /v1/responses.
func (s *Service) create(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	p, err := s.read(c)
	if err != nil {
		return err
	}
	release := func() {}
	if p.conversation != "" {
		conversation, err := s.conversation(ctx, caller, "conversation", p.conversation)
		if err != nil {
			return err
		}
		if release, err = s.lock(ctx, conversation.ID); err != nil {
			return err
		}
	}
	r, err := s.prepare(ctx, caller, p)
	if err != nil {
		release()
		return err
	}
	if p.background {
		return s.createBackground(ctx, c, r, release)
	}
	defer release()
	if p.stream {
		if err := admit.OpenStream(ctx, r.request.Agent.WorkspaceID); err != nil {
			return err
		}
		return s.streamNew(ctx, c.Writer, r)
	}
	r.request.Ignored = func(names []string) { openai.Ignored(c, renamed(names)...) }
	done := r.execute(ctx, nil)
	if done.err != nil {
		return done.err
	}
	if err := s.keep(ctx, r, done); err != nil {
		return err
	}
	return openai.Reply(c, r.shown(done.response))
}

// renamed converts the answer package's parameter names to those in the Responses API.
func renamed(names []string) []string {
	known := map[string]string{
		"topP": "top_p", "maxTokens": "max_output_tokens", "presencePenalty": "presence_penalty", "frequencyPenalty": "frequency_penalty",
		"responseFormat": "text.format",
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = cmp.Or(known[name], name)
	}
	return out
}

// Times for a conversation's lock.
const (
	lockTime  = time.Minute
	lockRenew = lockTime / 3
	lockWait  = 5 * time.Second // time limit for renewing or releasing it
)

// lock serialises a conversation's responses, because each must see the items from the previous one. The caller must
// call `release` exactly once.
func (s *Service) lock(ctx context.Context, conversationID string) (release func(), err error) {
	holder := s.NewID()
	// Agent queries lock ids that callers choose, so a caller in another workspace could lock this conversation's id.
	// The prefix prevents that.
	name := conversationKind.ID(conversationID)
	taken, err := s.Store.Lock(ctx, name, holder, lockTime)
	if err != nil {
		return nil, err
	}
	if !taken {
		return nil, &domain.Error{Code: domain.CodeConflict, RetryAfter: time.Second, Message: fmt.Sprintf(
			"another response in conversation %s is still in progress; wait until it has finished", conversationID)}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() {
		beat := time.NewTicker(lockRenew)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				within, cancel := context.WithTimeout(ctx, lockWait)
				_, _ = s.Store.Lock(within, name, holder, lockTime) // the next tick retries
				cancel()
			}
		}
	})
	return func() {
		stop()
		renewing.Wait()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockWait)
		defer cancel()
		_ = s.Store.Unlock(within, name, holder) // if this fails, the lock expires
	}, nil
}

// prepare checks a request and collects everything needed to answer it.
func (s *Service) prepare(ctx context.Context, caller access.Caller, p params) (*run, error) {
	agent, isAgent, err := s.agent(ctx, caller, p)
	if err != nil {
		return nil, err
	}
	if err := s.selectStores(ctx, caller, &agent, p.tools.search); err != nil {
		return nil, err
	}
	if err := s.resolve(ctx, caller, &p); err != nil {
		return nil, err
	}
	before, err := s.earlier(ctx, caller, p)
	if err != nil {
		return nil, err
	}
	d, err := readDialogue(append(before, p.input...))
	if err == nil && caller.Workspace() != agent.WorkspaceID {
		err = checkVisitorDialogue(d)
	}
	if err != nil {
		return nil, err
	}
	if fault := s.Backend.QueryFault(d.question); fault != "" {
		return nil, domain.Invalid(cmp.Or(d.field, "input"), "ends with a message that %s; add long texts to a vector store and use the tool file_search", fault)
	}
	if err := s.checkModel(p, d, isAgent); err != nil {
		return nil, err
	}
	r := &run{service: s, caller: caller, params: p, searches: p.tools.search != nil, request: newRequest(agent, isAgent, p, d)}
	if caller.Workspace() != agent.WorkspaceID {
		agent.Temperature = 1 // do not reveal a setting of another workspace's agent
	}
	r.response = newResponse(responseKind.ID(s.NewID()), s.Now(), agent, p)
	if r.ask, err = s.Backend.Admit(ctx, r.request); err != nil {
		return nil, err
	}
	return r, nil
}

// checkModel rejects parameters that need a chat model if none is configured.
func (s *Service) checkModel(p params, d dialogue, isAgent bool) error {
	if len(s.ChatModels) > 0 {
		return nil
	}
	const why = "this service has no chat model; leave %s out, or ask the operator to set SLUICE_CHAT_MODEL"
	switch {
	case p.format != nil:
		return domain.Invalid("text.format", why, "it")
	case len(p.tools.functions) > 0:
		return domain.Invalid("tools", why, "functions")
	case len(d.after) > 0:
		return domain.Invalid("input", why, "function calls and their results")
	case !isAgent && p.tools.search == nil:
		return domain.Invalid("tools", "do not contain file_search, so no vector store would be searched, and this service has no chat model; add file_search, or send an agent's id as model")
	}
	return nil
}

// agent returns the agent that will answer, and whether the model in the request is an agent in a workspace. If it is a
// chat model, the result is an agent with default settings that exists only for this response.
func (s *Service) agent(ctx context.Context, caller access.Caller, p params) (agent domain.Agent, isAgent bool, err error) {
	if domain.ValidID(strings.ToLower(p.model)) {
		agent, err = s.Backend.Agent(ctx, strings.ToLower(p.model))
		if err == nil && caller.Workspace() != agent.WorkspaceID {
			err = s.checkVisitor(p)
		}
		return agent, true, err
	}
	name, known := s.ChatModels[p.model]
	switch {
	case known:
	case slices.Contains(domain.ModelNames, p.model):
		name = p.model
	case chat.IsHosted(p.model): // programs written for hosted models work unchanged
		name = domain.DefaultModelName
	default:
		why := "there is no model " + jsonbody.Describe(p.model) + "; send the id of an agent or the name of a chat model (GET /v1/models lists them), or one of " + strings.Join(domain.ModelNames, ", ")
		return agent, false, &domain.Error{Code: domain.CodeNotFound, Message: why, Fields: []domain.FieldError{{Field: problem.ModelField, Message: why}}}
	}
	if !caller.MayRead(caller.Workspace()) {
		return agent, false, problem.Forbidden("this key can only query one agent; send that agent's id as model, or use a key with the scope read")
	}
	agent = domain.Agent{WorkspaceID: caller.Workspace(), Name: p.model, ModelName: name, Temperature: 1}
	if p.tools.search == nil {
		agent.PromptTemplate = domain.PlaceholderQuery // omits the instructions about documents
	}
	return agent, false, nil
}

// checkVisitor rejects parameters that only the public agent's own workspace may set.
func (s *Service) checkVisitor(p params) error {
	system := slices.ContainsFunc(p.input, func(i item) bool { return i.role == roleSystem || i.role == roleDeveloper })
	switch {
	case p.instructions != nil || system:
		return domain.Invalid("instructions", "require an API key for the agent's workspace; leave them and system messages out")
	case len(p.tools.shown) > 0:
		return domain.Invalid("tools", "require an API key for the agent's workspace; leave them out")
	}
	return s.Backend.VisitorFault(p.maxTokens)
}

// checkVisitorDialogue applies checkVisitor's rules to stored items: those the input refers to, and the conversation's
// earlier items.
func checkVisitorDialogue(d dialogue) error {
	switch {
	case d.instructions != "":
		return domain.Invalid("input", "follows or refers to system messages, which require an API key for the agent's workspace; leave them out")
	case len(d.after) > 0:
		return domain.Invalid("input", "contains function calls, which require an API key for the agent's workspace; leave them out")
	}
	return nil
}

// selectStores makes the agent search the vector stores named in the request.
func (s *Service) selectStores(ctx context.Context, caller access.Caller, agent *domain.Agent, f *fileSearch) error {
	if f == nil {
		return nil
	}
	var ids []string
	for i, id := range f.stores {
		bare := openai.BareID(id)
		missing := domain.Invalid(fmt.Sprintf("%s[%d]", f.field, i), "is %s; there is no vector store with this id", jsonbody.Describe(id))
		if !domain.ValidID(bare) || !caller.MayRead(agent.WorkspaceID) && !slices.Contains(agent.DatastoreIDs, bare) {
			return missing
		}
		_, err := s.Backend.Datastore(ctx, agent.WorkspaceID, bare)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return missing
		}
		if err != nil {
			return err
		}
		if !slices.Contains(ids, bare) {
			ids = append(ids, bare)
		}
	}
	agent.DatastoreIDs = ids
	return nil
}

// Maximum number of tokens from earlier messages to send to a chat model. It is so high that the model's context window
// is the limit in practice.
const maxChatHistory = 1 << 20

// newRequest returns the question for the answerer.
func newRequest(agent domain.Agent, isAgent bool, p params, d dialogue) answer.Request {
	r := answer.Request{
		Agent: agent, Query: d.question, History: d.before, Continuation: d.after, Ephemeral: true, VisitorID: valueOf(p.user),
		Instructions: strings.TrimSpace(valueOf(p.instructions) + "\n\n" + d.instructions),
		Temperature:  p.temperature, TopP: p.topP, MaxTokens: p.maxTokens, PresencePenalty: p.presence, FrequencyPenalty: p.frequency,
		ResponseFormat: p.format, Tools: p.tools.functions, ToolChoice: p.tools.choice,
	}
	if t := p.temperature; t != nil {
		r.Temperature = new(min(*t, 1)) // OpenAI allows 0 to 2, agents allow 0 to 1
	}
	if !isAgent { // for agents, the operator's limit applies
		r.HistoryTokens, r.Whole = maxChatHistory, p.truncation == "disabled"
	}
	if f := p.tools.search; f != nil {
		r.Fragments, r.MinScore, r.Mode, r.Where = f.results, f.minScore, f.mode, f.where
	}
	return r
}

// newResponse returns the response in its state before any output has been generated.
func newResponse(id string, now time.Time, agent domain.Agent, p params) object.Response {
	r := object.Response{
		ID: id, Object: "response", CreatedAt: now.Unix(), Status: domain.ResponseInProgress, Background: p.background,
		Instructions: p.instructions, MaxOutputTokens: p.maxTokens, MaxToolCalls: p.maxToolCalls, Model: p.model, Output: []object.Item{},
		ParallelToolCalls: p.parallel, PromptCacheKey: p.cacheKey, Reasoning: object.Reasoning{Effort: p.effort, Summary: p.summary},
		SafetyIdentifier: p.safety, ServiceTier: "default", Store: p.store, Temperature: agent.Temperature, TopP: 1, Text: p.text,
		ToolChoice: p.tools.chosen, Tools: p.tools.shown, Truncation: p.truncation, User: p.user, Metadata: p.metadata,
	}
	if p.background {
		r.Status = domain.ResponseQueued
	}
	if p.previous != "" {
		r.PreviousResponseID = &p.previous
	}
	if p.conversation != "" {
		r.Conversation = &object.Reference{ID: p.conversation}
	}
	for to, from := range map[*float64]*float64{&r.Temperature: p.temperature, &r.TopP: p.topP, &r.PresencePenalty: p.presence, &r.FrequencyPenalty: p.frequency} {
		if from != nil {
			*to = *from
		}
	}
	return r
}

// streamNew generates a response and streams its events.
func (s *Service) streamNew(ctx context.Context, w http.ResponseWriter, r *run) error {
	stream := sse.New(w, s.WriteTimeout)
	stop := stream.KeepAlive(s.Heartbeat)
	defer stop()
	writer := &events.Writer{Send: func(all []sse.Event) error { return stream.SendAll(all...) }, Results: r.params.results, After: -1}
	if err := writer.Apply(events.Step{Kind: events.Created, Response: &r.response}); err != nil {
		return err
	}
	done := r.execute(ctx, writer.Apply)
	if err := s.keep(ctx, r, done); err != nil {
		s.Log.ErrorContext(ctx, "cannot store a response", "response", r.response.ID, "error", err)
		if done.err == nil {
			done = r.failed(ctx, done, err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := writer.Apply(events.Step{Kind: events.Ended, Response: &done.response}); err != nil {
		return err
	}
	return stream.Send("", endOfStream)
}

// endOfStream is the last event in a stream. OpenAI's own clients ignore it, but other clients wait for it.
const endOfStream = "[DONE]"

// Time limit for storing a response after the client has disconnected.
const keepTimeout = 10 * time.Second

// keep stores a response that wasn't generated in the background. It also adds the response's items to the
// conversation.
func (s *Service) keep(ctx context.Context, r *run, done outcome) error {
	if !r.params.store && r.params.conversation == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	row, items, err := r.row(done)
	if err != nil {
		return err
	}
	if !r.params.store {
		return s.Store.AppendItems(ctx, row.WorkspaceID, r.conversationID(), items...)
	}
	return s.Store.CreateResponse(ctx, row, r.conversationID(), items...)
}

// row returns the response in its stored format, and the items to add to its conversation. A failed or cancelled
// response adds none.
func (r *run) row(done outcome) (domain.StoredResponse, []domain.ConversationItem, error) {
	row := domain.StoredResponse{
		ID: r.response.ID, WorkspaceID: r.caller.Workspace(), KeyID: r.caller.Key.ID, Status: done.response.Status,
		Background: r.params.background, CreatedAt: r.service.Now(),
	}
	var items []domain.ConversationItem
	input := make([]json.RawMessage, 0, len(r.params.input))
	for i, it := range r.params.input {
		it.fields["id"] = object.InputID(it.kind, r.response.ID, i)
		input = append(input, encode(it.fields))
		items = append(items, domain.ConversationItem{ID: idOf(input[i]), Item: string(input[i])})
	}
	for _, out := range done.response.Output {
		items = append(items, domain.ConversationItem{ID: out.ID, Item: string(encode(out))})
	}
	body, err := json.Marshal(done.response)
	if err != nil {
		return row, nil, fmt.Errorf("encoding the response: %w", err)
	}
	row.Input, row.Body, row.Trace = string(encode(input)), string(body), string(encode(done.trace))
	if s := done.response.Status; s != domain.ResponseCompleted && s != domain.ResponseIncomplete {
		items = nil
	}
	return row, items, nil
}

// conversationID returns the conversation's id without its prefix, or "" if the response belongs to no conversation.
func (r *run) conversationID() string { return openai.BareID(r.params.conversation) }

// shown returns the response as the client sees it.
func (r *run) shown(o object.Response) object.Response {
	if r.params.results {
		return o
	}
	return o.WithoutResults()
}
