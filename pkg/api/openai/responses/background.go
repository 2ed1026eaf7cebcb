package responses

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/responses/events"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on background responses, per process.
const (
	maxRunning   = 16       // responses being answered
	maxQueued    = 512      // responses queued or being answered
	maxWorkspace = 256      // the same per workspace
	maxHeld      = 64 << 20 // total bytes of input for all queued and running responses
)

// Times for background responses. If a process dies, its unfinished responses count as failed once they haven't been
// renewed for holdTime plus holdGrace.
const (
	holdTime  = 30 * time.Second
	holdRenew = 5 * time.Second // also the longest delay before a cancellation in another process takes effect
	holdGrace = 10 * time.Second
	holdWait  = 4 * time.Second // time limit for renewing
)

// Runner generates background responses. It is safe for concurrent use.
type Runner struct {
	holder string // this process's id
	gate   *admission.Gate
	ctx    context.Context // done when the process stops
	stop   context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	jobs   map[string]*job // by response id
	counts map[string]int  // jobs by workspace
	held   int             // bytes of input for all jobs
	wait   sync.WaitGroup
}

// job is a response that is queued or being generated in this process.
type job struct {
	log    *events.Log
	cancel context.CancelCauseFunc
}

var (
	errStopping  = errors.New("the service is stopping")
	errCancelled = errors.New("the response was cancelled or deleted")
	errPanicked  = errors.New("the service panicked while answering")
)

// NewRunner returns a Runner. `holder` is this process's id. It must be unique among the processes sharing the catalog.
func NewRunner(holder string) *Runner {
	r := &Runner{holder: holder, jobs: map[string]*job{}, counts: map[string]int{}, gate: admission.New(admission.Options{Limit: maxRunning, Waiting: -1, Share: 1, Alone: time.Second})}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// Close stops generating responses. Responses still queued or in progress get the status failed.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errStopping)
	r.wait.Wait()
	return nil
}

// start runs a stored response's job in the background. It fails if too many responses are waiting.
func (r *Runner) start(row domain.StoredResponse, prepare func(j *job) error, do func(ctx context.Context, j *job)) (*job, error) {
	r.mu.Lock()
	switch {
	case r.closed:
		r.mu.Unlock()
		return nil, domain.Errorf(domain.CodeUnavailable, "the service is stopping; try again")
	case len(r.jobs) >= maxQueued || r.counts[row.WorkspaceID] >= maxWorkspace || r.held+len(row.Input) > maxHeld:
		r.mu.Unlock()
		return nil, &domain.Error{Code: domain.CodeUnavailable, RetryAfter: holdRenew, Message: "too many responses are waiting in the background; try again when some have finished"}
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	j := &job{log: events.NewLog(), cancel: cancel}
	r.jobs[row.ID] = j
	r.counts[row.WorkspaceID]++
	r.held += len(row.Input)
	r.wait.Add(1)
	r.mu.Unlock()
	end := func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.jobs, row.ID)
		r.held -= len(row.Input)
		if r.counts[row.WorkspaceID]--; r.counts[row.WorkspaceID] == 0 {
			delete(r.counts, row.WorkspaceID)
		}
		r.wait.Done()
	}
	if err := prepare(j); err != nil {
		end()
		return nil, err
	}
	go func() {
		defer end()
		do(ctx, j)
	}()
	return j, nil
}

// find returns the response's job, or nil if this process is not generating the response.
func (r *Runner) find(id string) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[id]
}

// createBackground stores a response and generates it in the background. `release` unlocks the conversation. It is
// called when the response has ended, or if the response can't be stored.
func (s *Service) createBackground(ctx context.Context, c *gin.Context, r *run, release func()) error {
	if r.params.stream {
		if err := admit.OpenStream(ctx, r.request.Agent.WorkspaceID); err != nil {
			release()
			return err
		}
	}
	row, _, err := r.row(outcome{response: r.response})
	if err != nil {
		release()
		return err
	}
	row.Holder, row.HeldUntil = s.Runner.holder, s.Now().Add(holdTime)
	values := context.WithoutCancel(ctx)
	j, err := s.Runner.start(row, func(j *job) error {
		j.log.Add(events.Step{Kind: events.Created, Response: &r.response})
		j.log.Add(events.Step{Kind: events.Queued})
		return s.Store.CreateResponse(ctx, row, "")
	}, func(stopped context.Context, j *job) {
		defer release()
		ctx, cancel := context.WithCancelCause(values)
		defer cancel(nil)
		defer context.AfterFunc(stopped, func() { cancel(context.Cause(stopped)) })()
		s.background(ctx, cancel, r, row, j)
	})
	if err != nil {
		release()
		return err
	}
	if r.params.stream {
		return s.streamLog(ctx, c.Writer, j.log, r.params.results, -1)
	}
	return openai.Reply(c, r.response)
}

