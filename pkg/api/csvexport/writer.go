// Package csvexport writes conversation messages as CSV.
package csvexport

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Writer writes one row per message (RFC 4180). It keeps line breaks in messages. All errors come from the underlying
// writer.
type Writer struct{ rows *csv.Writer }

// New returns a Writer to w. It buffers rows until Close.
func New(w io.Writer) *Writer { return &Writer{csv.NewWriter(w)} }

// Open writes the header row.
func (w *Writer) Open() error {
	return w.rows.Write([]string{"conversation_id", "agent_id", "visitor_id", "title", "message_id", "created_at", "role", "text", "sources"})
}

// Begin does nothing, because each row names its conversation.
func (w *Writer) Begin(domain.Conversation) error { return nil }

// Message writes a message's row. The last cell has one line per cited source.
func (w *Writer) Message(v domain.Conversation, m domain.Message) error {
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
	return w.rows.Write(row)
}

// End does nothing.
func (w *Writer) End() error { return nil }

// Close writes the buffered rows. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.rows.Flush()
	return w.rows.Error()
}

// formula matches text that a spreadsheet may read as a formula, either at the start of the cell or after a character
// that some program treats as a cell separator. A program that expects semicolons or tabs ignores this export's quotes.
// Some programs skip blanks and empty quotes, and accept full-width =, +, - and @.
var formula = lazyregexp.New(`(^|[,;|\t\r\n])([ "\x{A0}]*[=+\-@＝＋－＠])`)

// escapeFormula puts a ' before each formula in a cell. Otherwise a formula in a visitor's message would run on the
// machine of anyone who opens the export.
func escapeFormula(cell string) string {
	cell = formula().ReplaceAllString(cell, "${1}'${2}")
	if strings.IndexAny(cell, "\t\r\n") == 0 {
		return "'" + cell
	}
	return cell
}
