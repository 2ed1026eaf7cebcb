package domain

import (
	"math"
	"strings"
)

// BlockKind is a block's kind.
type BlockKind string

// Kinds of blocks.
const (
	BlockHeading   BlockKind = "heading"
	BlockParagraph BlockKind = "paragraph"
	BlockListItem  BlockKind = "list_item"
	BlockTableRow  BlockKind = "table_row" // a row as text: "column: value; …" or tab-separated cells
	BlockCode      BlockKind = "code"
)

// Block is one paragraph, heading or similar unit of a document, in reading order. Text is valid UTF-8 without NUL and
// is not just white space.
type Block struct {
	Kind  BlockKind `json:"k"`
	Text  string    `json:"t"`
	Level int       `json:"l,omitempty"` // heading: 1 to 6; list item: nesting level from 1
	Page  int       `json:"p,omitempty"` // page or slide from 1; 0 if the format has none
	Sheet string    `json:"s,omitempty"` // name of the sheet in a spreadsheet
	// Apart means that earlier headings do not apply to this block, for example because it starts a slide without a
	// title.
	Apart bool `json:"x,omitempty"`
	Row   int  `json:"r,omitempty"` // row number, from 1, in a spreadsheet, CSV or JSON Lines file; 0 elsewhere
	// Time is when the text is spoken in a recording, as HH:MM:SS. Only blocks from subtitles have it.
	Time string `json:"m,omitempty"`
	// Offset is the block's byte offset in the document's text, which is all blocks' text joined by BlockSeparator.
	Offset int         `json:"o,omitempty"`
	Links  []BlockLink `json:"u,omitempty"` // links in the text, in reading order; at most MaxBlockLinks
	// Anchor is the unescaped URL fragment of the heading (on a web page) or of the term that the block defines, or "".
	Anchor string `json:"a,omitempty"`
	// Confidence is the mean confidence, from 0 to 1, if the text was recognised in a picture within the document (OCR). It
	// is 0 for other text.
	Confidence float64 `json:"c,omitempty"`
}

// TimeAnchor starts the URL fragment for a time in a recording ("t=00:12:31"), as defined by W3C Media Fragments.
const TimeAnchor = "t="

// BlockSeparator separates the blocks in a document's text.
const BlockSeparator = "\n\n"

// JoinBlocks joins the blocks into human-readable text. Consecutive table rows and list items are on adjacent lines;
// other blocks are separated by empty lines.
func JoinBlocks(blocks []Block) string {
	var text strings.Builder
	for i, b := range blocks {
		if i > 0 {
			separator := BlockSeparator
			if before := blocks[i-1]; before.Kind == b.Kind && (b.Kind == BlockTableRow || b.Kind == BlockListItem) {
				separator = "\n"
			}
			text.WriteString(separator)
		}
		text.WriteString(b.Text)
	}
	return text.String()
}

// MaxBlockLinks is the maximum number of links per block.
const MaxBlockLinks = 100

// BlockLink is a link in a block's text.
type BlockLink struct {
	Text string `json:"t,omitempty"` // as in the block's text; "" if unknown
	URL  string `json:"u"`           // as in the document, but absolute if the document's address is known
}

// Document is the result of extraction.
type Document struct {
	Title    string   `json:"title,omitempty"`
	MIMEType string   `json:"mime_type"`          // detected type
	Language string   `json:"language,omitempty"` // as declared by the content (BCP 47); "" if unknown
	Pages    int      `json:"pages,omitempty"`
	Blocks   []Block  `json:"-"`
	Warnings []string `json:"warnings,omitempty"` // parts that could not be read, worded for users
	Route    string   `json:"route,omitempty"`    // parser used, for diagnosis
	// Metadata is metadata found in the content. Its keys are the Meta constants or come from the front matter.
	Metadata map[string]string `json:"metadata,omitempty"`
	// LinkList says that the document is mainly a list of links, such as an index, a table of contents, or a source
	// listing that links to its documentation. Answers are on the linked pages instead.
	LinkList bool `json:"link_list,omitempty"`
	// Recognised maps each page whose text was recognised in a picture (OCR) to the mean confidence, from 0 to 1.
	Recognised map[int]float64 `json:"recognised,omitempty"`
	// Unread lists pictures in the document whose text still has to be recognised.
	Unread []Picture `json:"unread,omitempty"`
}

// Picture is a picture within a document, such as a screenshot.
type Picture struct {
	Number int    `json:"n"` // from 1, counting different pictures
	Key    string `json:"k"` // equal for equal pictures
	Places int    `json:"p"` // number of times that the document shows the picture
}

// SetRecognised records the mean confidence for a page whose text was recognised in a picture.
func (d *Document) SetRecognised(page int, confidence float64) {
	if d.Recognised == nil {
		d.Recognised = map[int]float64{}
	}
	d.Recognised[page] = math.Round(confidence*confidenceSteps) / confidenceSteps
}

const (
	confidenceSteps    = 1000   // confidences are rounded to a multiple of 1/confidenceSteps
	maxRecognisedPages = 10_000 // maximum number of entries in DocumentInfo.Recognised, because it is part of an event
)

