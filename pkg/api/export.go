package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/csvexport"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// ExportConversations implements StrictServerInterface.
func (s *server) ExportConversations(ctx context.Context, r ExportConversationsRequestObject) (ExportConversationsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	p := r.Params
	e := export{
		server: s, workspace: caller.Workspace(), key: caller.Key,
		filter: conversationFilter(p.AgentId, p.VisitorId, p.From, p.To, p.Query),
		csv:    orZero(p.Format) == ExportConversationsParamsFormatCsv,
	}
	if err := admit.OpenStream(ctx, e.workspace); err != nil {
		return nil, err
	}
	first, next, err := s.Conversations.Conversations(ctx, e.workspace, e.filter, catalog.Page{})
	if err != nil {
		return nil, err // nothing has been written yet, so this is a normal error response
	}
	return responseFunc(func(w http.ResponseWriter) error {
		if err := e.write(ctx, w, first, next); err != nil {
			if !problem.IsClientGone(ctx, err) {
				s.log.Error("exporting conversations failed partway", "request", problem.RequestID(ctx), "error", err)
			}
			panic(http.ErrAbortHandler) // the status has been sent, so only an aborted connection shows that the export is incomplete
		}
		return nil
	}), nil
}

// export is a running export of conversations. It holds only one page of conversations and a few messages in memory.
type export struct {
	server    *server
	workspace string
	key       domain.APIKey // checked before each page: the export stops if the key is revoked
	filter    catalog.ConversationFilter
	csv       bool
}

// conversationWriter writes conversations in one format.
type conversationWriter interface {
	Open() error
	Begin(domain.Conversation) error
	Message(domain.Conversation, domain.Message) error
	End() error
	// Close writes the end of the file.
	Close() error
}

// write writes `page` and all subsequent pages.
func (e export) write(ctx context.Context, w http.ResponseWriter, page []domain.Conversation, next string) error {
	kind, name := "application/json", "conversations.json"
	if e.csv {
		kind, name = "text/csv; charset=utf-8", "conversations.csv"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Cache-Control", "no-store")
	if transfer.IsHead(ctx) {
		return nil
	}
	buffer := bufio.NewWriterSize(transfer.TimedWriter(w, e.server.options.WriteTimeout), 64<<10)
	var out conversationWriter = &jsonExport{w: buffer}
	if e.csv {
		out = csvexport.New(buffer)
	}
	if err := out.Open(); err != nil {
		return err
	}
	for {
		for _, v := range page {
			if err := e.writeConversation(ctx, out, v); err != nil {
				return err
			}
		}
		if next == "" {
			break
		}
		err := e.server.keyring.CheckValid(ctx, e.key)
		if err != nil {
			return err
		}
		if page, next, err = e.server.Conversations.Conversations(ctx, e.workspace, e.filter, catalog.Page{Cursor: next}); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}

func (e export) writeConversation(ctx context.Context, out conversationWriter, v domain.Conversation) error {
	if err := out.Begin(v); err != nil {
		return err
	}
	err := e.server.Conversations.EachMessage(ctx, v.ID, func(m domain.Message) error { return out.Message(v, m) })
	if err != nil {
		return fmt.Errorf("exporting conversation %s: %w", v.ID, err)
	}
	return out.End()
}

// jsonExport writes an array of ConversationDetail.
type jsonExport struct {
	w        *bufio.Writer
	next     bool // whether a conversation has been written
	messages int  // number of messages written for the current conversation
}

func (j *jsonExport) Open() error { return j.text("[") }

func (j *jsonExport) Begin(v domain.Conversation) error {
	encoded, err := json.Marshal(renderConversation(v))
	if err != nil {
		return fmt.Errorf("encoding a conversation: %w", err)
	}
	separator := "\n"
	if j.next {
		separator = ",\n"
	}
	j.next, j.messages = true, 0
	return j.text(separator + strings.TrimSuffix(string(encoded), "}") + `,"messages":[`)
}

func (j *jsonExport) Message(_ domain.Conversation, m domain.Message) error {
	encoded, err := json.Marshal(renderMessage(m))
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if j.messages++; j.messages > 1 {
		if err := j.text(","); err != nil {
			return err
		}
	}
	_, err = j.w.Write(encoded)
	return err
}

func (j *jsonExport) End() error { return j.text("]}") }

func (j *jsonExport) Close() error { return j.text("\n]\n") }

func (j *jsonExport) text(s string) error {
	_, err := j.w.WriteString(s)
	return err
}
