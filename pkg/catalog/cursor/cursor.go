// Package cursor encodes and decodes the opaque cursors of paginated lists.
package cursor

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// List is the list a cursor belongs to. A cursor from another list is rejected, because its position means nothing in
// this one.
type List string

// The paginated lists.
const (
	Agents        List = "agents"
	Conversations List = "conversations"
	Datasources   List = "datasources"
	Datastores    List = "datastores"
	Replay        List = "replay"
)

// Position identifies the last item on a page. Lists are ordered by creation time, then by id, so a cursor stays valid
// while rows are added and deleted.
type Position struct {
	At int64  // when the last row was created, in microseconds since 1970
	ID string // id of that row, never empty
}

// Write returns the cursor for a position in the list.
func Write(list List, p Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(list) + "." + strconv.FormatInt(p.At, 36) + "." + p.ID))
}

// Read decodes a cursor that Write made for this list. For any other string, it fails with domain.CodeInvalid for the
// "cursor" field.
func Read(list List, s string) (Position, error) {
	// Errors can be ignored, because a malformed cursor fails the comparison below.
	raw, _ := base64.RawURLEncoding.DecodeString(s)
	_, rest, _ := strings.Cut(string(raw), ".")
	at, id, _ := strings.Cut(rest, ".")
	n, _ := strconv.ParseInt(at, 36, 64)
	p := Position{At: n, ID: id}
	if id == "" || Write(list, p) != s {
		return Position{}, domain.Invalid("cursor", "is not a cursor for this list; pass the nextCursor of the previous page unchanged")
	}
	return p, nil
}
