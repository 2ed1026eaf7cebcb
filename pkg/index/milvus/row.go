package milvus

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// prepared is a validated and analysed row, ready to be written.
type prepared struct {
	row      *index.Row
	id       string
	metadata []byte
	facets   []int64
	language analysis.Language
	terms    counts
	length   int64
	vector   []float32 // padded to the field's dimensions
	digest   int64
}

// prepare validates and analyses a row.
func prepare(s index.Space, r *index.Row, words *analysis.Analyzer) (*prepared, error) {
	if err := checkRow(s, r); err != nil {
		return nil, err
	}
	p := &prepared{row: r, id: rowID(s.DatastoreID, r.DatasourceID, r.Generation, r.Ordinal)}
	var err error
	if p.facets, err = facets(r); err != nil {
		return nil, err
	}
	if p.metadata, err = index.EncodeMetadata(r); err != nil {
		return nil, err
	}
	if p.metadata == nil {
		p.metadata = []byte("{}")
	}
	if p.metadata, p.facets, err = addOrder(r, p.metadata, p.facets); err != nil {
		return nil, err
	}
	p.language = analysis.Detect(r.Text)
	p.terms, p.length = countTerms(r, p.language, words)
	p.vector = append(slices.Clone(r.Vector), make([]float32, denseDimensions(s)-len(r.Vector))...)
	p.digest = p.sum()
	return p, nil
}

// checkRow returns index.ErrInvalid if this engine can't store the row.
func checkRow(s index.Space, r *index.Row) error {
	if err := index.CheckRow(r, s.Dimensions); err != nil {
		return err
	}
	if !validDatastore(s.DatastoreID) {
		return fmt.Errorf("%w: the datastore id %.80q is empty, longer than %d bytes, or has characters outside [A-Za-z0-9_.-]", index.ErrInvalid, s.DatastoreID, maxDatastoreBytes)
	}
	if !validDatasource(r.DatasourceID) {
		return fmt.Errorf("%w: the datasource id %.80q is empty, longer than %d bytes, or has characters outside [A-Za-z0-9_.-]", index.ErrInvalid, r.DatasourceID, maxDatasourceBytes)
	}
	if r.Generation > math.MaxInt64 {
		return fmt.Errorf("%w: the generation is %d; the limit is %d", index.ErrInvalid, r.Generation, int64(math.MaxInt64))
	}
	if r.Ordinal < 0 || r.Ordinal > math.MaxInt32 {
		return fmt.Errorf("%w: the ordinal %d is not between 0 and %d", index.ErrInvalid, r.Ordinal, math.MaxInt32)
	}
	if want := domain.ChunkKey(r.DatasourceID, r.Generation, r.Ordinal); r.Key != want {
		return fmt.Errorf("%w: the key is %q, but the chunk belongs to key %q", index.ErrInvalid, r.Key, want)
	}
	for _, f := range []struct{ name, value string }{{"text", r.Text}, {"context", r.Context}, {"heading", index.StoredHeading(r)}, {"custom id", r.CustomID}} {
		if !utf8.ValidString(f.value) {
			return fmt.Errorf("%w: the %s is not valid UTF-8", index.ErrInvalid, f.name)
		}
	}
	return nil
}

func validDatastore(id string) bool  { return validID(id, maxDatastoreBytes) }
func validDatasource(id string) bool { return validID(id, maxDatasourceBytes) }

// validID reports whether an id is valid in a primary key. Colons would make keys ambiguous.
func validID(id string, limit int) bool {
	if id == "" || len(id) > limit {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// rowID returns a row's primary key. Padded numbers make keys sort by generation and ordinal.
func rowID(datastoreID, datasourceID string, generation uint64, ordinal int) string {
	return fmt.Sprintf("%s:%s:%019d:%010d", datastoreID, datasourceID, generation, ordinal)
}

// sum hashes all of a row's stored fields.
func (p *prepared) sum() int64 {
	h := sha256.New()
	var n [8]byte
	number := func(v uint64) {
		binary.LittleEndian.PutUint64(n[:], v)
		_, _ = h.Write(n[:]) // writing to a hash never fails
	}
	for _, v := range []string{p.id, p.row.CustomID, index.StoredHeading(p.row), p.row.Context, p.row.Text, string(p.metadata)} {
		number(uint64(len(v)))
		_, _ = h.Write([]byte(v))
	}
	number(uint64(p.row.Page))
	number(uint64(p.row.Offset))
	for _, v := range p.row.Vector {
		number(uint64(math.Float32bits(v)))
	}
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)))
}

// bucket returns a pseudo-random number from 0 to buckets-1 that depends only on the row's id.
func bucket(id string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // writing to a hash never fails
	v := h.Sum64()
	return int64((v ^ v>>29) * 0x9e3779b97f4a7c15 >> 48 % buckets)
}

// bytes estimates a row's size in a message.
func (p *prepared) bytes() int {
	const others = 200 // estimated size of the keys and numbers
	return others + len(p.row.Text) + len(p.row.Context) + len(p.row.Heading) + len(p.row.Anchor) + len(p.row.CustomID) + len(p.metadata) +
		4*len(p.vector) + 8*len(p.facets) + 8*len(p.terms)
}

func formatGeneration(g uint64) string { return strconv.FormatUint(min(g, math.MaxInt64), 10) }
