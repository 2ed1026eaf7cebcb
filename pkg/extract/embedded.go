package extract

import (
	"bytes"
	"errors"

	"github.com/sluice/sluice/pkg/domain"
)

// maxEmbedding is the maximum nesting depth of embedded files.
const maxEmbedding = 3

// embedded reads a file inside the document, under a heading with its name at the given level. what names the file in
// warnings. A file that cannot be read is skipped with a warning.
func (p *parser) embedded(content []byte, name, declared string, level int, what string) error {
	kind := p.formats.Detect(content[:min(len(content), 4096)], name, declared)
	switch {
	case p.nesting >= maxEmbedding:
		p.out.warn(what + " was left out: files are nested too deeply")
		return nil
	case len(content) == 0:
		p.out.warn(what + " is empty")
		return nil
	case p.formats.byType(kind) == nil:
		p.out.warn(what + " was left out: " + p.formats.unsupported(kind).Message)
		return nil
	}
	var stopped error // error of the document's sink, which ends the reading
	named := false
	emit := func(b domain.Block) error {
		if !named {
			named = true
			if stopped = p.out.heading(level, name, 0); stopped != nil {
				return stopped
			}
		}
		b.Page, b.Sheet, b.Offset, b.Apart = 0, "", 0, false
		if b.Kind == domain.BlockHeading {
			b.Level = min(b.Level+level, 6)
		}
		stopped = p.out.add(b)
		return stopped
	}
	q := *p
	q.nesting++
	q.doc = &domain.Document{MIMEType: kind}
	q.out = &sink{emit: emit, left: p.out.left, max: p.out.max, maxBlocks: p.out.maxBlocks}
	q.src = Source{Data: bytes.NewReader(content), Size: int64(len(content)), Name: name, Declared: declared, PlainRows: p.src.PlainRows}
	err := p.formats.read(&q, content[:min(len(content), 4096)])
	for _, w := range q.out.warnings {
		p.out.warn(what + ": " + w)
	}
	var refused *Error
	switch {
	case err == nil && q.out.letters == 0:
		p.out.warn(what + " has no text")
	case err == nil:
	case stopped != nil:
		return stopped
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case errors.As(err, &refused):
		p.out.warn(what + " could not be read: " + refused.Message)
	default:
		p.out.warn(what + " is damaged: it cannot be read as " + p.formats.name(kind))
	}
	return nil
}
