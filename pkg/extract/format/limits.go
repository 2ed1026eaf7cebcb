package format

// Limits bound what parsing one document may use or produce. A zero field means its default.
type Limits struct {
	// MaxInput is the largest file read, in bytes. Default 256 MiB.
	MaxInput int64 `json:"max_input"`
	// MaxText is the most text a document may yield, in bytes over all blocks. Default 64 MiB.
	MaxText int64 `json:"max_text"`
	// MaxUnpacked is the most bytes that a container (docx, pptx, xlsx) may unpack to, all parts together.
	// Default 512 MiB.
	MaxUnpacked int64 `json:"max_unpacked"`
	// MaxBlocks is the most blocks (headings, paragraphs, list items, rows) of a document. Default 1,500,000.
	MaxBlocks int `json:"max_blocks"`
	// MaxPages is the most pages or slides read. Default 20,000.
	MaxPages int `json:"max_pages"`
	// MaxCells is the most cells read from one spreadsheet or csv file. Default 5,000,000.
	MaxCells int `json:"max_cells"`
	// CacheDir keeps compiled code of the PDFium fallback between processes. "" compiles it in every child,
	// which costs some seconds and 300 MB for the first PDF that needs it.
	CacheDir string `json:"cache_dir"`
}

// Bounds that no caller sets.
const (
	MaxSheetRows  = 1 << 20   // rows of a sheet, which is what the format allows
	MaxColumns    = 1024      // cells of a row that are read; more is a layout accident or an attack
	MaxZipEntries = 20_000    // entries of a container
	MaxPart       = 128 << 20 // unpacked bytes of one XML part
	MaxDepth      = 512       // nesting of elements, values, lists
	MaxRatio      = 400       // times its size that a container may unpack to, once that is more than minBomb
	MinBomb       = 128 << 20 // unpacked bytes of a container below which any ratio is taken
	MaxBlockBytes = 16 << 10  // longer blocks are split at white space
	MaxURL        = 2 << 10   // bytes of a link's address; longer ones are left out
	MaxLinkText   = 1 << 10   // bytes of a link's text that are kept
	linkShare     = 4         // all links together may have the share of MaxText that 1 in linkShare is
	MaxTitle      = 1 << 10   // bytes of a title
	maxLanguage   = 64        // bytes of a language
	maxWarning    = 300       // bytes of a warning
)

// DefaultLimits are those that hold where a caller sets none.
func DefaultLimits() Limits { return Limits{}.WithDefaults() }

// WithDefaults replaces zero fields by their defaults.
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
