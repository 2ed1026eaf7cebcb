package checksum

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/sluice/sluice/pkg/index"
)

var Table = crc32.MakeTable(crc32.Castagnoli)

// Of is the checksum of data that lies at a place, under a number: intact data at another place are wrong too.
func Of(place int64, data []byte) uint32 {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], uint64(place))
	return crc32.Update(crc32.Checksum(p[:], Table), Table, data)
}

// Seal appends a checksum to what will be stored at a place.
func Seal(place int64, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, Of(place, data))
}

// Unseal checks and removes the checksum of what was stored at a place.
func Unseal(place int64, data []byte, what string) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || Of(place, data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, fmt.Errorf("%w: %s does not match its checksum", index.ErrCorrupt, what)
	}
	return data[:n], nil
}
