package format

// Limits bounds the resources for reading one document and the size of the result. Zero fields get their defaults.
type Limits struct {
	// MaxInput is the maximum size of a file, in bytes. Default 256 MiB.
	MaxInput int64 `json:"max_input"`
	// MaxText is the maximum total size of the blocks' text, in bytes. Default 64 MiB.
	MaxText int64 `json:"max_text"`
	// MaxUnpacked is the maximum total unpacked size of the parts of a container (docx, pptx, xlsx), in bytes. Default
	// 512 MiB.
	MaxUnpacked int64 `json:"max_unpacked"`
	// MaxBlocks is the maximum number of blocks (headings, paragraphs, list items, rows) in a document. Default
	// 1,500,000.
	MaxBlocks int `json:"max_blocks"`
	// MaxPages is the maximum number of pages or slides that are read. Default 20,000.
	MaxPages int `json:"max_pages"`
	// MaxCells is the maximum number of cells that are read from one spreadsheet or CSV file. Default 5,000,000.
	MaxCells int `json:"max_cells"`
	// CacheDir is the folder for PDFium's compiled code. All processes share it. If it is not set, every child
	// recompiles PDFium for the first PDF that needs it. That takes a few seconds and 300 MB.
	CacheDir string `json:"cache_dir"`
}

// Limits that callers cannot change.
const (
	MaxSheetRows    = 1 << 20   // rows in a sheet; the format allows no more
	MaxColumns      = 1024      // cells read per row; longer rows indicate a broken layout or an attack
	MaxZipEntries   = 20_000    // entries in a container
	MaxPart         = 128 << 20 // unpacked bytes of one XML part
	MaxDepth        = 512       // nesting depth of elements, values and lists
	MaxRatio        = 400       // a container's unpacked size divided by its packed size; applies only above MinBomb
	MinBomb         = 128 << 20 // unpacked bytes of a container up to which any ratio is accepted
	MaxBlockBytes   = 16 << 10  // bytes of a block; longer blocks are split at white space
	MaxURL          = 2 << 10   // bytes in a link's address; links with longer addresses are dropped
	MaxLinkText     = 1 << 10   // bytes to keep of a link's text
	maxLinkFraction = 4         // MaxText divided by the maximum total size of all links
	MaxTitle        = 1 << 10   // bytes of a title
	maxLanguage     = 64        // bytes of a language tag
	maxWarning      = 300       // bytes of a warning
)

// DefaultLimits returns the limits that apply if the caller sets none.
func DefaultLimits() Limits { return Limits{}.WithDefaults() }

// WithDefaults returns the limits with zero fields replaced by their defaults.
func (l Limits) WithDefaults() Limits {
	set := func(v *int64, def int64) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&l.MaxInput, 256<<20)
	set(&l.MaxText, 64<<20)
	set(&l.MaxUnpacked, 512<<20)
	if l.MaxBlocks <= 0 {
		l.MaxBlocks = 1_500_000
	}
	if l.MaxPages <= 0 {
		l.MaxPages = 20_000
	}
	if l.MaxCells <= 0 {
		l.MaxCells = 5_000_000
	}
	return l
}
