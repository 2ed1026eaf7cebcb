package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// snapshot is the in-memory state of a space at one version of its database. It is immutable once published.
type snapshot struct {
	vectorSet
	version     int64
	changed     int64 // version since which the rows are the same; after opening, the version that was opened
	model       string
	length      int64 // terms of all live rows
	langs       map[analysis.Language]int64
	nextSegment int64
	nextBlock   int64
	segments    []segment
	placed      bool // there are hit records
	places      slotView
}

// stateBody is the part of a snapshot that the table state holds.
type stateBody struct {
	Format      int                         `json:"format"`
	Model       string                      `json:"model"`
	Dimensions  int                         `json:"dimensions"`
	Slots       uint32                      `json:"slots"`
	Rows        int64                       `json:"rows"`
	Length      int64                       `json:"length"`
	Langs       map[analysis.Language]int64 `json:"langs"`
	NextSegment int64                       `json:"next_segment"`
	NextBlock   int64                       `json:"next_block"`
	Segments    [][4]int64                  `json:"segments"` // id, rows, first block, number of blocks
	Epoch       int                         `json:"epoch,omitempty"`
	CodedAt     uint32                      `json:"coded_at,omitempty"`
	Centre      []byte                      `json:"centre,omitempty"`
	// Fine says that there are fine codes of the same epoch beside the codes. It is not told by a program that keeps none, so what
	// it has written has none.
	Fine bool `json:"fine,omitempty"`
	// Placed is not told by a program that keeps no places, so what it has written has none.
	Placed bool `json:"placed,omitempty"`
	// Cells are of the codes of an epoch.
	Cells *cellsBody `json:"cells,omitempty"`
}

func (s *snapshot) encode() ([]byte, error) {
	segments := make([][4]int64, 0, len(s.segments))
	for _, seg := range s.segments {
		segments = append(segments, [4]int64{seg.id, seg.rows, seg.firstBlock, seg.blocks})
	}
	body, err := json.Marshal(stateBody{
		Format: formatVersion, Model: s.model, Dimensions: s.dimensions, Slots: s.slots, Rows: s.rows, Length: s.length,
		Langs: s.langs, NextSegment: s.nextSegment, NextBlock: s.nextBlock, Epoch: s.epoch, CodedAt: s.codedAt,
		Centre: bytesOf(s.centre), Segments: segments, Placed: s.placed, Fine: s.coded(), Cells: s.cells.body(s.written),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the state: %w", err)
	}
	return seal(s.version, body), nil
}

func (s *snapshot) decode(data []byte) error {
	data, err := unseal(s.version, data, "the state")
	if err != nil {
		return err
	}
	var b stateBody
	if err := json.Unmarshal(data, &b); err != nil {
		return fmt.Errorf("%w: reading the state: %w", index.ErrCorrupt, err)
	}
	if b.Format < signsFormat || b.Format > formatVersion {
		return fmt.Errorf("the index has format %d, this program reads format %d: use the version of the program that wrote it, "+
			"or remove the datastore's directory below index in the data directory, to have it built anew", b.Format, formatVersion)
	}
	s.model, s.dimensions, s.slots, s.rows, s.length, s.langs = b.Model, b.Dimensions, b.Slots, b.Rows, b.Length, b.Langs
	s.nextSegment, s.nextBlock, s.epoch, s.placed = b.NextSegment, b.NextBlock, b.Epoch, b.Placed
	if b.Format == formatVersion && b.Fine { // else the centre is that of other codes, or of codes without fine ones
		s.centre, s.codedAt = slices.Clone(floatsOf(b.Centre)), b.CodedAt
	}
	if b.Cells != nil {
		s.cells, s.written = b.Cells.cells(), b.Cells.Tail
	}
	for _, seg := range b.Segments {
		s.segments = append(s.segments, segment{seg[0], seg[1], seg[2], seg[3]})
	}
	return nil
}

// next starts the snapshot of the following version.
func (s *snapshot) next() *snapshot {
	n := *s
	n.version++
	n.langs = maps.Clone(s.langs)
	if n.langs == nil {
		n.langs = make(map[analysis.Language]int64)
	}
	n.segments = slices.Clone(s.segments)
	return &n
}

// languages lists those of the live rows, the most common first. None is left out, however rare: a word of a query must
// find the document that holds it, and that document was stemmed by its own language.
func (s *snapshot) languages() []analysis.Language {
	return slices.SortedFunc(maps.Keys(s.langs), func(a, b analysis.Language) int {
		if s.langs[a] != s.langs[b] {
			return int(s.langs[b] - s.langs[a])
		}
		return cmp.Compare(a, b)
	})
}

// loadSnapshot reads the committed state, without the vector files.
func loadSnapshot(ctx context.Context, db *sql.DB) (*snapshot, error) {
	tx, end, err := begin(ctx, db, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("beginning to read the state: %w", err)
	}
	defer end()
	s := &snapshot{}
	var body []byte
	if err := tx.QueryRowContext(ctx, `SELECT version, body FROM state`).Scan(&s.version, &body); err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	s.changed = s.version
	if err := s.decode(body); err != nil {
		return nil, err
	}
	if s.live, err = loadChunks(ctx, tx, "live"); err != nil {
		return nil, err
	}
	if s.cells != nil && s.cells.reach.known() {
		if s.listed, err = loadChunks(ctx, tx, "listed"); errors.Is(corrupt(err), index.ErrCorrupt) {
			s.cells, s.listed = nil, bitset{} // they are made anew
		} else if err != nil {
			return nil, err
		}
	}
	if got := s.live.count(s.slots); got != s.rows {
		return nil, fmt.Errorf("%w: %d slots are live, the state counts %d rows", index.ErrCorrupt, got, s.rows)
	}
	return s, nil
}

// loadChunks reads a set of slots from its table, live or listed.
func loadChunks(ctx context.Context, tx *sql.Tx, table string) (bitset, error) {
	var chunks [][]uint64
	rows, err := tx.QueryContext(ctx, `SELECT chunk, bits FROM `+table+` ORDER BY chunk`)
	if err != nil {
		return bitset{}, fmt.Errorf("reading %s slots: %w", table, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var chunk int
		var data []byte
		if err := rows.Scan(&chunk, &data); err != nil {
			return bitset{}, fmt.Errorf("reading %s slots: %w", table, err)
		}
		if data, err = unseal(int64(chunk), data, "a part of the "+table+" slots"); err != nil {
			return bitset{}, err
		}
		if len(data) != chunkWords*8 || chunk < 0 || chunk > 1<<16 {
			return bitset{}, fmt.Errorf("%w: a part of the %s slots has %d bytes", index.ErrCorrupt, table, len(data))
		}
		words := make([]uint64, chunkWords)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(data[i*8:])
		}
		for len(chunks) <= chunk {
			chunks = append(chunks, nil)
		}
		chunks[chunk] = words
	}
	return fromChunks(chunks), rows.Err()
}

// storeChunks stores the chunks that an edit has changed in a table, live or listed.
func storeChunks(ctx context.Context, tx *sql.Tx, table string, e *bitsetEdit) error {
	for chunk, words := range e.changed() {
		data := make([]byte, 0, chunkWords*8+4)
		for _, w := range words {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO `+table+` (chunk, bits) VALUES (?, ?)`, chunk, seal(int64(chunk), data)); err != nil {
			return fmt.Errorf("storing %s slots: %w", table, err)
		}
	}
	return nil
}
