// Package cursor writes and reads the cursors by which lists go on: opaque to callers, who pass them back unchanged.
package cursor

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// List is what a cursor goes on with. One of another list is refused: it would lead to a place that means nothing there.
type List string

// The lists that are read in pages.
const (
	Agents        List = "agents"
	Conversations List = "conversations"
	Datasources   List = "datasources"
	Datastores    List = "datastores"
	Replay        List = "replay"
)

// Position is where a page of a list ended. Lists of the catalog are ordered by creation, then by id, so that a cursor keeps its
// meaning while rows come and go.
type Position struct {
	At int64  // when the last row was made, in microseconds since 1970
	ID string // of that row, never empty
}

// Write returns the cursor of a position in the list.
func Write(list List, p Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(list) + "." + strconv.FormatInt(p.At, 36) + "." + p.ID))
}

// Read returns the position that a cursor of the list stands for. Anything but what Write has returned for that list is the
// caller's fault, and named cursor.
func Read(list List, s string) (Position, error) {
	// An error leaves a text that is written otherwise.
	raw, _ := base64.RawURLEncoding.DecodeString(s)
	_, rest, _ := strings.Cut(string(raw), ".")
	at, id, _ := strings.Cut(rest, ".")
	n, _ := strconv.ParseInt(at, 36, 64)
	p := Position{At: n, ID: id}
	if id == "" || Write(list, p) != s {
		return Position{}, domain.Invalid("cursor", "is not a cursor of this list; pass nextCursor of the page before, unchanged")
	}
	return p, nil
}
