package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice/sluice/pkg/index"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends a checksum to what will be stored.
func seal(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// unseal checks and removes the checksum of what was stored.
func unseal(data []byte, what string) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || crc32.Checksum(data[:n], castagnoli) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, fmt.Errorf("%w: %s does not match its checksum", index.ErrCorrupt, what)
	}
	return data[:n], nil
}

// corrupt wraps what SQLite says about a damaged file in ErrCorrupt, and leaves other errors as they are.
func corrupt(err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w: %w", index.ErrCorrupt, err)
		}
	}
	return err
}
