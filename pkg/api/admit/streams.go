package admit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/domain"
)

// Values of admission.Options.Share for open streams. They keep a single workspace or key from taking all streams.
const (
	shareOfWorkspace = 1 // a workspace may hold as many streams as remain free: half of all if it is alone
	shareOfKey       = 2 // a key may hold a third of all streams
)

// streams counts the open streams. Nil means no limit.
type streams struct {
	limit                      int
	workspaces, keys, visitors *admission.Gate // visitors counts streams without a key, by address
}

func newStreams(limit int) *streams {
	if limit <= 0 {
		return nil
	}
	gate := func(share float64) *admission.Gate {
		return admission.New(admission.Options{Limit: limit, Share: share})
	}
	return &streams{limit: limit, workspaces: gate(shareOfWorkspace), keys: gate(shareOfKey), visitors: gate(shareOfWorkspace)}
}

// open takes one slot from the caller's share of the streams and one from the workspace's. It returns both slots, or an
// error if either share is used up.
func (s *streams) open(ctx context.Context, caller access.Caller, workspace string) ([]*admission.Slot, error) {
	if s == nil {
		return nil, nil
	}
	flow, own, name, who := access.WorkspaceFlow(caller.Workspace()), s.keys, caller.Key.ID, "key"
	if caller.Anonymous {
		flow, own, name, who = access.VisitorFlow(workspace), s.visitors, access.AddressFlow(caller.Remote), "address"
	}
	mine, ok := own.Enter(ctx, name)
	if !ok {
		return nil, s.refusal("this "+who, own.Held(name))
	}
	shared, ok := s.workspaces.Enter(ctx, flow)
	if !ok {
		mine.Leave()
		return nil, s.refusal("this workspace", s.workspaces.Held(flow))
	}
	return []*admission.Slot{mine, shared}, nil
}

func (s *streams) refusal(owner string, open int) error {
	return &domain.Error{
		Code: domain.CodeUnavailable, RetryAfter: time.Duration(retryMin+rand.IntN(retryMax-retryMin+1)) * time.Second,
		Message: fmt.Sprintf("%s already has %d open streams, its share of the limit of %d (SLUICE_LIMIT_OPEN); close some, or try again later", owner, open, s.limit),
	}
}

type permitKey struct{}

// OpenStream must be called before a long response, such as an event stream or a download. It fails if the caller's
// workspace, key or address has used up its share of open streams. For a caller without a key, `workspace` must be the
// public resource's.
func OpenStream(ctx context.Context, workspace string) error {
	ctx, caller := access.CallerOf(ctx)
	p, ok := ctx.Value(permitKey{}).(*permit)
	if !ok || len(p.streams) > 0 {
		return nil
	}
	slots, err := p.server.streams.open(ctx, caller, workspace)
	if err != nil {
		p.server.refused.WithLabelValues(p.class, refusedOpen).Inc()
		return err
	}
	p.streams = slots
	p.unfinished.Leave() // a stream doesn't count as an unfinished request
	p.unfinished = nil
	return nil
}
