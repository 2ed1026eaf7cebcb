package embedded

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/sluice/sluice/pkg/index"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// placed is the checksum of data that lies at a place, under a number: intact data at another place are wrong too.
func placed(place int64, data []byte) uint32 {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], uint64(place))
	return crc32.Update(crc32.Checksum(p[:], castagnoli), castagnoli, data)
}

// seal appends a checksum to what will be stored at a place.
func seal(place int64, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, placed(place, data))
}

// unseal checks and removes the checksum of what was stored at a place.
func unseal(place int64, data []byte, what string) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || placed(place, data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, fmt.Errorf("%w: %s does not match its checksum", index.ErrCorrupt, what)
	}
	return data[:n], nil
}
