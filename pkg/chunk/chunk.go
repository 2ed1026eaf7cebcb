// Package chunk splits an extracted document into chunks, which are indexed and returned by searches. A chunk consists
// of whole sentences, about 128 tokens in total. Headings stay with their text, and table rows with their header. Code
// is split by lines. Measurements favoured small chunks: they contain more of the answers in the same amount of
// returned text. A small chunk lacks context, which its title and heading path supply.
//
// Splitting is deterministic: the same document and options always produce the same chunks.
package chunk

import (
	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

// DefaultMaxChunks is the default maximum number of chunks per document.
const DefaultMaxChunks = 200_000

// Options configure splitting. The zero value selects the defaults.
type Options struct {
	TargetTokens int // target chunk size; default as in domain.Chunking
	MaxTokens    int // maximum size, exceeded only by a single long grapheme; default as in domain.Chunking, at least TargetTokens
	MaxChunks    int // documents with more chunks are rejected; default DefaultMaxChunks

	// Sentences splits a text into sentences, in reading order and without overlap. Text between two sentences belongs
	// to the earlier one. Default: the Sentences function.
	Sentences func(text string) []analysis.Span
}

// Chunker splits documents. It is safe for concurrent use.
type Chunker struct {
	opts Options
}

// New returns a Chunker. Zero options get their defaults.
func New(opts Options) *Chunker {
	target, limit := domain.Chunking{TargetTokens: opts.TargetTokens, MaxTokens: opts.MaxTokens}.Sizes()
	opts.TargetTokens, opts.MaxTokens = target, max(target, limit)
	if opts.MaxChunks <= 0 {
		opts.MaxChunks = DefaultMaxChunks
	}
	if opts.Sentences == nil {
		opts.Sentences = Sentences
	}
	return &Chunker{opts: opts}
}

// MIME types of presentations. Sources: ECMA-376, part 1, section 13.2, and OpenDocument, part 3, appendix A.
const (
	typePptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	typeODP  = "application/vnd.oasis.opendocument.presentation"
)

// minHeadingLevel returns the headings' lowest level number, or 0 if there are no headings.
func minHeadingLevel(blocks []domain.Block) int {
	top := 0
	for _, b := range blocks {
		if b.Kind == domain.BlockHeading && (top == 0 || b.Level < top) {
			top = b.Level
		}
	}
	return top
}

// Sized returns a Chunker with the given sizes and otherwise the same options.
func (c *Chunker) Sized(sizes domain.Chunking) *Chunker {
	o := c.opts
	o.TargetTokens, o.MaxTokens = sizes.Sizes()
	return New(o)
}

// Chunks splits the document. The chunks contain all of its text in reading order, except for white space at their
// ends. No chunk crosses one of the document's top-level headings. A document without text has no chunks.
//
// Some text is repeated. If a table with a header spans several chunks, each of them contains the header. If a
// paragraph spans several chunks, each chunk after the first begins with the last sentence of the previous one, unless
// that sentence is long.
//
// A heading shares a chunk with the start of its text. Headings at the end of the document join the chunk before them.
// Headings form a chunk of their own only if the document has no other text or if they leave no space for text.
//
// Chunks fails with domain.CodeTooLarge if the document has more than Options.MaxChunks chunks.
func (c *Chunker) Chunks(doc *domain.Document) ([]domain.Chunk, error) {
	p := packer{opts: c.opts, location: newLocation(doc), top: minHeadingLevel(doc.Blocks), slides: doc.MIMEType == typePptx || doc.MIMEType == typeODP}
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