// DocumentInfo holds the document properties that a datasource stores.
type DocumentInfo struct {
	Title    string            `json:"title,omitempty"`
	Language string            `json:"language,omitempty"`
	Pages    int               `json:"pages,omitempty"`
	Route    string            `json:"route,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	LinkList bool              `json:"link_list,omitempty"`
	// Recognised is Document.Recognised, or nil if that has more than maxRecognisedPages entries.
	Recognised map[int]float64 `json:"recognised,omitempty"`
	// InPictures are up to maxRecognisedPages sections of the text that were recognised in pictures, in order.
	InPictures []RecognisedText `json:"in_pictures,omitempty"`
}

// RecognisedText is a section of a document's text that was recognised in a picture.
type RecognisedText struct {
	Offset     int     `json:"o"` // in the document's text
	Length     int     `json:"n"`
	Confidence float64 `json:"c"` // mean, from 0 to 1
}

// Info returns the document's properties, or nil if it has none.
func (d *Document) Info() *DocumentInfo {
	pictures := d.inPictures()
	if d.Title == "" && d.Language == "" && d.Pages == 0 && d.Route == "" && len(d.Metadata) == 0 && !d.LinkList && len(d.Recognised)+len(pictures) == 0 {
		return nil
	}
	info := &DocumentInfo{Title: d.Title, Language: d.Language, Pages: d.Pages, Route: d.Route, Metadata: d.Metadata, LinkList: d.LinkList, InPictures: pictures}
	if len(d.Recognised) <= maxRecognisedPages {
		info.Recognised = d.Recognised
	}
	return info
}

// inPictures returns the sections of the text that were recognised in pictures. Adjacent blocks with equal confidence
// form one section.
func (d *Document) inPictures() (found []RecognisedText) {
	for _, b := range d.Blocks {
		if b.Confidence <= 0 {
			continue
		}
		confidence := math.Round(b.Confidence*confidenceSteps) / confidenceSteps
		if n := len(found); n > 0 {
			last := &found[n-1]
			if last.Confidence == confidence && last.Offset+last.Length+len(BlockSeparator) == b.Offset {
				last.Length = b.Offset + len(b.Text) - last.Offset
				continue
			}
			if n == maxRecognisedPages {
				break
			}
		}
		found = append(found, RecognisedText{Offset: b.Offset, Length: len(b.Text), Confidence: confidence})
	}
	return found
}

// Confidence returns the mean OCR confidence, from 0 to 1, of a passage's text that was recognised in pictures, or
// false if there is none. runs and offset locate the passage in the document's text, length is its size in bytes, and
// page is its page. The document may be nil.
func (d *DocumentInfo) Confidence(page int, runs TextRuns, offset, length int) (float64, bool) {
	if d == nil {
		return 0, false
	}
	if c, ok := d.Recognised[page]; ok {
		return c, true
	}
	if len(d.InPictures) == 0 {
		return 0, false
	}
	if len(runs) == 0 {
		runs = TextRuns{{Document: offset, Length: length}}
	}
	sum, total := 0.0, 0
	for _, run := range runs {
		for _, t := range d.InPictures {
			if n := min(run.Document+run.Length, t.Offset+t.Length) - max(run.Document, t.Offset); n > 0 {
				total += n
				sum += float64(n) * t.Confidence
			}
		}
	}
	return sum / float64(max(total, 1)), total > 0
}

// Keys in Document.Metadata that are common to all formats. Times are in RFC 3339 format or plain dates (2006-01-02).
const (
	MetaAuthor      = "author"        // multiple authors are joined by "; "
	MetaCreated     = "created"       // time of writing or first publication
	MetaModified    = "modified"      // time of the last change
	MetaDescription = "description"   // summary in the document
	MetaKeywords    = "keywords"      // joined by "; "
	MetaURL         = "canonical_url" // a page's canonical address
	MetaSite        = "site"          // the name of a page's site
)

// Limits on Document.Metadata. Excess entries are dropped, and longer values are truncated.
const (
	MaxMetaKeys  = 32
	MaxMetaKey   = 64  // bytes
	MaxMetaValue = 500 // bytes
)

// Chunk is a section of a document that is indexed and returned as a unit.
type Chunk struct {
	Ordinal int    // from 0, in reading order
	Text    string // returned to callers; at most MaxChunkBytes
	// Context is indexed with Text but not returned with it. It begins with the document's title, the parties to a
	// contract, the heading path and section labels. After a ContextSeparator, text for keyword search only may follow:
	// a table's caption and defined terms.
	Context string
	Heading string // heading path that applies to most of the chunk, joined by " > "; for a sheet, also the chunk's row numbers ("Prices > rows 4 to 5"); for subtitles, the time at which the chunk begins
	Anchor  string // unescaped URL fragment for Heading, for the term the chunk defines, or for its time; may be ""
	Page    int    // page that contains most of the chunk; 0 if the format has no pages
	Offset  int    // byte offset of the chunk in the document's text (blocks joined by "\n\n")
	Tokens  int    // number of tokens as counted by the chunker

	// Runs map sections of Text to their positions in the document's text. They are nil if the positions are unknown,
	// as in chunks indexed by older versions.
	Runs TextRuns
}

// ContextSeparator separates the two halves of Chunk.Context.
const ContextSeparator = "\n"

// MaxChunkBytes is the maximum size of a chunk's text in bytes. It is Milvus's limit; every engine must accept such
// texts.
const MaxChunkBytes = 65_535

// Fragment is a passage in a query's result.
type Fragment struct {
	ChunkID        string
	Text           string
	Score          float64 // 0 to 1, higher is better, comparable within one response
	Source         string  // page address with the heading's anchor, file name with #page=N or #t=HH:MM:SS, or the metadata "source"
	DatastoreID    string
	DatasourceID   string
	DatasourceName string
	CustomID       string
	FileID         string `json:",omitempty"` // File of the datasource; "" if it was created without one
	Page           int
	Heading        string
	Offset         int
	MIMEType       string
	Metadata       map[string]any
	Citation       int // its number if an answer cites it; otherwise 0

	Runs       TextRuns    `json:",omitempty"` // as in Chunk
	Highlights []TextRange `json:",omitempty"` // ranges of Text that support an answer, in order; otherwise nil
	// Rectangles locate the text on a PDF's pages. They are nil unless requested.
	Rectangles []PageRectangle `json:",omitempty"`
}
