// Package embed turns text into vectors: with a built-in model that needs no download, or with any server that
// speaks the OpenAI embeddings API.
package embed

import "context"

// Purpose says what a text is embedded for; some models treat queries and passages differently.
type Purpose int

// The purposes.
const (
	Passage Purpose = iota
	Query
)

// Model identifies what made a vector. Vectors of different models are never compared.
type Model struct {
	ID         string // stable: stored with every datastore ("builtin-en-256-v1", "openai:text-embedding-3-small")
	Dimensions int
}

// Embedder turns texts into vectors of unit length (or of length zero for a text the model knows nothing of).
// It is safe for concurrent use.
type Embedder interface {
	Model() Model
	// Embed returns one vector per text, in order. Texts longer than the model takes are cut, not refused. Errors
	// that pass by themselves (time-outs, 429, 5xx) are retried within ctx before they are returned.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}
