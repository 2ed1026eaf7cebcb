package domain

import "time"

// Engine is the vector engine that stores a datastore's chunks.
type Engine string

// Vector engines.
const (
	EngineEmbedded Engine = "embedded"
	EngineMilvus   Engine = "milvus"
)

// Datastore is a set of datasources that are searched together.
type Datastore struct {
	ID             string
	WorkspaceID    string
	Name           string
	Description    string
	Type           Engine
	Visibility     Visibility
	EmbeddingModel string // the embedding model's id
	Chunking       Chunking
	OCRLanguages   OCRLanguages // for scans
	// Since is set by a move. In the place that serves readers, only rows with generations above Since are valid. Rows
	// with lower generations are left over from an earlier time when the datastore was in the same place.
	Since uint64
	Move  *Move // nil if no move is in progress
	// SearchVersion is the version of the datastore's search settings, or 0 if it has none. See SearchSettings.
	SearchVersion int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// SearchSettings is one version of a datastore's search settings; see package searchsettings. Versions are immutable
// and numbered from 1. Numbers are never reused.
type SearchSettings struct {
	Version   int64
	JSON      []byte // nil when listing versions
	CreatedAt time.Time
}

// Serving returns the place that serves readers.
func (d Datastore) Serving() Place { return Place{Engine: d.Type, Model: d.EmbeddingModel} }

// Places returns the places (see Place) that receive new content: the one that serves readers and, during a move, the
// destination.
func (d Datastore) Places() []Place {
	if d.Move == nil {
		return []Place{d.Serving()}
	}
	return []Place{d.Serving(), d.Move.To}
}

// DatastorePatch changes a datastore. Nil fields are left unchanged. Setting Type or EmbeddingModel starts a move (see
// Place), replacing any other. If they name the place that serves readers, they only cancel a move in progress.
type DatastorePatch struct {
	Type           *Engine
	EmbeddingModel *string
	Name           *string
	Description    *string
	Visibility     *Visibility
	Chunking       *ChunkingPatch // for future chunks; existing chunks stay as they are until the content is read again
	OCRLanguages   *OCRLanguages  // for scans read from now on
}

// Destination returns the place (see Place) to which the patch moves the datastore. An engine or model that the patch
// doesn't set stays the same. named is false if it sets neither.
func (p DatastorePatch) Destination(d Datastore) (to Place, named bool) {
	to = d.Serving()
	assignIf(&to.Engine, p.Type)
	assignIf(&to.Model, p.EmbeddingModel)
	return to, p.Type != nil || p.EmbeddingModel != nil
}

// Apply applies the patch to d, except for Type and EmbeddingModel, which start a move.
func (p DatastorePatch) Apply(d *Datastore) {
	assignIf(&d.Name, p.Name)
	assignIf(&d.Description, p.Description)
	assignIf(&d.Visibility, p.Visibility)
	assignIf(&d.OCRLanguages, p.OCRLanguages)
	if p.Chunking != nil {
		d.Chunking = p.Chunking.Apply(d.Chunking)
	}
}
