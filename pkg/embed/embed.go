// Package embed turns text into vectors, either with a built-in model that needs no download or with any server that
// supports the OpenAI embeddings API.
package embed

import "context"

// Purpose is the use of an embedded text. Some models treat queries and passages differently.
type Purpose int

// The purposes.
const (
	Passage Purpose = iota
	Query
)

// Model identifies the model of a vector. Vectors of different models are never compared.
type Model struct {
	ID         string // stable: stored with every datastore ("builtin-en-256-v1", "openai:text-embedding-3-small")
	Dimensions int
}

// Embedder turns texts into vectors of unit length. A text in which the model knows no word gets a vector of length
// zero. It is safe for concurrent use.
type Embedder interface {
	Model() Model
	// Embed returns one vector per text, in order. Texts longer than the model accepts are truncated, not rejected.
	// Temporary errors (time-outs, 429, 5xx) are retried within ctx before they are returned.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}

// Coverage returns the share of text, from 0 to 1, whose words the model knows. It calls the embedder's method of the
// same name, looking through wrappers by their method Unwrap. If there is no such method, it returns 1.
func Coverage(e Embedder, text string) float64 {
	if covered, ok := find[interface{ Coverage(text string) float64 }](e); ok {
		return covered.Coverage(text)
	}
	return 1
}

// IsCached reports whether an embedder can return a query's vector without waiting, for example from a Cache. It calls
// the embedder's method of the same name, looking through wrappers by their method Unwrap. If there is no such method,
// it returns false.
func IsCached(e Embedder, query string) bool {
	cached, ok := find[interface{ IsCached(query string) bool }](e)
	return ok && cached.IsCached(query)
}

// find returns the first T among an embedder and the embedders that it wraps.
func find[T any](e Embedder) (found T, ok bool) {
	for {
		if found, ok = e.(T); ok {
			return found, true
		}
		wrapper, is := e.(interface{ Unwrap() Embedder })
		if !is {
			return found, false
		}
		e = wrapper.Unwrap()
	}
}
