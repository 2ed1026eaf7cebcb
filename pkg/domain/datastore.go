package domain

import "time"

// Engine is the vector engine that stores a datastore's chunks.
type Engine string

// Vector engines.
const (
	EngineEmbedded Engine = "embedded"
	EngineMilvus   Engine = "milvus"
)

// Datastore is a set of datasources searched together.
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
	// Since is set by a move. In the place that serves readers, only rows with generations above Since are valid; lower
	// ones are left over from an earlier time in the same place.
	Since uint64
	Move  *Move // nil if no move is in progress
	// SearchVersion is the version of the datastore's search settings, or 0 if it has none. See SearchSettings.
	SearchVersion int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// SearchSettings is one version of a datastore's search settings; see package searchsettings. A version never changes.
// Version numbers start at 1 and are never reused.
type SearchSettings struct {
	Version   int64
	JSON      []byte // nil when listing versions
	CreatedAt time.Time
}

// Serving returns the place that serves readers.
func (d Datastore) Serving() Place { return Place{Engine: d.Type, Model: d.EmbeddingModel} }

// Places returns the places (see Place) that receive new content: the one serving readers and, during a move, its
// target.
func (d Datastore) Places() []Place {
	if d.Move == nil {
		return []Place{d.Serving()}
	}
	return []Place{d.Serving(), d.Move.To}
}

// DatastorePatch changes a datastore. Nil fields are left unchanged. Changing Type or EmbeddingModel starts a move (see
// Place), which replaces any move in progress. If they name the place that serves readers, a move in progress is
// cancelled.
type DatastorePatch struct {
	Type           *Engine
	EmbeddingModel *string
	Name           *string
	Description    *string
	Visibility     *Visibility
	Chunking       *ChunkingPatch // for future chunks; existing chunks stay as they are until the content is read again
	OCRLanguages   *OCRLanguages  // for scans read from now on
}

// Destination returns the place (see Place) that the patch moves the datastore to. An engine or model not set by the
// patch stays the same. `named` is false if the patch sets neither.
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
