package api

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// GetText implements StrictServerInterface.
func (s *server) GetText(ctx context.Context, r GetTextRequestObject) (GetTextResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	var first []domain.Chunk
	if d.ActiveGeneration != 0 {
		if first, err = s.Chunks.Chunks(ctx, d, 0, catalog.MaxPageSize); err != nil {
			return nil, err
		}
	}
	if len(first) == 0 {
		return nil, domain.Errorf(domain.CodeNotFound, "datasource %q has no text; its status is %s", d.ID, d.Status)
	}
	if err := admit.OpenStream(ctx, d.WorkspaceID); err != nil {
		return nil, err
	}
	return responseFunc(func(w http.ResponseWriter) error {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Content-Security-Policy", originalPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "private, no-store")
		if transfer.IsHead(ctx) {
			return nil
		}
		out := documentWriter{out: transfer.TimedWriter(w, s.options.WriteTimeout)}
		err := s.writeText(ctx, &out, d, first)
		if err != nil {
			if !problem.IsClientGone(ctx, err) {
				s.log.Error("sending a datasource's text failed partway", "request", problem.RequestID(ctx), "datasource", d.ID, "error", err)
			}
			panic(http.ErrAbortHandler) // so that no client mistakes a truncated text for a complete one
		}
		return nil
	}), nil
}

// writeText writes a datasource's text, starting with `chunks`, which the caller has already read.
func (s *server) writeText(ctx context.Context, out *documentWriter, d domain.Datasource, chunks []domain.Chunk) error {
	for {
		for _, c := range chunks {
			if err := out.add(c); err != nil {
				return err
			}
		}
		if len(chunks) < catalog.MaxPageSize {
			return nil
		}
		next, err := s.Chunks.Chunks(ctx, d, chunks[len(chunks)-1].Ordinal+1, catalog.MaxPageSize)
		if err != nil {
			return err
		}
		chunks = next
	}
}

// documentWriter writes a document's text from its chunks, which must be in order. It skips text that a later chunk
// repeats.
type documentWriter struct {
	out io.Writer
	at  int // bytes written
}

func (w *documentWriter) add(c domain.Chunk) error {
	runs := c.Runs
	if runs == nil {
		runs = domain.TextRuns{{Document: c.Offset, Length: len(c.Text)}}
	}
	var text strings.Builder
	for _, run := range runs {
		piece := c.Text[run.Text : run.Text+run.Length]
		if again := w.at + text.Len() - run.Document; again > 0 {
			piece = piece[min(again, len(piece)):]
		} else if strings.HasSuffix(text.String(), "\n") {
			text.WriteString(strings.Repeat("\n", -again)) // the chunk has only one line break between rows or items
		} else {
			text.WriteString(spacing(-again))
		}
		text.WriteString(piece)
	}
	w.at += text.Len()
	_, err := io.WriteString(w.out, text.String())
	return err
}

// spacing fills a gap of this many bytes in the text. Sentences are separated by a space and blocks by an empty line.
func spacing(bytes int) string {
	if bytes < len(domain.BlockSeparator) {
		return strings.Repeat(" ", bytes)
	}
	return domain.BlockSeparator + strings.Repeat(" ", bytes-len(domain.BlockSeparator))
}
