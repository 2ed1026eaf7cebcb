package domain

// Metric is a quantity that is counted or limited.
type Metric string

// Metrics counted per workspace, key and calendar month (UTC).
const (
	MetricQueries          Metric = "queries"           // agent queries
	MetricTokens           Metric = "tokens"            // prompt and completion tokens of agent queries
	MetricPromptTokens     Metric = "prompt_tokens"     // prompt tokens
	MetricCompletionTokens Metric = "completion_tokens" // answer tokens
	MetricRetrievals       Metric = "retrievals"        // datastore queries
	MetricEmbedTokens      Metric = "embed_tokens"      // tokens sent to an embedding model
)

// Metrics about a workspace's current content.
const (
	MetricStoredChunks Metric = "stored_chunks" // searchable chunks
	MetricStoredBytes  Metric = "stored_bytes"  // bytes of accepted content, as uploaded or fetched
)

// LimitRequests is the maximum number of requests per second that each api process accepts for a key. It is only a
// limit, not a counter.
const LimitRequests Metric = "requests_per_second"

// Limits maps metrics to their maximum values. Absent or zero means unlimited.
type Limits map[Metric]int64

// Stricter returns the lower of two limits for each metric.
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

// Limited reports whether at least one metric is limited.
func (l Limits) Limited() bool {
	for _, n := range l {
		if n > 0 {
			return true
		}
	}
	return false
}

// Account is the workspace and key to which usage is charged.
type Account struct {
	WorkspaceID string
	KeyID       string // id of the API key if it belongs to the workspace; otherwise ""
}
