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
}

// Chunk is a piece of a document that is indexed and returned as one.
type Chunk struct {
	Ordinal int    // from 0, in reading order
	Text    string // what is returned; at most MaxChunkBytes
	Context string // document title and heading path: indexed beside Text, not returned as text
	Heading string // the heading path, parts joined by " > "
	Page    int    // of the chunk's first block; 0 where the format has none
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
	Source         string  // page address, or file name with #page=N, or metadata "source"
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
