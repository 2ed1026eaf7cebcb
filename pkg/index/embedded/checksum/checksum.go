// Package checksum adds a CRC-32C to stored data. The checksum covers the data and a number, such as the slot that
// stores the data, so it also detects an intact block in the wrong place.
package checksum

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/sluice/sluice/pkg/index"
)

// Table is the CRC-32C table.
var Table = crc32.MakeTable(crc32.Castagnoli)

// Of returns the checksum of data and a number, such as the slot that stores the data.
func Of(number int64, data []byte) uint32 {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], uint64(number))
	return crc32.Update(crc32.Checksum(p[:], Table), Table, data)
}

// Seal appends the checksum to data.
func Seal(number int64, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, Of(number, data))
}

// Unseal verifies and removes the checksum appended by Seal. It returns index.ErrCorrupt if the checksum does not
// match. `what` names the data in the error message.
func Unseal(number int64, data []byte, what string) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || Of(number, data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, fmt.Errorf("%w: %s does not match its checksum", index.ErrCorrupt, what)
	}
	return data[:n], nil
}
