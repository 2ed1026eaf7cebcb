package domain

import "time"

// Engine names the vector engine that holds a datastore's chunks.
type Engine string

// The engines.
const (
	EngineEmbedded Engine = "embedded"
	EngineMilvus   Engine = "milvus"
)

// Datastore holds datasources; its content is searched as one.
type Datastore struct {
	ID             string
	WorkspaceID    string
	Name           string
	Description    string
	Type           Engine
	Visibility     Visibility
	EmbeddingModel string // id of the embedding model its vectors were made with
	Chunking       Chunking
	// Since is the generation above which rows count in the place that serves readers: older ones there are left from
	// before the datastore moved in.
	Since     uint64
	Move      *Move // nil: it stays where it is
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Serving is the place that readers are served from.
func (d Datastore) Serving() Place { return Place{Engine: d.Type, Model: d.EmbeddingModel} }

// Places are where new content is written: the serving place and, during a move, the one it moves to.
func (d Datastore) Places() []Place {
	if d.Move == nil {
		return []Place{d.Serving()}
	}
	return []Place{d.Serving(), d.Move.To}
}

// DatastorePatch changes a datastore: nil leaves a field as it is. Type and EmbeddingModel begin a move, replace the
// one that is under way, or, when they name the place that serves readers, cancel it.
type DatastorePatch struct {
	Type           *Engine
	EmbeddingModel *string
	Name           *string
	Description    *string
	Visibility     *Visibility
	Chunking       *ChunkingPatch // how documents are cut from now on; what is there is cut anew when it is read again
}

// Destination is the place that the patch wants, the serving one when it names none.
func (p DatastorePatch) Destination(d Datastore) (to Place, named bool) {
	to = d.Serving()
	set(&to.Engine, p.Type)
	set(&to.Model, p.EmbeddingModel)
	return to, p.Type != nil || p.EmbeddingModel != nil
}

// Apply sets the fields that the patch carries, but for those of a move.
func (p DatastorePatch) Apply(d *Datastore) {
	set(&d.Name, p.Name)
	set(&d.Description, p.Description)
	set(&d.Visibility, p.Visibility)
	if p.Chunking != nil {
		d.Chunking = p.Chunking.Apply(d.Chunking)
	}
}
