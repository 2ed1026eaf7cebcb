// Package backup writes and reads backup archives, which are Zstandard-compressed tar files. Both directions stream, so
// they need little memory, regardless of the archive's size.
//
//	sluice-backup.json   description of the archive; see Header
//	catalog.db           snapshot of the catalog, a SQLite database
//	originals/<key>      each original the catalog refers to, ordered by datasource
//	missing/<key>        a Loss, in place of a missing original
//	damaged/<key>        a Loss, following an original whose content has changed
//	aborted              why the backup was aborted, in place of the remaining members
//	SHA256SUMS           last: the SHA-256 of each previous member, in the format of sha256sum --check
//
// Each member's header has an extended record with the content's digest, so a reader detects damage as soon as it has
// read the member. An archive without SHA256SUMS is truncated. The digests detect damage but not forgery: anyone who
// can write the archive can also write the digests.
package backup

import (
	"errors"
	"fmt"
	"time"
)

// Format is the archive format version that this program writes. It can't read newer formats.
const Format = 1

// Member names.
const (
	headerName    = "sluice-backup.json"
	catalogName   = "catalog.db"
	sumsName      = "SHA256SUMS"
	abortedName   = "aborted"
	originalsPath = "originals/"
	missingPath   = "missing/"
	damagedPath   = "damaged/"
)

// digestRecord is the name of the header record that holds the hex SHA-256 of a member's content.
const digestRecord = "SLUICE.sha256"

// Header describes an archive.
type Header struct {
	Format    int       `json:"format"`
	Program   string    `json:"program"`   // version of the program that wrote it
	Schema    int64     `json:"schema"`    // version of the catalog's schema
	Catalog   string    `json:"catalog"`   // the catalog's id
	CreatedAt time.Time `json:"createdAt"` // when the catalog snapshot was taken
}

// Loss describes an original that was missing or damaged when the backup was written.
type Loss struct {
	Key        string `json:"key"`
	Datasource string `json:"datasource"`
	Name       string `json:"name"`   // file name or page address
	Reason     string `json:"reason"` // human-readable
}

// Values of Loss.Reason.
const (
	ReasonMissing = "missing"
	ReasonDamaged = "damaged"
)

// Report describes an archive's content.
type Report struct {
	Header
	CatalogBytes   int64  `json:"catalogBytes"`
	Originals      int64  `json:"originals"` // intact originals
	OriginalsBytes int64  `json:"originalsBytes"`
	ArchiveBytes   int64  `json:"archiveBytes"`
	Lost           int64  `json:"lost"`             // missing or damaged originals
	Losses         []Loss `json:"losses,omitempty"` // the first MaxLosses losses
}

// MaxLosses is the maximum number of losses listed in a report.
const MaxLosses = 1000

func (r *Report) addLoss(l Loss) {
	r.Lost++
	if len(r.Losses) < MaxLosses {
		r.Losses = append(r.Losses, l)
	}
}

// ErrNewer means that a newer version of the program wrote the archive.
var ErrNewer = errors.New("made by a newer version of the program")

// DamagedError means that an archive is damaged or truncated.
type DamagedError struct {
	Member string // the damaged member, or the last member before the end; "" if there is none
	Why    string
}

func (e *DamagedError) Error() string {
	if e.Member == "" {
		return "the archive is damaged: " + e.Why
	}
	return fmt.Sprintf("the archive is damaged at %s: %s", e.Member, e.Why)
}

// AbortedError means that the backup was aborted while the archive was being written.
type AbortedError struct{ Reason string }

func (e *AbortedError) Error() string { return "the backup was aborted: " + e.Reason }
