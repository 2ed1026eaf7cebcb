// Package answer turns a question to an agent into an answer with sources: it retrieves fragments, writes the prompt,
// lets a provider answer, checks the citations while the text streams, and keeps the conversation.
//
// Documents are data. They stand in the prompt behind fences that no document can close, marks of their own are made
// harmless, and a citation of something that was not given is taken out of the answer.
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
	"github.com/sluice/sluice/pkg/answer/followup"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Retriever finds fragments.
type Retriever interface {
	Retrieve(ctx context.Context, req retrieve.Request) (retrieve.Result, error)
}

// Datastores finds the datastores of an agent.
type Datastores interface {
	// Datastore fails with domain.CodeNotFound when the workspace has none with this id.
	Datastore(ctx context.Context, workspaceID, id string) (domain.Datastore, error)
}

// Deps are what an Answerer works with. All are needed.
type Deps struct {
	Retriever     Retriever
	Datastores    Datastores
	Conversations Conversations
	Models        chat.Models
	Now           func() time.Time
	NewID         func() string
	Log           *slog.Logger
}

// Options tune an Answerer. The zero value takes the defaults.
type Options struct {
	Timeout       time.Duration // of one answer from question to end; default 5 minutes
	Fragments     int           // retrieved for an answer, 1 to retrieve.MaxTopK; default 10
	ContextTokens int           // of fragments in a prompt; default 3,000
	HistoryTokens int           // of earlier messages in a prompt; default 1,500, negative: none
	MinScore      float64       // a fragment that scores less is not relevant; default DefaultMinScore, negative takes all

	// Composes says that the models write answers of their own. They are asked to make follow-up questions stand alone before
	// these are searched for (else the words of the questions before are added), and for prompts that show them no documents
	// nothing is searched.
	Composes bool

	turnTime time.Duration // of tests; default defaultTurnTime
}

// DefaultMinScore parts relevant fragments from the rest. Measured on collections in several languages, by words alone
// and with the built-in model, it loses up to 4 in 100 questions that a collection answers; of questions put to a
// collection of another subject it turns away 34 to 98 in 100, of questions on much the same subjects 26 to 32.
const DefaultMinScore = 0.25

// storeTimeout is how long storing an exchange may take once its reader has left.
const storeTimeout = 10 * time.Second

// Answer is what an agent says.
type Answer struct {
	Text           string
	ConversationID string // "" of a request that is Unkept
	VisitorID      string

	// Sources are the fragments cited, in order of their numbers, which Citation holds. An answer that cites nothing has
	// those that its words are from, with Citation 0. When the documents have nothing on the question there are none.
	Sources []domain.Fragment

	// Explanation says how the fragments that the model was given were found, and those that were not relevant enough, and
	// what the model took; nil unless it was asked for, and when the agent has no datastores.
	Explanation *domain.Explanation

	Model            string // as the provider names it, "" when no model was asked
	PromptTokens     int64
	CompletionTokens int64
	EmbedTokens      int64 // of the search, estimated
	Cut              bool  // the answer ends where MaxTokens, or the model's own limit, ended it
}

// Answerer answers questions. It is safe for concurrent use.
type Answerer struct {
	deps  Deps
	opts  Options
	turns turns
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
	if opts.turnTime <= 0 {
		opts.turnTime = defaultTurnTime
	}
	return &Answerer{deps: deps, opts: opts}
}

