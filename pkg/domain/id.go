package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Ids are lower-case UUIDs: version 7 for what a caller creates (sortable by time), version 5 (derived from
// inputs) for what a job creates, or a request with an idempotency key, so that doing it again changes nothing.
// Both fit NATS subject tokens and the key alphabet of every vector engine.

// NewID returns a fresh time-ordered id.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ValidID reports whether s has the form of an id, the only form that may reach a subject, a path or a filter.
func ValidID(s string) bool {
	u, err := uuid.Parse(s)
	return err == nil && u.String() == s
}

// DerivedID returns the id that always follows from these parts.
func DerivedID(parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(parts, "\x1f"))).String()
}

// ChildID is the id of the datasource for a page of a web site: the same page of the same site is the same child.
func ChildID(siteID, pageURL string) string { return DerivedID("page", siteID, pageURL) }

// IngestJobID is the id of the ingest job that follows from a crawl job's fetched page.
func IngestJobID(crawlJobID string, generation uint64) string {
	return DerivedID("ingest", crawlJobID, strconv.FormatUint(generation, 10))
}

// PageJobID is the id of the job by which a crawl of a site, known by the job that began it, asks for a page.
func PageJobID(siteJobID, pageID string) string { return DerivedID("page-job", siteJobID, pageID) }

// PostponedJobID is the id of the job that comes in place of one that was put off in the generation.
func PostponedJobID(jobID string, generation uint64) string {
	return DerivedID("again", jobID, strconv.FormatUint(generation, 10))
}

// SitemapJobID is the id of the crawl job of a site that was added as a page, and found to be a sitemap by the job.
func SitemapJobID(jobID string, generation uint64) string {
	return DerivedID("sitemap", jobID, strconv.FormatUint(generation, 10))
}

// NearerJobID is the id of the job that comes in place of a page's job when the page is found with fewer links from the root.
func NearerJobID(jobID string, depth int) string {
	return DerivedID("nearer", jobID, strconv.Itoa(depth))
}

// ChunkKey is a chunk row's primary key in every index: datasource, generation and ordinal.
func ChunkKey(datasourceID string, generation uint64, ordinal int) string {
	const numbers = 1 + 20 + 1 + 20 // colons and the longest numbers
	key := append(make([]byte, 0, len(datasourceID)+numbers), datasourceID...)
	return string(AppendChunkKey(key, generation, ordinal))
}

// AppendChunkKey makes a datasource's id that a slice ends with the key of one of its chunks.
func AppendChunkKey(id []byte, generation uint64, ordinal int) []byte {
	key := strconv.AppendUint(append(id, ':'), generation, 10)
	return strconv.AppendInt(append(key, ':'), int64(ordinal), 10)
}

// NewKey makes the secret of an API key: KeyPrefix and 256 random bits in hex.
func NewKey() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: the program would end
	return KeyPrefix + hex.EncodeToString(secret[:])
}

// HashKey is how an API key is stored and looked up: hex SHA-256. Keys carry 256 random bits, so a plain hash is enough.
func HashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
