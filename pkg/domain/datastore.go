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
	EmbeddingModel string // id of the embedding model
	Chunking       Chunking
	OCRLanguages   OCRLanguages // of scans
	// Since is set by a move. In the place that serves readers, only rows of generations above Since are valid. Lower
	// generations are left over from an earlier time when the datastore was in the same place.
	Since uint64
	Move  *Move // nil: no move in progress
	// SearchVersion is the version of the settings that control its searches; 0: it has none. See SearchSettings.
	SearchVersion int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// SearchSettings is a version of the settings that control the searches of a datastore; see package searchsettings. A
// version never changes. The numbers of a datastore's versions start at 1 and are never used again.
type SearchSettings struct {
	Version   int64
	JSON      []byte // nil in lists of versions
	CreatedAt time.Time
}

// Serving returns the place that readers are served from.
func (d Datastore) Serving() Place { return Place{Engine: d.Type, Model: d.EmbeddingModel} }

// Places returns the places that new content is written to (see Place): the one that serves readers and, during a move,
// also the move's destination.
func (d Datastore) Places() []Place {
	if d.Move == nil {
		return []Place{d.Serving()}
	}
	return []Place{d.Serving(), d.Move.To}
}

// DatastorePatch changes a datastore. A nil field leaves the setting unchanged. Setting Type or EmbeddingModel starts a
// move (see Place) and replaces a move that is in progress. If the patch names the place that serves readers, the move
// in progress is cancelled.
type DatastorePatch struct {
	Type           *Engine
	EmbeddingModel *string
	Name           *string
	Description    *string
	Visibility     *Visibility
	Chunking       *ChunkingPatch // sizes of future chunks; existing content keeps its chunks until it is read again
	OCRLanguages   *OCRLanguages  // of scans read from now on
}

// Destination returns the place (see Place) to which the patch moves the datastore. If the patch does not set the
// engine or the model, the value of the place that serves readers is used. `named` is false if the patch sets neither.
func (p DatastorePatch) Destination(d Datastore) (to Place, named bool) {
	to = d.Serving()
	assignIf(&to.Engine, p.Type)
	assignIf(&to.Model, p.EmbeddingModel)
	return to, p.Type != nil || p.EmbeddingModel != nil
}

// Apply sets the fields of the patch in d, except Type and EmbeddingModel, which start a move.
func (p DatastorePatch) Apply(d *Datastore) {
	assignIf(&d.Name, p.Name)
	assignIf(&d.Description, p.Description)
	assignIf(&d.Visibility, p.Visibility)
	assignIf(&d.OCRLanguages, p.OCRLanguages)
	if p.Chunking != nil {
		d.Chunking = p.Chunking.Apply(d.Chunking)
	}
}