// Answer answers a question. Text is passed to emit as it comes, citations already checked; a nil emit has the answer
// made in one piece. The caller has checked that the agent may be asked.
//
// Questions of one conversation are answered one after the other, also when several processes are asked them. Question
// and answer are stored together when the answer is complete. When emit fails or ctx is cancelled, what has been passed on by then is stored as the answer:
// the reader has seen it and may go on from there. When the provider fails nothing is stored, so that the question can
// be put again.
//
// It fails with domain.CodeInvalid when the request is out of bounds (every fault named), domain.CodeNotFound when the
// conversation is not the agent's and visitor's, domain.CodeUnavailable when an engine or the model cannot be reached
// in time, and with emit's error when emit fails; storing may fail when all of the text has been passed on already.
// ConversationID and VisitorID of the Answer are set as soon as they are known, also when it fails.
func (a *Answerer) Answer(ctx context.Context, req Request, emit func(text string) error) (Answer, error) {
	if err := req.check(); err != nil {
		return Answer{}, err
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
	defer cancel()
	if req.ConversationID != "" {
		release, err := a.turns.take(ctx, req.ConversationID)
		if err != nil {
			return Answer{}, a.timedOut(outer, err)
		}
		defer release()
	}
	s, err := a.open(ctx, req)
	if err != nil {
		return Answer{}, a.timedOut(outer, err)
	}
	defer s.end()
	ans := Answer{VisitorID: s.conversation.VisitorID}
	if !req.Unkept {
		ans.ConversationID = s.conversation.ID
	}
	draft, explanation, err := a.prepare(ctx, req, s, emit != nil)
	ans.Explanation = explanation
	if !draft.prompt.NoDatastores {
		ans.EmbedTokens = int64(chunk.Tokens(draft.prompt.Search))
	}
	ans.PromptTokens, ans.CompletionTokens = draft.rewriting.PromptTokens, draft.rewriting.CompletionTokens
	if err != nil {
		return ans, a.timedOut(outer, err)
	}
	var out outcome
	if draft.grounded && len(draft.prompt.Fragments) == 0 {
		out.delivery = citation.NewDelivery(chat.Prompt{}, emit)
		err = out.delivery.Write(language.PhrasesFor(req.Query, s.history, nil).Nothing)
	} else {
		out, err = a.complete(ctx, req.model(), draft, emit)
	}
	d, done := out.delivery, out.completion
	ans.Model, ans.Cut = done.Model, done.Cut
	ans.PromptTokens += done.PromptTokens
	ans.CompletionTokens += done.CompletionTokens
	if explanation != nil && done.Model != "" {
		explanation.Model = &out.explained
	}
	if err == nil {
		err = d.Finish()
	}
	ans.Text = d.Text.String()
	if !done.Unanswered {
		ans.Sources = d.Sources()
	}
	left := d.Failed != nil || outer.Err() != nil
	if err != nil && (!left || strings.TrimSpace(ans.Text) == "") {
		return ans, a.timedOut(outer, err)
	}
	if req.Unkept {
		return ans, err
	}
	kept, stored := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer stored()
	return ans, errors.Join(err, a.store(kept, s, req.Query, ans.Text, ans.Sources))
}

// timedOut says in words that the answer's own time-out has passed; other errors stay as they are.
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

// prepare retrieves the fragments and gathers what the prompt is written from.
func (a *Answerer) prepare(ctx context.Context, req Request, s session, stream bool) (d draft, e *domain.Explanation, err error) {
	d.style, d.history, d.instructions = req.style(), s.history, req.Instructions
	p := &d.prompt
	*p = chat.Prompt{
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
		stores = nil // a model that is shown no documents answers from none
	}
	p.NoDatastores = len(stores) == 0
	if len(stores) > 0 {
		var rewriters []chat.Model
		if a.opts.Composes {
			rewriters = a.deps.Models.Models(req.model())
		}
		p.Search, d.rewriting = followup.Search(ctx, req.Query, req.model(), s.history, rewriters, a.deps.Log)
		found, err := a.deps.Retriever.Retrieve(ctx, retrieve.Request{
			WorkspaceID: req.Agent.WorkspaceID,
			Datastores:  stores,
			Query:       p.Search,
			TopK:        a.opts.Fragments,
			Filters:     req.Filters,
			Explain:     req.Explain,
		})
		if err != nil {
			return d, nil, fmt.Errorf("retrieving for the answer: %w", err)
		}
		bar := a.opts.MinScore
		if p.Search != req.Query {
			bar *= followUpShare
		}
		p.Fragments = a.relevant(found, bar, language.Codes(p.Search))
		if len(p.Fragments) == 0 && !a.opts.Composes {
			p.Fragments = a.relevant(found, bar*quotableShare, nil)
		}
		p.TermWeights, p.Candidates, e = found.TermWeights, found.Candidates, found.Explanation
	}
	d.grounded = len(stores) > 0 && d.style.grounded()
	return d, e, nil
}

// datastores returns the agent's datastores; one that has been deleted meanwhile is left out.
func (a *Answerer) datastores(ctx context.Context, agent domain.Agent) ([]domain.Datastore, error) {
	var out []domain.Datastore
	for _, id := range agent.DatastoreIDs {
		ds, err := a.deps.Datastores.Datastore(ctx, agent.WorkspaceID, id)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading datastore %s of agent %s: %w", id, agent.ID, err)
		}
		out = append(out, ds)
	}
	return out, nil
}

// followUpShare is how relevant, of what is asked of others, a fragment must be to a follow-up: it was searched for with words
// of the questions before, too, of which it need not have all.
const followUpShare = 0.6

// quotableShare is how relevant, of what is asked of others, a fragment must be at least where no fragment is relevant and nothing
// is composed: what is quoted must hold the words of the question, which the built-in answerer looks at itself, with the score as one
// sign among others. ADR 43.
const quotableShare = 0.4

// relevant keeps the fragments that a stage of the search takes for relevant, from bar on, or that have one of the codes, best
// first, within the budget of tokens.
func (a *Answerer) relevant(found retrieve.Result, bar float64, codes []string) []domain.Fragment {
	var out []domain.Fragment
	budget := a.opts.ContextTokens
	for i, f := range found.Fragments {
		if found.Relevance(i) < bar && !language.HoldsCode(f.Text, codes) {
			continue
		}
		budget -= chunk.Tokens(f.Text)
		if budget < 0 && len(out) > 0 {
			break
		}
		out = append(out, f)
	}
	return out
}
