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

// rowVersion numbers how rows are made of chunks: which of their fields are filled, and which text is embedded. Raise it
// by hand with every change of that.
const rowVersion = 2

// ingredients are everything that a job's rows follow from, but for the embedding model, which is part of a place.
type ingredients struct {
	Row      int            `json:"row"`
	Extract  int            `json:"extract"`
	Chunk    string         `json:"chunk"`
	Analysis int            `json:"analysis"`
	SHA256   string         `json:"sha256"`
	FileName string         `json:"file_name"` // tells the format, as does the declared type
	MIMEType string         `json:"mime_type"`
	URL      string         `json:"url"`  // what a page's links refer to
	Name     string         `json:"name"` // the title of a document that has none
	CustomID string         `json:"custom_id"`
	Metadata map[string]any `json:"metadata,omitempty"` // encoded in order of its keys
}

// fingerprint is the hexadecimal SHA-256 of the job's ingredients: jobs of equal fingerprints write equal rows to the same
// place. It is "", which equals none, for a job whose content was stored without a checksum.
func (i *Ingestor) fingerprint(job domain.Job) (string, error) {
	if job.Original == nil || job.Original.SHA256 == "" {
		return "", nil
	}
	data, err := json.Marshal(ingredients{
		Row: rowVersion, Extract: extract.Version, Chunk: i.Chunkers.Chunker(job.Chunking).Version(), Analysis: analysis.Version,
		SHA256: job.Original.SHA256, FileName: job.Original.Name, MIMEType: job.Original.MIMEType, URL: pageURL(job),
		Name: job.Name, CustomID: job.CustomID, Metadata: job.Metadata,
	})
	if err != nil {
		return "", jobs.Permanent(fmt.Errorf("encoding its metadata: %w", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// textID returns a hash of the text of the rows that a web page's job writes: see domain.Event.TextID. The page's
// times of creation and change are ignored, because many servers change them with each response. It is "" for other
// content.
func (i *Ingestor) textID(job domain.Job, chunks []domain.Chunk, metadata map[string]any) (string, error) {
	if job.Type != domain.TypeWebPage {
		return "", nil
	}
	steady := make([]domain.Chunk, len(chunks))
	for n, c := range chunks {
		c.Text, c.Context, c.Heading = textid.Steady(c.Text), textid.Steady(c.Context), textid.Steady(c.Heading)
		c.Offset, c.Tokens = 0, 0 // they change with the length of clocks and counters
		steady[n] = c
	}
	kept := make(map[string]any, len(metadata))
	for key, value := range metadata {
		kept[key] = value
	}
	if document, ok := metadata["document"].(map[string]any); ok {
		document = maps.Clone(document)
		delete(document, domain.MetaCreated)
		delete(document, domain.MetaModified)
		kept["document"] = document
	}
	data, err := json.Marshal(struct {
		Row, Analysis  int
		Chunk, URL, ID string
		Metadata       map[string]any
		Chunks         []domain.Chunk
	}{rowVersion, analysis.Version, i.Chunkers.Chunker(job.Chunking).Version(), pageURL(job), job.CustomID, kept, steady})
	if err != nil {
		return "", jobs.Permanent(fmt.Errorf("encoding its metadata: %w", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
