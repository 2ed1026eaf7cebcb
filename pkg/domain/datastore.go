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
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// DatastorePatch changes a datastore: nil leaves a field as it is.
type DatastorePatch struct {
	Name        *string
	Description *string
	Visibility  *Visibility
}

// Apply sets the fields that the patch carries.
func (p DatastorePatch) Apply(d *Datastore) {
	set(&d.Name, p.Name)
	set(&d.Description, p.Description)
	set(&d.Visibility, p.Visibility)
}
