// Package answer answers questions put to an agent and names the sources. It retrieves fragments, composes the prompt,
// has a provider write the answer, checks the citations while the text streams, and stores the conversation.
//
// Documents are treated as data. In the prompt, they are enclosed in fences they cannot close, and their citation
// markers are neutralised. Citations of fragments that were not in the prompt are removed from the answer.
package answer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/answer/lineends"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Retriever finds fragments.
type Retriever interface {
	Retrieve(ctx context.Context, req retrieve.Request) (retrieve.Result, error)
}

// Datastores finds an agent's datastores.
type Datastores interface {
	// Datastore returns domain.CodeNotFound if the workspace has no datastore with this id.
	Datastore(ctx context.Context, workspaceID, id string) (domain.Datastore, error)
}

// Deps are an Answerer's dependencies. All are required.
type Deps struct {
	Retriever     Retriever
	Datastores    Datastores
	Conversations Conversations
	Models        chat.Models
	Now           func() time.Time
	NewID         func() string
	Log           *slog.Logger
}

// Options configure an Answerer. Zero fields select the defaults.
type Options struct {
	Timeout       time.Duration // time limit for the whole answer; default 5 minutes
	Fragments     int           // fragments retrieved per answer, 1 to retrieve.MaxTopK; default 10
	ContextTokens int           // maximum total tokens of a prompt's fragments; default 3,000
	HistoryTokens int           // maximum total tokens of earlier messages; default 1,500; negative means no messages
	MinScore      float64       // minimum fragment relevance; default DefaultMinScore; negative means no minimum

	// Composes means that models write the answers:
	//
	//   - Before the search, a model rewrites a follow-up question so that it stands alone. If Composes is false,
	//     words from earlier questions are added to the search query instead.
	//   - There is no search if the prompt template has no placeholder for documents.
	//   - If the search finds nothing relevant, a model translates the question into the documents' language for a
	//     second search. If that finds nothing either, the model still answers, unless the agent restricts knowledge.
	Composes bool

	lockTime time.Duration // how long locks last, for tests; default defaultLockTime
}

// DefaultMinScore is the default minimum relevance of a fragment. It was measured on test collections in several
// languages, with lexical search alone and with the built-in model. For at most 4% of the questions that a collection
// answers, no fragment reaches it. Among questions about other subjects, this is the case for 34% to 98%, and among
// questions about similar subjects, for 26% to 32%.
const DefaultMinScore = 0.25

// Time limit for storing an exchange after the client has disconnected.
const storeTimeout = 10 * time.Second

// Answer is an agent's answer.
type Answer struct {
	Text           string
	ConversationID string // "" if the request is Ephemeral
	VisitorID      string

	// Sources are the cited fragments in citation order. If the answer cites nothing, they are the fragments it appears
	// to be based on, with Citation set to 0. If the documents don't answer the question, Sources is empty.
	Sources []domain.Fragment

	// Sentences are the sentences in Text, with the source spans that support them. It is nil if the answer is
	// incomplete or JSON.
	Sentences []domain.AnswerSentence

	// Explanation describes the model's usage and the search, including fragments that weren't relevant enough for the
	// prompt. It is nil if it wasn't requested or the agent has no datastores.
	Explanation *domain.Explanation

	Model            string // the provider's name for the model; "" if no model was called
	PromptTokens     int64
	CompletionTokens int64
	EmbedTokens      int64 // estimated tokens embedded for the search
	Cut              bool  // whether the answer was truncated, at MaxTokens or the model's own limit

	// ToolCalls are the model's calls to the request's tools. If there are any, the exchange isn't stored yet: the
	// caller must send the results in Request.Continuation to get the answer.
	ToolCalls []chat.ToolCall
}

// Answerer answers questions. It is safe for concurrent use.
type Answerer struct {
	deps  Deps
	opts  Options
	locks localLocks
}

// New returns an Answerer.
func New(deps Deps, opts Options) *Answerer {
	if opts.Timeout <= 0 {
		opts.Timeout = 5 * time.Minute
	}
	if opts.Fragments <= 0 {
		opts.Fragments = 10
	}
	opts.Fragments = min(opts.Fragments, retrieve.MaxTopK)
	if opts.ContextTokens <= 0 {
		opts.ContextTokens = 3000
	}
	if opts.HistoryTokens == 0 {
		opts.HistoryTokens = 1500
	}
	if opts.MinScore == 0 {
		opts.MinScore = DefaultMinScore
	}
	if opts.lockTime <= 0 {
		opts.lockTime = defaultLockTime
	}
	return &Answerer{deps: deps, opts: opts}
}