func (s *Service) background(ctx context.Context, cancel context.CancelCauseFunc, r *run, row domain.StoredResponse, j *job) {
	h := &hold{service: s, row: row, status: domain.ResponseQueued, cancel: cancel}
	stop := h.keep(ctx)
	done := outcome{response: r.response}
	slot, ok := s.Runner.gate.Enter(ctx, access.WorkspaceFlow(row.WorkspaceID))
	if ok {
		h.begin(ctx)
		done = r.executeGuarded(ctx, func(steps ...events.Step) error {
			for _, step := range steps {
				j.log.Add(step)
			}
			return nil
		})
		slot.Leave()
	}
	stop()
	if cause := context.Cause(ctx); cause != nil {
		done = r.interrupted(done, cause)
	}
	done.trace = j.log.Traced().Trace
	done = s.finish(ctx, r, row, done)
	j.log.Add(events.Step{Kind: events.Ended, Response: &done.response})
}

// executeGuarded is like execute, but turns a panic into a failed response. Background goroutines have no HTTP handler
// to recover, so a panic would kill the process.
func (r *run) executeGuarded(ctx context.Context, send func(steps ...events.Step) error) (done outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			r.service.Log.ErrorContext(ctx, "panic while answering a response", "response", r.response.ID, "panic", cause, "stack", string(debug.Stack()))
			done = r.failed(ctx, outcome{response: r.response}, errPanicked)
		}
	}()
	return r.execute(ctx, send)
}

// interrupted returns the outcome for a response that was cancelled or cut short because the process is stopping.
func (r *run) interrupted(done outcome, cause error) outcome {
	done.err, done.response.Error = cause, nil
	done.response.Status = domain.ResponseCancelled
	if errors.Is(cause, errStopping) {
		done.response.Status = domain.ResponseFailed
		done.response.Error = &object.Error{Code: codeServer, Message: "the service stopped while answering; send the request again"}
	}
	return done
}

// finish stores a response's result and returns the outcome. If the response has been cancelled or deleted, finish
// stores nothing, and the outcome is a cancelled response.
func (s *Service) finish(ctx context.Context, r *run, row domain.StoredResponse, done outcome) outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	end, items, err := r.row(done)
	if err == nil {
		end.Holder = row.Holder
		var stored bool
		if stored, err = s.Store.FinishResponse(ctx, end, r.conversationID(), items...); err == nil && !stored {
			return r.interrupted(done, errCancelled)
		}
	}
	if err == nil {
		return done
	}
	// The conversation has been deleted or is full, so fail the response and add no items.
	s.Log.ErrorContext(ctx, "cannot store a response", "response", row.ID, "error", err)
	done = r.failed(ctx, done, err)
	if end, _, err = r.row(done); err == nil {
		end.Holder = row.Holder
		_, err = s.Store.FinishResponse(ctx, end, "")
	}
	if err != nil { // the response fails later, because this process no longer holds it
		s.Log.ErrorContext(ctx, "cannot store a failed response", "response", row.ID, "error", err)
	}
	return done
}

// hold tells other processes that this one is generating a background response.
type hold struct {
	service *Service
	row     domain.StoredResponse
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	status domain.ResponseStatus
}

// renew extends the hold. If the response was cancelled or deleted, renew stops its generation.
func (h *hold) renew(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, holdWait)
	defer done()
	h.mu.Lock()
	status := h.status
	h.mu.Unlock()
	held, err := h.service.Store.HoldResponse(ctx, h.row.ID, h.row.Holder, status, h.service.Now().Add(holdTime))
	if err == nil && !held {
		h.cancel(errCancelled)
	}
}

func (h *hold) begin(ctx context.Context) {
	h.mu.Lock()
	h.status = domain.ResponseInProgress
	h.mu.Unlock()
	h.renew(ctx)
}

// keep renews the hold until stop is called.
func (h *hold) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		beat := time.NewTicker(holdRenew)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				h.renew(ctx)
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// streamLog streams a response that this process is generating.
func (s *Service) streamLog(ctx context.Context, w http.ResponseWriter, log *events.Log, results bool, after int) error {
	stream := sse.New(w, s.WriteTimeout)
	stop := stream.KeepAlive(s.Heartbeat)
	defer stop()
	writer := &events.Writer{Send: func(all []sse.Event) error { return stream.SendAll(all...) }, Results: results, After: after}
	for from := 0; ; {
		steps, ended, err := log.Read(ctx, from)
		if err == nil {
			err = writer.Apply(steps...)
		}
		if err != nil {
			return err
		}
		if from += len(steps); ended {
			return stream.Send("", endOfStream)
		}
	}
}
