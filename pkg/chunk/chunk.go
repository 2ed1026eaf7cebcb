// Package chunk cuts an extracted document into the pieces that are indexed and returned: whole sentences packed
// to about 128 tokens, headings kept with what they head, table rows with their header, code by lines. Small
// chunks win measurably: within the same amount of returned text they cover more of the answers than large ones,
// and the title and heading path that travel with each chunk give back the context that a small piece lacks.
//
// Cutting is deterministic: the same document and options make the same chunks.
package chunk

import (
	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

// DefaultMaxChunks is how many chunks a document may make where Options do not say.
const DefaultMaxChunks = 200_000

// Options says how documents are cut. The zero value takes the defaults.
type Options struct {
	TargetTokens int // chunks are filled up to this many tokens; default that of domain.Chunking
	MaxTokens    int // no chunk holds more, unless a single grapheme does; default that of domain.Chunking, at least TargetTokens
	MaxChunks    int // a document that makes more is refused; default DefaultMaxChunks

	// Sentences returns the sentences of a text in reading order, without overlap; what lies between two of them is
	// counted to the first. Default: the function Sentences.
	Sentences func(text string) []analysis.Span
}

// Chunker cuts documents. It is safe for concurrent use.
type Chunker struct {
	opts Options
}

// New returns a Chunker with the options' zero fields set to their defaults.
func New(opts Options) *Chunker {
	target, most := domain.Chunking{TargetTokens: opts.TargetTokens, MaxTokens: opts.MaxTokens}.Sizes()
	opts.TargetTokens, opts.MaxTokens = target, max(target, most)
	if opts.MaxChunks <= 0 {
		opts.MaxChunks = DefaultMaxChunks
	}
	if opts.Sentences == nil {
		opts.Sentences = Sentences
	}
	return &Chunker{opts: opts}
}

// typePptx is the MIME type of presentations (ECMA-376, part 1, section 13.2).
const typePptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

// highest is the level of the highest headings, 0 when there are none.
func highest(blocks []domain.Block) int {
	top := 0
	for _, b := range blocks {
		if b.Kind == domain.BlockHeading && (top == 0 || b.Level < top) {
			top = b.Level
		}
	}
	return top
}

// Sized is a chunker with the same options that cuts into chunks of the given sizes.
func (c *Chunker) Sized(sizes domain.Chunking) *Chunker {
	o := c.opts
	o.TargetTokens, o.MaxTokens = sizes.Sizes()
	return New(o)
}

// Chunks cuts the document. Together the chunks hold all of its text in reading order, white space at their edges
// excepted. Two things are repeated: a table's header above rows that would otherwise stand without it, and where a chunk
// ends within a paragraph that is too long for one, a short last sentence. No chunk reaches over one of the document's
// highest headings. A document without text makes no chunk.
//
// Headings stand in one chunk with the beginning of what they head; those at the document's end, with what comes
// before. They make a chunk of their own only where there is nothing else or no room: when they are as long as a text.
//
// It fails with domain.CodeTooLarge when the document makes more chunks than Options.MaxChunks.
func (c *Chunker) Chunks(doc *domain.Document) ([]domain.Chunk, error) {
	p := packer{opts: c.opts, place: newPlace(doc.Title), top: highest(doc.Blocks), slides: doc.MIMEType == typePptx}
	offset := 0
	for i, block := range doc.Blocks {
		if i > 0 {
			offset += len(domain.BlockSeparator)
		}
		if err := p.addBlock(block, offset); err != nil {
			return nil, err
		}
		offset += len(block.Text)
	}
	return p.finish()
}