// Answer answers a question. It passes text with checked citations to emit as it arrives, or requests the whole answer
// at once if emit is nil. The caller must have checked access to the agent.
//
// Questions in a conversation are answered one at a time, even across processes. A question is stored together with its
// complete answer. If emit fails or ctx is cancelled, the text emitted so far is stored as the answer, because the
// reader has seen it and may continue from there. If the provider fails, nothing is stored, and the question can be
// asked again.
//
// Answer returns domain.CodeInvalid for an invalid request, domain.CodeNotFound if the conversation does not belong to
// the agent and visitor, and domain.CodeUnavailable if an engine or the model does not respond in time. It returns
// errors from emit unchanged. If the exchange can't be stored, Answer fails even though all text has been emitted.
// ConversationID and VisitorID are set whenever they are known, even if there is an error.
func (a *Answerer) Answer(ctx context.Context, req Request, emit func(text string) error) (Answer, error) {
	if err := req.check(); err != nil {
		return Answer{}, err
	}
	if err := req.checkModel(); err != nil && !a.opts.Composes {
		return Answer{}, err
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
	defer cancel()
	if req.ConversationID != "" {
		release, err := a.locks.acquire(ctx, req.ConversationID)
		if err != nil {
			return Answer{}, a.timedOut(outer, err)
		}
		defer release()
	}
	s, err := a.openSession(ctx, req)
	if err != nil {
		return Answer{}, a.timedOut(outer, err)
	}
	defer s.end()
	ans := Answer{VisitorID: s.conversation.VisitorID}
	if !req.Ephemeral {
		ans.ConversationID = s.conversation.ID
	}
	draft, explanation, err := a.prepare(ctx, req, s, emit != nil)
	ans.Explanation = explanation
	ans.EmbedTokens = draft.embedTokens
	ans.PromptTokens, ans.CompletionTokens = draft.rewriting.PromptTokens, draft.rewriting.CompletionTokens
	if err != nil {
		return ans, a.timedOut(outer, err)
	}
	var out outcome
	if draft.declined {
		out.delivery = citation.NewDelivery(draft.prompt, emit)
		out.stopped, err = decline(out.delivery, req.Query, s.history)
	} else {
		out, err = a.complete(ctx, req.model(), draft, emit)
	}
	d, done := out.delivery, out.completion
	ans.ToolCalls = done.ToolCalls
	ans.Model, ans.Cut = done.Model, done.Cut
	ans.PromptTokens += done.PromptTokens
	ans.CompletionTokens += done.CompletionTokens
	if explanation != nil && done.Model != "" {
		explanation.Model = &out.explained
	}
	if err == nil {
		err = d.Finish()
	}
	if err == nil && !out.stopped && len(done.ToolCalls) == 0 && strings.TrimSpace(d.Text.String()) == "" {
		// The model wrote only citations, which were removed.
		done.NoAnswer = true
		if _, err = decline(d, req.Query, s.history); err == nil {
			err = d.Finish()
		}
	}
	ans.Text = d.Text.String()
	if !done.NoAnswer {
		ans.Sources = d.Sources()
	}
	left := d.Failed != nil || outer.Err() != nil
	if err != nil && (!left || strings.TrimSpace(ans.Text) == "") {
		return ans, a.timedOut(outer, err)
	}
	ans.Text = lineends.Normalize(ans.Text)
	if err == nil && req.ResponseFormat == nil {
		ans.Judge(req.Agent)
	}
	if req.Ephemeral || len(ans.ToolCalls) > 0 {
		return ans, err
	}
	kept, stored := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer stored()
	return ans, errors.Join(err, a.store(kept, s, req.Query, ans))
}

// decline says, in the question's language, that the documents do not answer it. It returns true if a stop sequence
// ended the text.
func decline(d *citation.Delivery, question string, history []chat.Turn) (stopped bool, err error) {
	err = d.Write(language.PhrasesFor(question, history, nil).NoAnswer)
	if errors.Is(err, citation.ErrStopped) {
		return true, nil
	}
	return false, err
}

// timedOut replaces err with a readable error if the answer's time limit has passed. outer is the caller's context,
// which doesn't have that limit.
func (a *Answerer) timedOut(outer context.Context, err error) error {
	if outer.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || domain.CodeOf(err) != domain.CodeInternal {
		return err
	}
	return &domain.Error{
		Code:    domain.CodeUnavailable,
		Message: fmt.Sprintf("the answer took longer than %s; try again", a.opts.Timeout),
		Err:     err,
	}
}

// prepare retrieves the fragments and collects everything for the prompt.
func (a *Answerer) prepare(ctx context.Context, req Request, s session, stream bool) (d promptDraft, e *domain.Explanation, err error) {
	d.style, d.history, d.instructions, d.ignored = req.style(), s.history, req.Instructions, req.reportIgnored
	d.continuation, d.onCall, d.whole = req.Continuation, req.OnCall, req.Whole
	d.drops = req.Agent.UnsupportedMode() == domain.DropUnsupported
	d.prompt = chat.Prompt{
		Model:    req.model(),
		Stream:   stream,
		Params:   req.params(),
		Question: req.Query,
		Search:   req.Query,
	}
	stores, err := a.datastores(ctx, req.Agent)
	if err != nil {
		return d, nil, err
	}
	if a.opts.Composes && !d.style.grounded() {
		stores = nil // a model that sees no documents needs no search
	}
	if d.prompt.NoDatastores = len(stores) == 0; d.prompt.NoDatastores {
		return d, nil, nil
	}
	e, err = a.search(ctx, req, stores, &d)
	d.declined = len(d.prompt.Fragments) == 0 && d.style.grounded() && (!a.opts.Composes || req.Agent.RestrictsKnowledge()) && len(req.Tools) == 0
	return d, e, err
}
