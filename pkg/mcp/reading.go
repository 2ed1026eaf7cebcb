package mcp

import (
	"context"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	// Maximum text size of one answer, in bytes: about 25,000 tokens.
	maxPartBytes = 100_000
	// Number of chunks read at a time.
	chunksAtOnce = 100
	// Number of chunks included before the requested passage in a long document.
	chunksBefore = 5
)

// part is the text of a document's chunks [from, to). `of` is the document's total number of chunks.
type part struct {
	text     string
	from, to int
	of       int
}

func (p part) isWhole() bool { return p.from == 0 && p.to >= p.of }

// readDocument reads a datasource's text from the position `where`, up to the size of one answer. If where.around is
// set, the text starts a few chunks before that position or, if the whole document fits into one answer, at the
// beginning of the document.
func readDocument(ctx context.Context, lib Library, where resource) (domain.Datasource, part, error) {
	d, err := lib.Datasource(ctx, where.datasourceID)
	if err != nil {
		return d, part{}, err
	}
	if !hasText(d) {
		return d, part{}, noText(d)
	}
	if where.around && d.TextBytes <= maxPartBytes/2 { // only half, leaving space for overlaps and blank lines
		where.ordinal = 0
	} else if where.around {
		where.ordinal = max(0, where.ordinal-chunksBefore)
	}
	if where.ordinal >= int(d.Chunks) {
		return d, part{}, domain.Errorf(domain.CodeNotFound, "%q has only %d passages, so there is no passage %d; it may have been re-indexed, so search again", d.Name, d.Chunks, where.ordinal+1)
	}
	p := part{from: where.ordinal, to: where.ordinal, of: int(d.Chunks)}
	var text chunkJoiner
	for p.to < p.of {
		chunks, err := lib.Chunks(ctx, d, p.to, chunksAtOnce)
		if err != nil {
			return d, part{}, err
		}
		for _, c := range chunks {
			if text.size()+len(c.Text) > maxPartBytes && p.to > p.from {
				p.text = text.String()
				return d, p, nil
			}
			text.add(c)
			p.to = c.Ordinal + 1
		}
		if len(chunks) == 0 {
			break // the document was re-indexed in the meantime and is now shorter
		}
	}
	p.text = text.String()
	return d, p, nil
}

// hasText reports whether a datasource has searchable text.
func hasText(d domain.Datasource) bool { return d.ActiveGeneration != 0 && d.Chunks > 0 }

// noText returns an error that says why a datasource has no text.
func noText(d domain.Datasource) error {
	switch {
	case d.Type == domain.TypeWebSite:
		return domain.Errorf(domain.CodeNotFound, "%q is a web site, which has no text of its own; use search to find its pages", d.Name)
	case d.Type == domain.TypeArchive:
		return domain.Errorf(domain.CodeNotFound, "%q is an archive, which has no text of its own; use search to find its files", d.Name)
	case d.Error != "":
		return domain.Errorf(domain.CodeNotFound, "%q has no text: %s", d.Name, d.Error)
	default:
		return domain.Errorf(domain.CodeNotFound, "%q has no text yet; its status is %s", d.Name, d.Status)
	}
}

// chunkJoiner joins consecutive chunks. Where a chunk repeats the end of the previous one, it removes the overlap.
type chunkJoiner struct {
	text strings.Builder
	last domain.Chunk
}

func (j *chunkJoiner) size() int { return j.text.Len() }

func (j *chunkJoiner) String() string { return j.text.String() }

func (j *chunkJoiner) add(c domain.Chunk) {
	if j.text.Len() == 0 {
		j.text.WriteString(c.Text)
		j.last = c
		return
	}
	gap := c.Offset - j.last.Offset - len(j.last.Text)
	text := c.Text
	switch again := -gap; {
	case again > 0 && again < len(text) && strings.HasSuffix(j.last.Text, text[:again]):
		text = text[again:]
	case gap == 0 || gap == 1: // same paragraph, with at most one white space character in between
		j.text.WriteString(" "[:gap])
	default:
		j.text.WriteString("\n\n")
	}
	j.text.WriteString(text)
	j.last = c
}
