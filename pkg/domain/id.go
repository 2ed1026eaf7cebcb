package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Ids are lower-case UUIDs. Objects created by callers have version 7, which sorts by time. Objects created by jobs, or
// by requests with an idempotency key, have version 5, which is derived from the inputs, so a retry creates nothing
// new. Both are valid in NATS subject tokens and as keys in all vector engines.

// NewID returns a new time-ordered id.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ValidID reports whether s is a syntactically valid id. No other string may become part of a subject, path or filter.
func ValidID(s string) bool {
	u, err := uuid.Parse(s)
	return err == nil && u.String() == s
}

// DerivedID returns an id that depends only on the parts.
func DerivedID(parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(parts, "\x1f"))).String()
}

// ChildID returns the datasource id for a site's page. It is the same in every crawl.
func ChildID(siteID, pageURL string) string { return DerivedID("page", siteID, pageURL) }

// MemberID returns the id of the datasource for a file in an archive. It is the same in every version of the archive.
func MemberID(archiveID, path string) string { return DerivedID("member", archiveID, path) }

// MemberJobID returns the id of the job that reads an archive's file. archiveJobID, the id of the archive's job,
// identifies the archive's version.
func MemberJobID(archiveJobID, memberID string) string {
	return DerivedID("member-job", archiveJobID, memberID)
}

// ArchiveJobID returns the id of the job that unpacks a file after the file's own job, jobID, found it to be an
// archive.
func ArchiveJobID(jobID string, generation uint64) string {
	return DerivedID("archive", jobID, strconv.FormatUint(generation, 10))
}

// IngestJobID returns the id of the ingest job for a page that a crawl job fetched.
func IngestJobID(crawlJobID string, generation uint64) string {
	return DerivedID("ingest", crawlJobID, strconv.FormatUint(generation, 10))
}

// PageJobID returns the id of the job that fetches a page in a crawl. siteJobID, the id of the site's job, identifies
// the crawl.
func PageJobID(siteJobID, pageID string) string { return DerivedID("page-job", siteJobID, pageID) }

// PostponedJobID returns the id of the job that replaces a postponed job of this generation.
func PostponedJobID(jobID string, generation uint64) string {
	return DerivedID("again", jobID, strconv.FormatUint(generation, 10))
}

// SitemapJobID returns the id of the crawl job for a page that became a site after the page's own job, jobID, found it
// to be a sitemap.
func SitemapJobID(jobID string, generation uint64) string {
	return DerivedID("sitemap", jobID, strconv.FormatUint(generation, 10))
}

// NearerJobID returns the id of the job that replaces a page's job once a shorter path from the root is found. depth is
// that path's length.
func NearerJobID(jobID string, depth int) string {
	return DerivedID("nearer", jobID, strconv.Itoa(depth))
}

// ChunkKey returns a chunk's primary key in all indexes: datasource, generation and ordinal.
func ChunkKey(datasourceID string, generation uint64, ordinal int) string {
	const numbers = 1 + 20 + 1 + 20 // colons and the longest numbers
	key := append(make([]byte, 0, len(datasourceID)+numbers), datasourceID...)
	return string(AppendChunkKey(key, generation, ordinal))
}

// AppendChunkKey appends the key's generation and ordinal to a slice that ends with the datasource's id.
func AppendChunkKey(id []byte, generation uint64, ordinal int) []byte {
	key := strconv.AppendUint(append(id, ':'), generation, 10)
	return strconv.AppendInt(append(key, ':'), int64(ordinal), 10)
}

// NewKey returns a secret for a new API key: KeyPrefix and 256 random bits in hex.
func NewKey() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: if there are no random numbers, the runtime ends the program
	return KeyPrefix + hex.EncodeToString(secret[:])
}

// HashKey returns the hex SHA-256 of an API key's secret. Keys are stored and looked up by this hash. A plain hash is
// enough, because secrets have 256 random bits.
func HashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
