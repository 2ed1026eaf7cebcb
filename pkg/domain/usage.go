package domain

// Metric names what is counted, and what can be limited.
type Metric string

// What is counted per workspace, key and calendar month (UTC).
const (
	MetricQueries          Metric = "queries"           // agent queries
	MetricTokens           Metric = "tokens"            // prompt and completion tokens of agent queries
	MetricPromptTokens     Metric = "prompt_tokens"     // those of prompts
	MetricCompletionTokens Metric = "completion_tokens" // those of answers
	MetricRetrievals       Metric = "retrievals"        // datastore queries
	MetricEmbedTokens      Metric = "embed_tokens"      // tokens sent to an embedding model
)

// What a workspace has at the moment.
const (
	MetricStoredChunks Metric = "stored_chunks" // searchable chunks
	MetricStoredBytes  Metric = "stored_bytes"  // bytes of the content that was accepted, as it came in
)

// LimitRequests limits the requests of a key in a second. It is not counted.
const LimitRequests Metric = "requests_per_second"

// Limits bound what may be used, by metric; what is absent or 0 has no limit.
type Limits map[Metric]int64

// Stricter returns for each metric the lower of both limits.
func (l Limits) Stricter(other Limits) Limits {
	out := make(Limits, len(l)+len(other))
	for _, limits := range []Limits{l, other} {
		for m, n := range limits {
			if has := out[m]; n > 0 && (has == 0 || n < has) {
				out[m] = n
			}
		}
	}
	return out
}

// Limited reports whether there is any limit.
func (l Limits) Limited() bool {
	for _, n := range l {
		if n > 0 {
			return true
		}
	}
	return false
}

// Account is what a use is counted to.
type Account struct {
	WorkspaceID string
	KeyID       string // of the workspace; "": it was used without a key, or with one of another workspace
}
