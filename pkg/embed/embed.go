// Package embed turns text into vectors, using either a built-in model that needs no download or any server that
// supports the OpenAI embeddings API.
package embed

import (
	"context"
	"slices"
	"strings"
)

// Purpose says what a text is embedded for. Some models treat queries and passages differently.
type Purpose int

// Purposes for embedding texts.
const (
	Passage Purpose = iota
	Query
)

// Model identifies the model that computed a vector. Vectors from different models cannot be compared.
type Model struct {
	ID         string // stable, because datastores store it ("builtin-en-256-v1", "openai:text-embedding-3-small")
	Dimensions int
}

// shortenable lists substrings in the names of models with Matryoshka embeddings, whose vectors can be truncated to
// their first dimensions.
var shortenable = []string{
	"text-embedding-3-", "embeddinggemma", "qwen3-embedding", "mxbai-embed-large", "mxbai-embed-2d", "nomic-embed-text-v1.5", "nomic-embed-text-v2",
	"snowflake-arctic-embed2", "snowflake-arctic-embed-m-v1.5", "snowflake-arctic-embed-m-v2", "snowflake-arctic-embed-l-v2", "jina-embeddings-v3", "jina-embeddings-v4",
}

// CanShorten reports whether, judging by the model's name, its vectors can be truncated to their first dimensions and
// rescaled to unit length.
func CanShorten(m Model) bool {
	id := strings.ToLower(m.ID)
	return slices.ContainsFunc(shortenable, func(name string) bool { return strings.Contains(id, name) })
}

// Embedder turns texts into vectors of unit length. A text without any known word has a zero vector. An Embedder is
// safe for concurrent use.
type Embedder interface {
	Model() Model
	// Embed returns one vector per text, in order. Texts that are too long for the model are truncated, not rejected.
	// Temporary errors (timeouts, 429, 5xx) are retried until ctx is done, and only then returned.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}

// Coverage returns the fraction of the text, from 0 to 1, that consists of words known to the model. It calls the
// Coverage method of e or of the first embedder wrapped by e that has one. If there is none, it returns 1.
func Coverage(e Embedder, text string) float64 {
	if covered, ok := find[interface{ Coverage(text string) float64 }](e); ok {
		return covered.Coverage(text)
	}
	return 1
}

// IsCached reports whether a query's vector is available without waiting, for example from a Cache. It calls the
// IsCached method of e or of the first embedder wrapped by e that has one. If there is none, it returns false.
func IsCached(e Embedder, query string) bool {
	cached, ok := find[interface{ IsCached(query string) bool }](e)
	return ok && cached.IsCached(query)
}

// find returns e if it implements T, or else the first embedder wrapped by e that does. `ok` is false if there is none.
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
