package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/textid"
)

// rowVersion is the version of the code that converts chunks to rows: which fields it sets and which text is embedded.
// Increment it whenever that code changes.
const rowVersion = 4

// fingerprintInputs are all the inputs that determine a job's rows, except the embedding model, which is part of a
// place.
type fingerprintInputs struct {
	Row      int            `json:"row"`
	Extract  int            `json:"extract"`
	Chunk    string         `json:"chunk"`
	Analysis int            `json:"analysis"`
	SHA256   string         `json:"sha256"`
	FileName string         `json:"file_name"` // used to detect the format, as is the declared type
	MIMEType string         `json:"mime_type"`
	URL      string         `json:"url"`  // base of a page's links
	Name     string         `json:"name"` // used as title if the document has none
	CustomID string         `json:"custom_id"`
	Metadata map[string]any `json:"metadata,omitempty"` // encoded with sorted keys
	Scan     []string       `json:"scan,omitempty"`     // scan job: how text was recognised
}

// fingerprint returns the hexadecimal SHA-256 of the job's fingerprintInputs. Jobs with equal fingerprints write equal
// rows. If the content was stored without a checksum, it returns "". Callers must not treat two empty fingerprints as
// equal.
func (i *Ingestor) fingerprint(job domain.Job) (string, error) {
	if job.Original == nil || job.Original.SHA256 == "" {
		return "", nil
	}
	var scan []string
	if job.Kind == domain.JobScan {
		scan = append([]string{"tesseract"}, i.languages(job)...)
	}
	return digest(fingerprintInputs{
		Row: rowVersion, Extract: extract.Version, Chunk: i.Chunkers.Chunker(job.Chunking).Version(), Analysis: analysis.Version,
		SHA256: job.Original.SHA256, FileName: job.Original.Name, MIMEType: job.Original.MIMEType, URL: pageURL(job),
		Name: job.Name, CustomID: job.CustomID, Metadata: job.Metadata, Scan: scan,
	})
}

// scanFingerprint returns the fingerprint that a scan job for the same content would have. If the previous version has
// this fingerprint, a scan job has already read the content.
func (i *Ingestor) scanFingerprint(job domain.Job) (string, error) {
	job.Kind = domain.JobScan
	return i.fingerprint(job)
}

// digest returns the hexadecimal SHA-256 of v as JSON.
func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", jobs.Permanent(fmt.Errorf("encoding its metadata: %w", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// textID returns a hash of the text behind a web page's rows; see domain.Event.TextID. A page with the same hash keeps
// its stored properties, so the hash also covers the extraction's version and the document's properties. The page's
// creation and modification times are left out, because many servers change them with each response. For content other
// than web pages, textID returns "".
func (i *Ingestor) textID(job domain.Job, doc *domain.Document, chunks []domain.Chunk) (string, error) {
	if job.Type != domain.TypeWebPage {
		return "", nil
	}
	steady := make([]domain.Chunk, len(chunks))
	for n, c := range chunks {
		c.Text, c.Context, c.Heading = textid.RemoveVolatileStrict(c.Text), textid.RemoveVolatileStrict(c.Context), textid.RemoveVolatileStrict(c.Heading)
		c.Offset, c.Tokens, c.Runs = 0, 0, nil // they vary with clocks and counters in the text
		steady[n] = c
	}
	facts := *doc
	facts.Metadata = maps.Clone(doc.Metadata)
	delete(facts.Metadata, domain.MetaCreated)
	delete(facts.Metadata, domain.MetaModified)
	return digest(struct {
		Row, Extract, Analysis int
		Chunk, URL, ID         string
		Metadata               map[string]any
		Document               domain.Document // without its blocks, which are the chunks
		Chunks                 []domain.Chunk
	}{rowVersion, extract.Version, analysis.Version, i.Chunkers.Chunker(job.Chunking).Version(), pageURL(job), job.CustomID, job.Metadata, facts, steady})
}
