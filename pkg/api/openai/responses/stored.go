package responses

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/responses/events"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/domain"
)

// getResponse serves GET /v1/responses/{id}, as an event stream if the client asks for one.
func (s *Service) getResponse(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	results, err := queryInclude(c)
	if err != nil {
		return err
	}
	stream, after, err := streamOf(c)
	if err != nil {
		return err
	}
	r, err := s.load(ctx, caller, c.Param("id"))
	if err != nil {
		return err
	}
	if !stream {
		return openai.Reply(c, shown(r.body, results))
	}
	if err := admit.OpenStream(ctx, r.WorkspaceID); err != nil {
		return err
	}
	if j := s.Runner.find(r.ID); j != nil {
		return s.streamLog(ctx, c.Writer, j.log, results, after)
	}
	return s.streamStored(ctx, c.Writer, caller, r, results, after)
}

func shown(r object.Response, results bool) object.Response {
	if results {
		return r
	}
	return r.WithoutResults()
}

// Maximum number of bytes to read from a GET request's body.
const maxGetBody = 1 << 10

// bodyAsksForStream reports whether the body sets `stream`. OpenAI's Go client puts it there even for GET.
func bodyAsksForStream(r *http.Request) bool {
	var body struct {
		Stream bool `json:"stream"`
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxGetBody))
	return err == nil && json.Unmarshal(text, &body) == nil && body.Stream
}

func streamOf(c *gin.Context) (stream bool, after int, err error) {
	after = -1
	switch text := c.Query("stream"); text {
	case "":
		stream = bodyAsksForStream(c.Request)
	case "false":
	case "true":
		stream = true
	default:
		return false, 0, domain.Invalid("stream", "is %s; it must be true or false", jsonbody.Describe(text))
	}
	if text := c.Query("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return false, 0, domain.Invalid("starting_after", "is %s; it must be the sequence number of an event", jsonbody.Describe(text))
		}
		if !stream {
			return false, 0, domain.Invalid("starting_after", "requires stream=true")
		}
	}
	return stream, after, nil
}

// Interval for polling a response that another process is generating.
const pollInterval = time.Second

// streamStored streams a stored response. If another process is still generating the response, streamStored first waits
// for it to finish.
func (s *Service) streamStored(ctx context.Context, w http.ResponseWriter, caller access.Caller, r stored, results bool, after int) error {
	stream := sse.New(w, s.WriteTimeout)
	stop := stream.KeepAlive(s.Heartbeat)
	defer stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !r.Status.Ended() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var err error
		if r, err = s.load(ctx, caller, r.ID); err != nil {
			return err
		}
	}
	var trace events.Trace
	_ = json.Unmarshal([]byte(r.Trace), &trace) // without a trace, each output item is sent whole
	writer := &events.Writer{Send: func(all []sse.Event) error { return stream.SendAll(all...) }, Results: results, After: after}
	for batch := range slices.Chunk(events.Replay(r.body, trace), replayBatch) {
		if err := writer.Apply(batch...); err != nil {
			return err
		}
	}
	return stream.Send("", endOfStream)
}

// Number of steps sent at once when replaying a stored response.
const replayBatch = 200

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// deleteResponse serves DELETE /v1/responses/{id}.
func (s *Service) deleteResponse(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	r, err := s.load(ctx, caller, c.Param("id"))
	if err == nil {
		err = requireChange(caller, r.KeyID)
	}
	if err != nil {
		return err
	}
	if err := s.Store.DeleteResponse(ctx, caller.Workspace(), r.ID); err != nil {
		return err
	}
	if j := s.Runner.find(r.ID); j != nil {
		j.cancel(errCancelled)
	}
	return openai.Reply(c, deleted{r.ID, "response", true})
}

// cancelResponse serves POST /v1/responses/{id}/cancel. A response that has ended does not change.
func (s *Service) cancelResponse(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	r, err := s.load(ctx, caller, c.Param("id"))
	if err == nil {
		err = requireChange(caller, r.KeyID)
	}
	if err != nil {
		return err
	}
	if !r.Background {
		return domain.Invalid("id", "is the id of a foreground response; only responses created with background: true can be cancelled")
	}
	row, err := s.Store.CancelResponse(ctx, caller.Workspace(), r.ID)
	if err != nil {
		return err
	}
	if j := s.Runner.find(r.ID); j != nil && row.Status == domain.ResponseCancelled {
		j.cancel(errCancelled)
	}
	if r, err = s.decode(row); err != nil {
		return err
	}
	return openai.Reply(c, r.body.WithoutResults())
}

// listInput serves GET /v1/responses/{id}/input_items.
func (s *Service) listInput(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	page, err := openai.ReadPage(c.Request.URL.Query(), openai.DefaultLimit, openai.MaxLimit)
	if err != nil {
		return err
	}
	results, err := queryInclude(c)
	if err != nil {
		return err
	}
	r, err := s.load(ctx, caller, c.Param("id"))
	if err != nil {
		return err
	}
	items := r.input
	if !page.Ascending {
		slices.Reverse(items)
	}
	if page.After != "" {
		at := slices.IndexFunc(items, func(raw json.RawMessage) bool { return idOf(raw) == page.After })
		if at < 0 {
			return domain.Invalid("after", "is %s; the response has no input item with this id", jsonbody.Describe(page.After))
		}
		items = items[at+1:]
	}
	more := len(items) > page.Limit
	items = items[:min(len(items), page.Limit)]
	return openai.Reply(c, openai.NewList(shownItems(items, results), more, idOf))
}

// shownItems returns items as clients see them: without file search results, unless these are requested.
func shownItems(items []json.RawMessage, results bool) []json.RawMessage {
	if results {
		return items
	}
	out := slices.Clone(items)
	for i, raw := range out {
		if storedItem(raw).kind != object.TypeFileSearchCall {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) == nil {
			fields["results"] = json.RawMessage("null")
			out[i] = encode(fields)
		}
	}
	return out
}
