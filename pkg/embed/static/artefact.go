package static

import (
	_ "embed" // for go:embed
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
)

// artefact is the trained table written by train/fit.py, little-endian:
//
//	magic "SLUICE\x00\x01", entries uint32, dimensions uint32, texts uint32, scale float32
//	frequencies: entries × uint32, the number of training texts that contain each entry
//	vectors:     entries × dimensions × int8; multiplied by scale, the trained vectors
//	vocabulary:  entries lines
//
// The vectors are not copied to the heap. They stay in the executable's memory-mapped pages, which the operating system
// reads on demand and may drop at any time.
//
//go:embed model.bin
var artefact string

const (
	magic      = "SLUICE\x00\x01"
	headerSize = len(magic) + 16
)

// table is the parsed artefact.
type table struct {
	words   *vocabulary
	vectors string  // entries × Dimensions int8 values
	weights []uint8 // weight of each entry, in 1/255 of the largest weight
	known   []bool  // the entry occurred often enough in training to trust its vector
}

// load parses the artefact on first use. This takes about 20 ms, plus 2 MB for the vocabulary.
var load = sync.OnceValues(func() (*table, error) { return parse(artefact) })

var errMalformed = errors.New("malformed artefact")

func parse(data string) (*table, error) {
	if len(data) < headerSize || data[:len(magic)] != magic {
		return nil, fmt.Errorf("%w: bad header", errMalformed)
	}
	header := []byte(data[len(magic):headerSize])
	entries := int(binary.LittleEndian.Uint32(header))
	dimensions := int(binary.LittleEndian.Uint32(header[4:]))
	texts := binary.LittleEndian.Uint32(header[8:])
	if dimensions != Dimensions {
		return nil, fmt.Errorf("%w: it has %d dimensions instead of %d", errMalformed, dimensions, Dimensions)
	}
	data = data[headerSize:]
	if entries <= 0 || entries > math.MaxInt32/Dimensions || len(data) < entries*(4+Dimensions) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", errMalformed, entries, len(data))
	}
	frequencies, rest := data[:4*entries], data[4*entries:]
	vectors, lines := rest[:entries*Dimensions], strings.TrimSuffix(rest[entries*Dimensions:], "\n")
	if got := strings.Count(lines, "\n") + 1; got != entries {
		return nil, fmt.Errorf("%w: %d lines of vocabulary for %d entries", errMalformed, got, entries)
	}
	t := &table{words: newVocabulary(lines), vectors: vectors,
		weights: make([]uint8, entries), known: make([]bool, entries)}
	for i := range entries {
		frequency := binary.LittleEndian.Uint32([]byte(frequencies[4*i : 4*i+4]))
		t.weights[i] = weightOf(frequency, texts)
		t.known[i] = frequency >= minKnown
	}
	return t, nil
}
