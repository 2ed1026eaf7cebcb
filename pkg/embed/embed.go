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

// Coverage returns the share, from 0 to 1, of text that a model knows the words of, and 1 for a model that cannot tell. An
// embedder tells by a method of the same name; one that stands before another leads to it by a method Unwrap.
func Coverage(e Embedder, text string) float64 {
	if teller, ok := find[interface{ Coverage(text string) float64 }](e); ok {
		return teller.Coverage(text)
	}
	return 1
}

// AtOnce reports whether an embedder has a query's vector at hand, as a Cache may that stands before a model or is led to by
// methods Unwrap. One that cannot tell has not.
func AtOnce(e Embedder, query string) bool {
	teller, ok := find[interface{ AtOnce(query string) bool }](e)
	return ok && teller.AtOnce(query)
}

// find returns the first of an embedder and those that it stands before that is a T.
func find[T any](e Embedder) (found T, ok bool) {
	for {
		if found, ok = e.(T); ok {
			return found, true
		}
		before, is := e.(interface{ Unwrap() Embedder })
		if !is {
			return found, false
		}
		e = before.Unwrap()
	}
}
