package embedded

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// What ranking wants to know of a hit lies in a file of its own, a cache line for each slot, so that a search with hundreds
// of hits reads no row. It repeats what the database says, and is written as the vectors are.

const placesName = "places.slots"

// A place is laid out as
//
//	generation 8 bytes, ordinal 4, length in terms 4, number of bytes of the datasource's id 1, the id 43
//
// in little-endian order; with its checksum it is 64 bytes long.
const (
	placeBytes  = 60
	placeAlign  = 64
	placeIDAt   = 17
	maxPlacedID = placeBytes - placeIDAt
	// unplaced, as the number of an id's bytes, says that the row does not fit.
	unplaced = 255
)

// place is what a slot's record tells.
type place struct {
	datasource string
	generation uint64
	ordinal    int
	length     int64
}

// fits reports whether a record can tell of the row all that it has to, its key among it.
func (p place) fits(key string) bool {
	return len(p.datasource) <= maxPlacedID && p.ordinal >= 0 && p.ordinal <= math.MaxInt32 && p.length >= 0 && p.length <= math.MaxUint32 &&
		key == domain.ChunkKey(p.datasource, p.generation, p.ordinal)
}

// encode makes the record of the row with this key.
func (p place) encode(key string) []byte {
	out := make([]byte, placeBytes)
	if !p.fits(key) {
		out[placeIDAt-1] = unplaced
		return out
	}
	binary.LittleEndian.PutUint64(out, p.generation)
	binary.LittleEndian.PutUint32(out[8:], uint32(p.ordinal))
	binary.LittleEndian.PutUint32(out[12:], uint32(p.length))
	out[placeIDAt-1] = byte(len(p.datasource))
	copy(out[placeIDAt:], p.datasource)
	return out
}

// readPlace sets what of a hit are numbers, and adds its key, which begins with n bytes that are the datasource's id, to keys. It
// reports false for a row that does not fit.
func readPlace(record, keys []byte, h *index.Hit) (_ []byte, n int, fits bool) {
	if n = int(record[placeIDAt-1]); n > maxPlacedID {
		return keys, 0, false
	}
	h.Generation = binary.LittleEndian.Uint64(record)
	h.Ordinal = int(binary.LittleEndian.Uint32(record[8:]))
	h.Length = int(binary.LittleEndian.Uint32(record[12:]))
	return domain.AppendChunkKey(append(keys, record[placeIDAt:placeIDAt+n]...), h.Generation, h.Ordinal), n, true
}

// named is where among the keys that of a hit ends, and how many bytes of it are the datasource's id.
type named struct{ end, id int }

// naming is where keys are put together.
type naming struct {
	keys  []byte
	names []named
}

// namesPool keeps that room between searches.
var namesPool = sync.Pool{New: func() any { return new(naming) }}

// locate sets what the hits in slots, which are in ascending order, are called, and how long they are.
func (v view) locate(ctx context.Context, slots []uint32, hits []index.Hit) error {
	var odd []int // hits whose rows must be read
	// All keys are made one behind the other, as parts of one string.
	const ahead, usual = 8, 48
	room := namesPool.Get().(*naming)
	defer namesPool.Put(room)
	keys, names := slices.Grow(room.keys[:0], usual*len(slots)), slices.Grow(room.names[:0], len(slots))[:len(slots)]
	clear(names)
	for i, slot := range slots {
		hits[i].Place = uint64(slot)
		if v.placed && i+ahead < len(slots) {
			quant.Prefetch(v.places.record(slots[i+ahead]))
		}
		if !v.placed {
			odd = append(odd, i)
			continue
		}
		w := int(slot / 64)
		if err := v.places.check(w, v.live.word(w)); err != nil {
			return err
		}
		var id int
		var fits bool
		if keys, id, fits = readPlace(v.places.record(slot), keys, &hits[i]); !fits {
			odd = append(odd, i)
			continue
		}
		names[i] = named{len(keys), id}
	}
	room.keys, room.names = keys, names
	all, from := string(keys), 0
	for i, n := range names {
		if n.end == 0 { // not told by its place
			continue
		}
		hits[i].Key = all[from:n.end]
		hits[i].DatasourceID = hits[i].Key[:n.id]
		from = n.end
	}
	if len(odd) == 0 {
		return nil
	}
	wanted := make([]uint32, len(odd))
	for i, at := range odd {
		wanted[i] = slots[at]
	}
	rows, err := v.rowsIn(ctx, wanted)
	if err != nil {
		return err
	}
	for i, at := range odd {
		r := rows[i]
		h := &hits[at]
		h.Key, h.DatasourceID, h.Generation, h.Ordinal, h.Length = r.Key, r.DatasourceID, r.Generation, r.Ordinal, int(r.length)
	}
	return nil
}

// placesPath is where the places lie.
func (s *space) placesPath() string { return filepath.Join(s.dir, placesName) }

// openPlaces opens the places of a snapshot that has such, or makes their file when nothing was written yet.
func (s *space) openPlaces(snap *snapshot) (err error) {
	if snap.slots == 0 {
		snap.placed = true
	}
	if !snap.placed {
		return nil
	}
	if s.places, err = openSlotFile(s.placesPath(), recordsOf(placeBytes, placeAlign), snap.slots); err != nil {
		return err
	}
	snap.places = s.places.view
	return nil
}

// place is the record of the row.
func (p *prepared) place() []byte {
	return place{p.row.DatasourceID, p.row.Generation, p.row.Ordinal, int64(p.words.length)}.encode(p.row.Key)
}

// makePlaces makes the places that a space of an earlier program lacks, and reports whether it did.
func (s *space) makePlaces(ctx context.Context) (bool, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.places != nil {
		return false, nil
	}
	if err := s.prepareWriting(ctx); err != nil {
		return false, err
	}
	var file *slotFile
	err := s.commit(ctx, func(tx *sql.Tx, next *snapshot) (err error) {
		if file, err = newSlotFile(s.placesPath(), recordsOf(placeBytes, placeAlign)); err != nil {
			return err
		}
		if err := fillPlaces(ctx, tx, file, next); err != nil {
			return err
		}
		next.placed, next.places = true, file.view
		return errors.Join(file.sync(), durable.Dir(s.dir))
	})
	if err != nil {
		if file != nil {
			s.failed = append(s.failed, file)
		}
		return false, fmt.Errorf("making places of rows: %w", err)
	}
	s.places = file
	return true, nil
}

// fillPlaces writes the places of all rows.
func fillPlaces(ctx context.Context, tx *sql.Tx, file *slotFile, next *snapshot) error {
	if err := file.grow(next.slots); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+rowColumns+` FROM rows ORDER BY slot`)
	if err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var slots []uint32
	var payloads [][]byte
	flush := func() error {
		err := file.write(slots, payloads)
		slots, payloads = slots[:0], payloads[:0]
		return err
	}
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return err
		}
		if r.slot >= next.slots {
			return fmt.Errorf("%w: a row lies in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		slots = append(slots, r.slot)
		payloads = append(payloads, place{r.DatasourceID, r.Generation, r.Ordinal, r.length}.encode(r.Key))
		if len(slots) == extentSlots {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return errors.Join(flush(), rows.Err())
}
