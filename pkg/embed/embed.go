// Package embed turns text into vectors. It uses a built-in model, which needs no download, or any server that supports
// the OpenAI embeddings API.
package embed

import (
	"context"
	"slices"
	"strings"
)

// Purpose says what an embedded text is used for. Some models treat queries and passages differently.
type Purpose int

// Purposes of embedded texts.
const (
	Passage Purpose = iota
	Query
)

// Model identifies the model that computed a vector. Vectors of different models must not be compared.
type Model struct {
	ID         string // stable, because every datastore stores it ("builtin-en-256-v1", "openai:text-embedding-3-small")
	Dimensions int
}

// shortenable lists substrings of the names of models with Matryoshka embeddings. The first dimensions of such a
// model's vectors can be used as shorter vectors.
var shortenable = []string{
	"text-embedding-3-", "embeddinggemma", "qwen3-embedding", "mxbai-embed-large", "mxbai-embed-2d", "nomic-embed-text-v1.5", "nomic-embed-text-v2",
	"snowflake-arctic-embed2", "snowflake-arctic-embed-m-v1.5", "snowflake-arctic-embed-m-v2", "snowflake-arctic-embed-l-v2", "jina-embeddings-v3", "jina-embeddings-v4",
}

// CanShorten reports whether the model's vectors can be cut to their first dimensions and scaled to unit length again.
// It decides by the model's name.
func CanShorten(m Model) bool {
	id := strings.ToLower(m.ID)
	return slices.ContainsFunc(shortenable, func(name string) bool { return strings.Contains(id, name) })
}

// Embedder turns texts into vectors of unit length. If the model knows none of the words in a text, the text's vector
// is zero. An Embedder is safe for concurrent use.
type Embedder interface {
	Model() Model
	// Embed returns one vector per text, in the order of the texts. Texts that are too long for the model are
	// truncated, not rejected. Temporary errors (time-outs, 429, 5xx) are retried until ctx is done, and only then
	// returned.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}

// Coverage returns how much of the text consists of words that the model knows, from 0 to 1. If e has no Coverage
// method, the embedders that e wraps are tried in turn. If no embedder has the method, Coverage returns 1.
func Coverage(e Embedder, text string) float64 {
	if covered, ok := find[interface{ Coverage(text string) float64 }](e); ok {
		return covered.Coverage(text)
	}
	return 1
}

// IsCached reports whether an embedder can return a query's vector without waiting, for example from a Cache. If e has
// no IsCached method, the embedders that e wraps are tried in turn. If no embedder has the method, IsCached returns
// false.
func IsCached(e Embedder, query string) bool {
	cached, ok := find[interface{ IsCached(query string) bool }](e)
	return ok && cached.IsCached(query)
}

// find returns e as a T if it implements T. Otherwise, it unwraps e with Unwrap methods until it reaches an embedder
// that implements T. If there is no such embedder, ok is false.
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
