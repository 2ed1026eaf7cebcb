package store

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
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// Snapshot is a space's in-memory state at one version of its database. It is immutable once published.
type Snapshot struct {
	vector.Set
	Version      int64
	changed      int64 // earliest version known to have the same rows as this one
	model        string
	length       int64 // total number of terms in all live rows
	langs        map[analysis.Language]int64
	nextSegment  int64
	nextBlock    int64
	Segments     []lexical.Segment
	HasLocations bool // the location file is complete
	locations    slotfile.View
}

// stateBody is the JSON content of the "state" table.
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
	Centroid    []byte                      `json:"centre,omitempty"`
	// HasInt8 reports whether there are int8 codes for this epoch. Earlier versions of the program don't update the codes,
	// so their writes reset it.
	HasInt8 bool `json:"fine,omitempty"`
	// HasLocations reports whether there is a location file. Earlier versions of the program don't update the file, so
	// their writes reset it.
	HasLocations bool `json:"placed,omitempty"`
	// IVF is the IVF's committed state, or nil if there is none.
	IVF *vector.IVFState `json:"cells,omitempty"`
}

func (s *Snapshot) encode() ([]byte, error) {
	segments := make([][4]int64, 0, len(s.Segments))
	for _, seg := range s.Segments {
		segments = append(segments, [4]int64{seg.ID, seg.Rows, seg.FirstBlock, seg.Blocks})
	}
	body, err := json.Marshal(stateBody{
		Format: formatVersion, Model: s.model, Dimensions: s.Dimensions, Slots: s.Slots, Rows: s.Rows, Length: s.length,
		Langs: s.langs, NextSegment: s.nextSegment, NextBlock: s.nextBlock, Epoch: s.Epoch, CodedAt: s.CodedAt,
		Centroid: vector.Bytes(s.Centroid), Segments: segments, HasLocations: s.HasLocations, HasInt8: s.HasCodes(), IVF: s.IVF.State(s.Written),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the state: %w", err)
	}
	return checksum.Seal(s.Version, body), nil
}

func (s *Snapshot) decode(data []byte) error {
	data, err := checksum.Unseal(s.Version, data, "the state")
	if err != nil {
		return err
	}
	var b stateBody
	if err := json.Unmarshal(data, &b); err != nil {
		return fmt.Errorf("%w: reading the state: %w", index.ErrCorrupt, err)
	}
	if b.Format < signsFormat || b.Format > formatVersion {
		return fmt.Errorf("the index has format %d, but this version reads format %d: use the version that wrote the index, "+
			"or remove the datastore's directory under index in the data directory to have it rebuilt", b.Format, formatVersion)
	}
	s.model, s.Dimensions, s.Slots, s.Rows, s.length, s.langs = b.Model, b.Dimensions, b.Slots, b.Rows, b.Length, b.Langs
	s.nextSegment, s.nextBlock, s.Epoch, s.HasLocations = b.NextSegment, b.NextBlock, b.Epoch, b.HasLocations
	if b.Format == formatVersion && b.HasInt8 { // otherwise the centroid is for other codes
		s.Centroid, s.CodedAt = slices.Clone(vector.Floats(b.Centroid)), b.CodedAt
	}
	if b.IVF != nil {
		s.IVF, s.Written = b.IVF.IVF(), b.IVF.Unassigned
	}
	for _, seg := range b.Segments {
		s.Segments = append(s.Segments, lexical.Segment{ID: seg[0], Rows: seg[1], FirstBlock: seg[2], Blocks: seg[3]})
	}
	return nil
}

// next returns a copy with the next version number.
func (s *Snapshot) next() *Snapshot {
	n := *s
	n.Version++
	n.langs = maps.Clone(s.langs)
	if n.langs == nil {
		n.langs = make(map[analysis.Language]int64)
	}
	n.Segments = slices.Clone(s.Segments)
	return &n
}

// Languages returns the live rows' languages, most common first. Rare languages count as well: a row is found only if
// the query is stemmed in its language.
func (s *Snapshot) Languages() []analysis.Language {
	return slices.SortedFunc(maps.Keys(s.langs), func(a, b analysis.Language) int {
		if s.langs[a] != s.langs[b] {
			return int(s.langs[b] - s.langs[a])
		}
		return cmp.Compare(a, b)
	})
}

// loadSnapshot reads the committed state, without the vector files.
func loadSnapshot(ctx context.Context, db *sql.DB) (*Snapshot, error) {
	tx, end, err := begin(ctx, db, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("starting to read the state: %w", err)
	}
	defer end()
	s := &Snapshot{}
	var body []byte
	if err := tx.QueryRowContext(ctx, `SELECT version, body FROM state`).Scan(&s.Version, &body); err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	s.changed = s.Version
	if err := s.decode(body); err != nil {
		return nil, err
	}
	if s.Live, err = loadChunks(ctx, tx, "live"); err != nil {
		return nil, err
	}
	if s.IVF != nil && s.IVF.Radius.Known() {
		if s.Assigned, err = loadChunks(ctx, tx, "listed"); errors.Is(corrupt(err), index.ErrCorrupt) {
			s.IVF, s.Assigned = nil, bitmap.Bitmap{} // the IVF is rebuilt
		} else if err != nil {
			return nil, err
		}
	}
	if got := s.Live.Count(s.Slots); got != s.Rows {
		return nil, fmt.Errorf("%w: %d slots are live, but the state records %d rows", index.ErrCorrupt, got, s.Rows)
	}
	return s, nil
}

// loadChunks reads the "live" or "listed" table's bitmap, and returns index.ErrCorrupt if it is damaged.
func loadChunks(ctx context.Context, tx *sql.Tx, table string) (bitmap.Bitmap, error) {
	var chunks [][]uint64
	rows, err := tx.QueryContext(ctx, `SELECT chunk, bits FROM `+table+` ORDER BY chunk`)
	if err != nil {
		return bitmap.Bitmap{}, fmt.Errorf("reading %s slots: %w", table, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var chunk int
		var data []byte
		if err := rows.Scan(&chunk, &data); err != nil {
			return bitmap.Bitmap{}, fmt.Errorf("reading %s slots: %w", table, err)
		}
		if data, err = checksum.Unseal(int64(chunk), data, "a part of the "+table+" slots"); err != nil {
			return bitmap.Bitmap{}, err
		}
		if len(data) != bitmap.ChunkWords*8 || chunk < 0 || chunk > 1<<16 {
			return bitmap.Bitmap{}, fmt.Errorf("%w: a part of the %s slots has %d bytes", index.ErrCorrupt, table, len(data))
		}
		words := make([]uint64, bitmap.ChunkWords)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(data[i*8:])
		}
		for len(chunks) <= chunk {
			chunks = append(chunks, nil)
		}
		chunks[chunk] = words
	}
	return bitmap.FromChunks(chunks), rows.Err()
}

// storeChunks stores a bitmap's changed chunks in the "live" or "listed" table.
func storeChunks(ctx context.Context, tx *sql.Tx, table string, e *bitmap.Edit) error {
	for chunk, words := range e.Changed() {
		data := make([]byte, 0, bitmap.ChunkWords*8+4)
		for _, w := range words {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO `+table+` (chunk, bits) VALUES (?, ?)`, chunk, checksum.Seal(int64(chunk), data)); err != nil {
			return fmt.Errorf("storing %s slots: %w", table, err)
		}
	}
	return nil
}
