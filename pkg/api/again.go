package api

import (
	"context"
	"strconv"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// A request with an Idempotency-Key may be carried out again after a run of which nobody knows how far it came: its
// process was killed, or lost the database in a commit. What it makes has ids that follow from the request, so a repeat
// finds what is there and answers with that.

// claimOf is the claim that the request is carried out under, nil when it has no Idempotency-Key.
func claimOf(ctx context.Context) *catalog.Claim {
	claim, _ := ctx.Value(claimKey).(*catalog.Claim)
	return claim
}

// isRepeated reports whether an earlier run of the request may have done all or some of it.
func isRepeated(ctx context.Context) bool {
	claim := claimOf(ctx)
	return claim != nil && claim.Repeated
}

// idFor is the id of what the request makes that the parts name: the same in every run of the request, or a new one when
// the request has no Idempotency-Key.
func (s *server) idFor(ctx context.Context, parts ...string) string {
	if claim := claimOf(ctx); claim != nil {
		return claim.ID(parts...)
	}
	return s.NewID()
}

// once makes something that has an id by idFor, unless an earlier run of the request has made it. find answers
// domain.CodeNotFound when none has.
func once[T any](ctx context.Context, find, create func() (T, error)) (T, error) {
	if isRepeated(ctx) {
		if have, err := find(); domain.CodeOf(err) != domain.CodeNotFound {
			return have, err
		}
	}
	made, err := create()
	if domain.CodeOf(err) == domain.CodeConflict && claimOf(ctx) != nil {
		// Another run of it may go on at the same time: each takes the other for lost.
		if have, notFound := find(); notFound == nil {
			return have, nil
		}
	}
	return made, err
}

// markJob gives the job that is the n-th of the request's an id that tells a repeat that the request was accepted. A
// repeat's own jobs have other ids: one that was accepted before may have been overtaken since, and its events may still
// be on their way.
func markJob(ctx context.Context, job domain.Job, n int) domain.Job {
	if claim := claimOf(ctx); claim != nil && !claim.Repeated {
		job.ID = jobMark(claim, n)
	}
	return job
}

// isMarked reports whether the job is the n-th of an earlier run of the request.
func isMarked(ctx context.Context, jobID string, n int) bool {
	claim := claimOf(ctx)
	return claim != nil && jobID == jobMark(claim, n)
}

func jobMark(claim *catalog.Claim, n int) string { return claim.ID("job", strconv.Itoa(n)) }

// newConversation is the id of the conversation that the request's question begins, "" for any.
func newConversation(ctx context.Context) string { return keyedID(ctx, "conversation") }

// newVisitor is the id of the visitor that the request's question brings, "" for any.
func newVisitor(ctx context.Context) string { return keyedID(ctx, "visitor") }

func keyedID(ctx context.Context, name string) string {
	if claim := claimOf(ctx); claim != nil {
		return claim.ID(name)
	}
	return ""
}

// answered returns the answer that an earlier run of the request has kept in its conversation, nil when there is none. An
// answer that another request got to the same question since is as good.
func (s *server) answered(ctx context.Context, agent domain.Agent, body AgentQuery) (*answer.Answer, error) {
	if !isRepeated(ctx) {
		return nil, nil
	}
	_, who := callerOf(ctx)
	named := s.conversationNamed(ctx, who, agent, body)
	id, visitor := named.id, named.visitor
	if id == "" {
		id = newConversation(ctx)
	}
	v, err := s.Conversations.Conversation(ctx, agent.WorkspaceID, agent.ID, id)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && visitor != "" && visitor != v.VisitorID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const newest = 20 // messages; few questions are asked in the seconds before a repeat
	messages, err := s.Conversations.Messages(ctx, v.ID, newest)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(messages); i++ {
		asked, said := messages[i-1], messages[i]
		if asked.Role == domain.RoleUser && said.Role == domain.RoleAssistant && asked.Text == body.Query &&
			!asked.CreatedAt.Before(claimOf(ctx).Begun) {
			return &answer.Answer{Text: said.Text, ConversationID: v.PublicID(), VisitorID: v.VisitorID, Sources: said.Sources}, nil
		}
	}
	return nil, nil
}
