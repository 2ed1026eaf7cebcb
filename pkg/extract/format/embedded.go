package format

import (
	"bytes"
	"errors"

	"github.com/sluice/sluice/pkg/domain"
)

// maxEmbedding is the maximum nesting depth of embedded files.
const maxEmbedding = 3

// Embedded reads a file inside the document, under a heading of the given level with the file's name. If the file can't
// be read, it is skipped with a warning that begins with `what`, a description of the file.
func (p *Parser) Embedded(content []byte, name, declared string, level int, what string) error {
	kind := p.Formats.Detect(content[:min(len(content), 4096)], name, declared)
	switch {
	case p.Nesting >= maxEmbedding:
		p.Out.Warn(what + " was skipped: files are nested too deeply")
		return nil
	case len(content) == 0:
		p.Out.Warn(what + " is empty")
		return nil
	case p.pictures != nil && p.Formats.isSinglePicture(kind):
		return p.embeddedPicture(content, name, level)
	case p.Formats.byType(kind) == nil:
		p.Out.Warn(what + " was skipped: " + p.Formats.Unsupported(kind).Message)
		return nil
	}
	var stopped error // error from the document's sink, which ends the whole document
	named := false
	emit := func(b domain.Block) error {
		if !named {
			named = true
			if stopped = p.Out.Heading(level, name, 0); stopped != nil {
				return stopped
			}
		}
		b.Page, b.Sheet, b.Time, b.Offset, b.Apart = 0, "", "", 0, false
		if b.Kind == domain.BlockHeading {
			b.Level = min(b.Level+level, 6)
		}
		stopped = p.Out.Add(b)
		return stopped
	}
	q := *p
	q.Nesting++
	q.Doc = &domain.Document{MIMEType: kind}
	q.Out = &Sink{Emit: emit, Left: p.Out.Left, Max: p.Out.Max, maxBlocks: p.Out.maxBlocks}
	q.Src = Source{Data: bytes.NewReader(content), Size: int64(len(content)), Name: name, Declared: declared, PlainRows: p.Src.PlainRows}
	q.Src.Scans.Hint = "upload it separately" // OCR is only for whole files
	err := p.Formats.read(&q, content[:min(len(content), 4096)])
	for _, w := range q.Out.Warnings {
		p.Out.Warn(what + ": " + w)
	}
	var refused *Error
	switch {
	case err == nil && q.Out.Letters == 0:
		p.Out.Warn(what + " has no text")
	case err == nil:
	case stopped != nil:
		return stopped
	case errors.Is(err, errFound):
		return err
	case p.Ctx.Err() != nil:
		return p.Ctx.Err()
	case errors.As(err, &refused):
		p.Out.Warn(what + " could not be read: " + refused.Message)
	default:
		p.Out.Warn(what + " is damaged or not " + p.Formats.name(kind))
	}
	return nil
}
