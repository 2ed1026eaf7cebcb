// Package backup writes and reads the archive that a service is brought back from: a tar, compressed with Zstandard, that is
// read and written from front to back in little memory, whatever its size.
//
//	sluice-backup.json   what the archive is, see Header
//	catalog.db           the catalog at one point in time, a SQLite database
//	originals/<key>      each original that this catalog refers to, in the order of its datasources
//	missing/<key>        in place of an original that was not there: a Loss
//	damaged/<key>        after an original whose content is not what was stored: a Loss
//	aborted              in place of everything else: why the backup was given up
//	SHA256SUMS           last: the SHA-256 of every member before it, as sha256sum --check reads them
//
// A member carries the digest that its content should have in a record of its header, so that a reader knows of damage as soon
// as it has read the member; an archive without SHA256SUMS was cut short. The digests tell of damage, not of forgery: who can
// write the archive can write them.
package backup

import (
	"errors"
	"fmt"
	"time"
)

// Format is the version of the archive that this program writes, and the newest that it reads.
const Format = 1

// Names of members.
const (
	headerName    = "sluice-backup.json"
	catalogName   = "catalog.db"
	sumsName      = "SHA256SUMS"
	abortedName   = "aborted"
	originalsPath = "originals/"
	missingPath   = "missing/"
	damagedPath   = "damaged/"
)

// digestRecord is the record of a member's header that holds the hex SHA-256 its content should have.
const digestRecord = "SLUICE.sha256"

// Header says what an archive is.
type Header struct {
	Format    int       `json:"format"`
	Program   string    `json:"program"`   // version of the program that made it
	Schema    int64     `json:"schema"`    // version of the catalog's schema
	Catalog   string    `json:"catalog"`   // id of the catalog
	CreatedAt time.Time `json:"createdAt"` // when the catalog was as it is in the archive
}

// Loss is an original that the catalog refers to and that the archive does not have as it was stored.
type Loss struct {
	Key        string `json:"key"`
	Datasource string `json:"datasource"`
	Name       string `json:"name"`   // of the file, or the address of the page
	Reason     string `json:"reason"` // for people
}

// Loss of an original that is not there, and of one whose content has changed.
const (
	ReasonMissing = "missing"
	ReasonDamaged = "damaged"
)

// Report says what an archive holds.
type Report struct {
	Header
	CatalogBytes   int64  `json:"catalogBytes"`
	Originals      int64  `json:"originals"` // that are in it whole
	OriginalsBytes int64  `json:"originalsBytes"`
	ArchiveBytes   int64  `json:"archiveBytes"`
	Lost           int64  `json:"lost"`             // originals that are missing or damaged
	Losses         []Loss `json:"losses,omitempty"` // the first MaxLosses of them
}

// MaxLosses is how many losses a report names.
const MaxLosses = 1000

func (r *Report) lose(l Loss) {
	r.Lost++
	if len(r.Losses) < MaxLosses {
		r.Losses = append(r.Losses, l)
	}
}

// ErrNewer says that an archive was made by a newer version of the program than this one.
var ErrNewer = errors.New("made by a newer version of the program")

// DamagedError says that an archive is not as it was written.
type DamagedError struct {
	Member string // that is damaged, or after which the archive ends; "" when that is the first
	Why    string
}

func (e *DamagedError) Error() string {
	if e.Member == "" {
		return "the archive is damaged: " + e.Why
	}
	return fmt.Sprintf("the archive is damaged at %s: %s", e.Member, e.Why)
}

// AbortedError says that the backup was given up while the archive was being written.
type AbortedError struct{ Reason string }

func (e *AbortedError) Error() string { return "the backup was given up: " + e.Reason }
