package api

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
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
				s.log.Error("failed while exporting conversations", "request", problem.RequestID(ctx), "error", err)
			}
			panic(http.ErrAbortHandler) // the status has been sent: only a cut connection tells the client that the export is incomplete
		}
		return nil
	}), nil
}

// export holds the state of one export of conversations. Only one page of conversations and a few messages are in
// memory at a time.
type export struct {
	server    *server
	workspace string
	key       domain.APIKey // checked before each page, so that the export stops if the key is revoked
	filter    catalog.ConversationFilter
	csv       bool
}

// conversationWriter writes conversations in one format.
type conversationWriter interface {
	open() error
	begin(domain.Conversation) error
	message(domain.Conversation, domain.Message) error
	end() error
	// close writes what follows the last conversation.
	close() error
}

// write writes the given page and all pages after it.
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
		out = &csvExport{w: csv.NewWriter(buffer)}
	}
	if err := out.open(); err != nil {
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
	if err := out.close(); err != nil {
		return err
	}
	return buffer.Flush()
}

func (e export) writeConversation(ctx context.Context, out conversationWriter, v domain.Conversation) error {
	if err := out.begin(v); err != nil {
		return err
	}
	err := e.server.Conversations.EachMessage(ctx, v.ID, func(m domain.Message) error { return out.message(v, m) })
	if err != nil {
		return fmt.Errorf("exporting conversation %s: %w", v.ID, err)
	}
	return out.end()
}

// jsonExport writes an array of ConversationDetail.
type jsonExport struct {
	w        *bufio.Writer
	next     bool // whether a conversation has been written
	messages int  // number of messages written for the current conversation
}

func (j *jsonExport) open() error { return j.text("[") }

func (j *jsonExport) begin(v domain.Conversation) error {
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

func (j *jsonExport) message(_ domain.Conversation, m domain.Message) error {
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

func (j *jsonExport) end() error { return j.text("]}") }

func (j *jsonExport) close() error { return j.text("\n]\n") }

func (j *jsonExport) text(s string) error {
	_, err := j.w.WriteString(s)
	return err
}

// csvExport writes a row for each message (RFC 4180). Line breaks within texts are not changed.
type csvExport struct{ w *csv.Writer }

func (c *csvExport) open() error {
	return c.w.Write([]string{"conversation_id", "agent_id", "visitor_id", "title", "message_id", "created_at", "role", "text", "sources"})
}

func (c *csvExport) begin(domain.Conversation) error { return nil }

func (c *csvExport) message(v domain.Conversation, m domain.Message) error {
	sources := make([]string, len(m.Sources))
	for i, f := range m.Sources {
		sources[i] = fmt.Sprintf("[%d] %s", f.Citation, f.Source)
	}
	row := []string{
		v.PublicID(), v.AgentID, v.VisitorID, v.Title, m.ID, m.CreatedAt.UTC().Format(time.RFC3339Nano), string(m.Role), m.Text, strings.Join(sources, "\n"),
	}
	for i, cell := range row {
		row[i] = escapeFormula(cell)
	}
	return c.w.Write(row)
}

func (c *csvExport) end() error { return nil }

func (c *csvExport) close() error {
	c.w.Flush()
	return c.w.Error()
}

// formula matches text that a spreadsheet program may read as a formula. It looks at the start of the cell, and after
// each character that some programs take for the end of a cell: a program that expects semicolons or tabs between cells
// ignores the quotes that this export puts around its cells. Some programs skip blanks and empty quotes, and accept the
// full-width forms of =, +, - and @.
var formula = regexp.MustCompile(`(^|[,;|\t\r\n])([ "\x{A0}]*[=+\-@＝＋－＠])`)

// escapeFormula puts a ' before each formula in a cell. Otherwise a formula that a visitor wrote in a message would run
// on the machine of the employee who opens the export.
func escapeFormula(cell string) string {
	cell = formula.ReplaceAllString(cell, "${1}'${2}")
	if strings.IndexAny(cell, "\t\r\n") == 0 {
		return "'" + cell
	}
	return cell
}
