package store

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
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
	"github.com/sluice/sluice/pkg/lists"
)

// The location file has copies of the columns that ranking needs, in one cache line per slot. This lets a search rank
// hundreds of hits without reading rows.

const locationsName = "places.slots"

// A location record contains the row's generation (8 bytes), ordinal (4), length (4), length of the datasource's id
// (1), and the id. All numbers are little-endian.
const (
	locationBytes = 60
	locationAlign = 64
	locationIDAt  = 17
	maxLocatedID  = locationBytes - locationIDAt
	// noLocation replaces the id's length if the row's location doesn't fit into the record.
	noLocation = 255
)

// location is the content of a location record.
type location struct {
	datasource string
	generation uint64
	ordinal    int
	length     int64
}

// fits reports whether the location fits into a record and the row's key can be derived from it.
func (p location) fits(key string) bool {
	return len(p.datasource) <= maxLocatedID && p.ordinal >= 0 && p.ordinal <= math.MaxInt32 && p.length >= 0 && p.length <= math.MaxUint32 &&
		key == domain.ChunkKey(p.datasource, p.generation, p.ordinal)
}

// encode returns the location record for the row with the given key.
func (p location) encode(key string) []byte {
	out := make([]byte, locationBytes)
	if !p.fits(key) {
		out[locationIDAt-1] = noLocation
		return out
	}
	binary.LittleEndian.PutUint64(out, p.generation)
	binary.LittleEndian.PutUint32(out[8:], uint32(p.ordinal))
	binary.LittleEndian.PutUint32(out[12:], uint32(p.length))
	out[locationIDAt-1] = byte(len(p.datasource))
	copy(out[locationIDAt:], p.datasource)
	return out
}

// readLocation sets a hit's Generation, Ordinal and Length and appends its key to `keys`. The first n bytes of the key
// are the datasource's id. `fits` is false if the record doesn't contain the location.
func readLocation(record, keys []byte, h *index.Hit) (_ []byte, n int, fits bool) {
	if n = int(record[locationIDAt-1]); n > maxLocatedID {
		return keys, 0, false
	}
	h.Generation = binary.LittleEndian.Uint64(record)
	h.Ordinal = int(binary.LittleEndian.Uint32(record[8:]))
	h.Length = int(binary.LittleEndian.Uint32(record[12:]))
	return domain.AppendChunkKey(append(keys, record[locationIDAt:locationIDAt+n]...), h.Generation, h.Ordinal), n, true
}

// keyEnd holds the offset at which a hit's key ends in keyScratch.keys, and the length of the datasource's id at the
// start of the key.
type keyEnd struct{ end, id int }

// keyScratch is a buffer for the keys of a search's hits.
type keyScratch struct {
	keys  []byte
	names []keyEnd
}

var keyPool = sync.Pool{New: func() any { return new(keyScratch) }}

// Locate sets Location, Key, DatasourceID, Generation, Ordinal and Length in each hit. `slots` holds the hits' slots in
// ascending order. Locate returns index.ErrCorrupt if a checksum does not match.
func (v View) Locate(ctx context.Context, slots []uint32, hits []index.Hit) error {
	var odd []int // without a location, so their rows must be read
	// To save allocations, all keys are substrings of one string. A typical key is 48 bytes long. Records are prefetched 8
	// hits ahead.
	const ahead, usual = 8, 48
	buf := keyPool.Get().(*keyScratch)
	defer keyPool.Put(buf)
	keys, names := slices.Grow(buf.keys[:0], usual*len(slots)), slices.Grow(buf.names[:0], len(slots))[:len(slots)]
	clear(names)
	for i, slot := range slots {
		hits[i].Location = uint64(slot)
		if v.HasLocations && i+ahead < len(slots) {
			quant.Prefetch(v.locations.Record(slots[i+ahead]))
		}
		if !v.HasLocations {
			odd = append(odd, i)
			continue
		}
		w := int(slot / 64)
		if err := v.locations.Check(w, v.Live.Word(w)); err != nil {
			return err
		}
		var id int
		var fits bool
		if keys, id, fits = readLocation(v.locations.Record(slot), keys, &hits[i]); !fits {
			odd = append(odd, i)
			continue
		}
		names[i] = keyEnd{len(keys), id}
	}
	buf.keys, buf.names = keys, names
	all, from := string(keys), 0
	for i, n := range names {
		if n.end == 0 { // no location
			continue
		}
		hits[i].Key = all[from:n.end]
		hits[i].DatasourceID = hits[i].Key[:n.id]
		from = n.end
	}
	if len(odd) == 0 {
		return nil
	}
	wanted := lists.Map(odd, func(at int) uint32 { return slots[at] })
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

func (s *Space) locationsPath() string { return filepath.Join(s.dir, locationsName) }

// openLocations opens a snapshot's location file. It creates one if the space has no slots.
func (s *Space) openLocations(snap *Snapshot) (err error) {
	if snap.Slots == 0 {
		snap.HasLocations = true
	}
	if !snap.HasLocations {
		return nil
	}
	if s.locations, err = slotfile.Open(s.locationsPath(), slotfile.Records(locationBytes, locationAlign), snap.Slots); err != nil {
		return err
	}
	snap.locations = s.locations.View
	return nil
}

func (p *Prepared) location() []byte {
	return location{p.row.DatasourceID, p.row.Generation, p.row.Ordinal, int64(p.terms.Length)}.encode(p.row.Key)
}

// makeLocations creates the location file if an earlier version wrote the space without one, and reports whether it
// did.
func (s *Space) makeLocations(ctx context.Context) (bool, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.locations != nil {
		return false, nil
	}
	if err := s.prepareWriting(ctx); err != nil {
		return false, err
	}
	var file *slotfile.File
	err := s.commit(ctx, func(tx *sql.Tx, next *Snapshot) (err error) {
		if file, err = slotfile.Create(s.locationsPath(), slotfile.Records(locationBytes, locationAlign)); err != nil {
			return err
		}
		if err := fillLocations(ctx, tx, file, next); err != nil {
			return err
		}
		next.HasLocations, next.locations = true, file.View
		return errors.Join(file.Sync(), durable.Dir(s.dir))
	})
	if err != nil {
		if file != nil {
			s.failed = append(s.failed, file)
		}
		return false, fmt.Errorf("writing locations: %w", err)
	}
	s.locations = file
	return true, nil
}

func fillLocations(ctx context.Context, tx *sql.Tx, file *slotfile.File, next *Snapshot) error {
	if err := file.Grow(next.Slots); err != nil {
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
		err := file.Write(slots, payloads)
		slots, payloads = slots[:0], payloads[:0]
		return err
	}
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return err
		}
		if r.slot >= next.Slots {
			return fmt.Errorf("%w: there is a row in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		slots = append(slots, r.slot)
		payloads = append(payloads, location{r.DatasourceID, r.Generation, r.Ordinal, r.length}.encode(r.Key))
		if len(slots) == slotfile.ExtentSlots {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return errors.Join(flush(), rows.Err())
}
