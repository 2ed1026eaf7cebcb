package domain

// BlockKind says what a block of an extracted document is.
type BlockKind string

// The kinds of block.
const (
	BlockHeading   BlockKind = "heading"
	BlockParagraph BlockKind = "paragraph"
	BlockListItem  BlockKind = "list_item"
	BlockTableRow  BlockKind = "table_row" // one row as text: "column: value; …" or cells parted by tabs
	BlockCode      BlockKind = "code"
)

// Block is a piece of a document's text in reading order. Text is valid UTF-8 without NUL, not empty after trimming.
type Block struct {
	Kind  BlockKind `json:"k"`
	Text  string    `json:"t"`
	Level int       `json:"l,omitempty"` // heading: 1 to 6; list item: nesting from 1
	Page  int       `json:"p,omitempty"` // page or slide from 1; 0 where the format has none
	Sheet string    `json:"s,omitempty"` // spreadsheet: the sheet's name
	// Apart marks a block that does not belong to the headings before it, such as the first block of a slide without a title.
	Apart bool `json:"x,omitempty"`
	Row   int  `json:"r,omitempty"` // row number, from 1, in a spreadsheet, csv or JSON Lines file; 0 elsewhere
	// Offset is where the text starts in the document's text, which is that of all blocks joined by BlockSeparator; bytes.
	Offset int         `json:"o,omitempty"`
	Links  []BlockLink `json:"u,omitempty"` // what its text links to, in reading order; at most MaxBlockLinks
	// Anchor is the fragment, unescaped, that leads to a heading of a web page or, of another block, to the term that the block
	// defines; "" if there is none.
	Anchor string `json:"a,omitempty"`
}

// BlockSeparator parts blocks in a document's text.
const BlockSeparator = "\n\n"

// MaxBlockLinks is the most links that a block keeps.
const MaxBlockLinks = 100

// BlockLink is a part of a block's text that leads elsewhere.
type BlockLink struct {
	Text string `json:"t,omitempty"` // as in the block's text; "" where that is not known
	URL  string `json:"u"`           // as the document has it, made absolute where the document's own address is known
}

// Document is what extraction makes of raw content.
type Document struct {
	Title    string   `json:"title,omitempty"`
	MIMEType string   `json:"mime_type"`          // what the content really was
	Language string   `json:"language,omitempty"` // as declared by the content, BCP 47; "" unknown
	Pages    int      `json:"pages,omitempty"`
	Blocks   []Block  `json:"-"`
	Warnings []string `json:"warnings,omitempty"` // losses, in words for people
	Route    string   `json:"route,omitempty"`    // which parser was taken, for diagnosis
	// Metadata is what the content says of itself, under the Meta keys, or those of its front matter.
	Metadata map[string]string `json:"metadata,omitempty"`
	// LinkList says that the document is a list of links, such as an index or a table of contents, or a source listing that
	// links to its documentation. Other pages have the answers to what it names.
	LinkList bool `json:"link_list,omitempty"`
}

// DocumentInfo is what a datasource keeps of a document beside its text.
type DocumentInfo struct {
	Title    string            `json:"title,omitempty"`
	Language string            `json:"language,omitempty"`
	Pages    int               `json:"pages,omitempty"`
	Route    string            `json:"route,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	LinkList bool              `json:"link_list,omitempty"`
}

// Info is what is kept of the document beside its text; nil when that is nothing.
func (d *Document) Info() *DocumentInfo {
	if d.Title == "" && d.Language == "" && d.Pages == 0 && d.Route == "" && len(d.Metadata) == 0 && !d.LinkList {
		return nil
	}
	return &DocumentInfo{Title: d.Title, Language: d.Language, Pages: d.Pages, Route: d.Route, Metadata: d.Metadata, LinkList: d.LinkList}
}

// Keys of Document.Metadata that all formats share. Times are RFC 3339, or a date alone (2006-01-02).
const (
	MetaAuthor      = "author"        // several are joined by "; "
	MetaCreated     = "created"       // when it was written or first published
	MetaModified    = "modified"      // when it was last changed
	MetaDescription = "description"   // its own summary
	MetaKeywords    = "keywords"      // joined by "; "
	MetaURL         = "canonical_url" // of a page: where it says that it belongs
	MetaSite        = "site"          // of a page: the site's name
)

// Bounds of Document.Metadata. What is over them is left out or cut.
const (
	MaxMetaKeys  = 32
	MaxMetaKey   = 64  // bytes
	MaxMetaValue = 500 // bytes
)

// Chunk is a piece of a document that is indexed and returned as one.
type Chunk struct {
	Ordinal int    // from 0, in reading order
	Text    string // what is returned; at most MaxChunkBytes
	Context string // document title and heading path: indexed beside Text, not returned as text
	Heading string // the heading path under which most of it stands, parts joined by " > ", with the rows of a sheet that it holds
	Anchor  string // the fragment, unescaped, that leads to Heading, or to the term defined there, in the address of a web page; "" if none does
	Page    int    // on which most of it stands; 0 where the format has none
	Offset  int    // bytes from the start of the document's text (blocks joined by "\n\n") to the chunk's start
	Tokens  int    // as the chunker counts them
}

// MaxChunkBytes is the largest chunk text any engine must take (Milvus: 65,535).
const MaxChunkBytes = 65_535

// Fragment is a chunk as a query returns it.
type Fragment struct {
	ChunkID        string
	Text           string
	Score          float64 // 0 to 1, higher is better, comparable within one response
	Source         string  // page address with the heading's anchor, or file name with #page=N, or metadata "source"
	DatastoreID    string
	DatasourceID   string
	DatasourceName string
	CustomID       string
	Page           int
	Heading        string
	Offset         int
	MIMEType       string
	Metadata       map[string]any
	Citation       int // the number used in an answer; 0 outside answers
}
