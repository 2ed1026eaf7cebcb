// Package chunk splits an extracted document into the chunks that are indexed and returned. Chunks are whole sentences,
// packed to about 128 tokens. Headings stay with their text, table rows with their header; code is split by lines.
// Measurements favour small chunks: for the same amount of returned text they cover more of the answers than large
// ones. The title and heading path of each chunk provide the context that a small piece lacks.
//
// Splitting is deterministic: the same document and options result in the same chunks.
package chunk

import (
	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

// DefaultMaxChunks is the default maximum number of chunks per document.
const DefaultMaxChunks = 200_000

// Options configure splitting. The zero value selects the defaults.
type Options struct {
	TargetTokens int // target size of chunks; default of domain.Chunking
	MaxTokens    int // maximum size, except for a single longer grapheme; default of domain.Chunking, at least TargetTokens
	MaxChunks    int // a document with more chunks is rejected; default DefaultMaxChunks

	// Sentences returns the sentences of a text in reading order, without overlap. Text between two sentences is added
	// to the first. Default: the function Sentences.
	Sentences func(text string) []analysis.Span
}

// Chunker splits documents. It is safe for concurrent use.
type Chunker struct {
	opts Options
}

// New returns a Chunker. Zero fields of the options are set to their defaults.
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

// typePptx is the MIME type of presentations (ECMA-376, part 1, section 13.2).
const typePptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

// minHeadingLevel returns the smallest level of the headings; 0 if there are none.
func minHeadingLevel(blocks []domain.Block) int {
	top := 0
	for _, b := range blocks {
		if b.Kind == domain.BlockHeading && (top == 0 || b.Level < top) {
			top = b.Level
		}
	}
	return top
}

// Sized returns a chunker with the same options except for the sizes.
func (c *Chunker) Sized(sizes domain.Chunking) *Chunker {
	o := c.opts
	o.TargetTokens, o.MaxTokens = sizes.Sizes()
	return New(o)
}

// Chunks splits the document. The chunks contain all of its text in reading order, except for white space at their
// edges. Two things are repeated: a table's header, above rows that would otherwise have none; and a short last
// sentence, if a chunk ends within a paragraph that is longer than a chunk. No chunk crosses one of the document's
// top-level headings. A document without text has no chunks.
//
// Headings are in the same chunk as the beginning of their text; headings at the end of the document are in the same
// chunk as the preceding text. They are a chunk of their own only if there is no other text or no space, because they
// are as long as a text.
//
// It fails with domain.CodeTooLarge if the document has more than Options.MaxChunks chunks.
func (c *Chunker) Chunks(doc *domain.Document) ([]domain.Chunk, error) {
	p := packer{opts: c.opts, location: newLocation(doc.Title), top: minHeadingLevel(doc.Blocks), slides: doc.MIMEType == typePptx}
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
