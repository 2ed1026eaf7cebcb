package remote

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Parameters are one request's parameters, by their names in the server's API.
type Parameters map[string]float64

// ModelLimits records which parameters models reject: reasoning models reject temperature, older servers don't know
// newer parameters, and each model has an output limit. It learns from rejections, which cost only a round trip, so
// that nobody has to maintain a list of models. The zero value is ready for use. It is safe for concurrent use.
type ModelLimits struct {
	mu      sync.Mutex
	byModel map[string]ModelLimit
}

// ModelLimit holds one model's known restrictions.
type ModelLimit struct {
	refused   map[string]bool
	maxTokens float64
}

// Maximum number of models in ModelLimits. In practice, it contains only the configured models.
const maxModels = 1000

// Of returns a model's known restrictions.
func (q *ModelLimits) Of(model string) ModelLimit {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byModel[model]
}

// Refuses reports whether the model is known to reject a parameter.
func (q ModelLimit) Refuses(name string) bool { return q.refused[name] }

// MaxTokens returns n, or the model's output limit if that is known and smaller.
func (q ModelLimit) MaxTokens(n int) float64 {
	if q.maxTokens > 0 {
		return min(float64(n), q.maxTokens)
	}
	return float64(n)
}

// maxTokensPattern matches the output limit in an error message.
var maxTokensPattern = lazyregexp.New(`(?i)(?:at most|less than or equal to|> ?) ?(\d+)`)

// SystemRole stands for system messages as if they were a parameter, because some models' chat templates reject them.
const SystemRole = "system role"

// refusesSystem matches error messages from servers and model templates that reject system messages.
var refusesSystem = lazyregexp.New(`(?i)\bsystem['"]? (?:role|message|prompt|instruction)s?\b.{0,60}\b(?:not|unsupported|invalid|must alternate)\b` +
	`|\b(?:not|unsupported|invalid|unexpected|unknown)\b.{0,40}(?:['"]system['"]|\bsystem (?:role|message|prompt|instruction)|\brole\W+system\b)` +
	`|['"]system['"] is not` +
	`|\bdeveloper instruction\b` +
	`|\broles? must alternate\b` +
	`|\bonly ['"]?user['"]?(?:,| and| or) (?:and |or )?['"]?(?:assistant|model)\b` +
	`|\bshould be ['"]user['"](?:,| or) (?:or )?['"](?:assistant|model)\b`)

// Learn records what a rejection reveals about a model. It reports whether a retry would now send something different.
func (q *ModelLimits) Learn(model string, s *Status, sent Parameters) bool {
	at := ""
	switch {
	case s.TooLong() || s.Filtered():
	case s.HTTP == http.StatusBadRequest || s.HTTP == http.StatusUnprocessableEntity:
		at = rejectedParameter(s, sent)
	case s.HTTP == http.StatusInternalServerError && refusesSystem().MatchString(s.Message): // llama.cpp's status for a failing template
		at = rejectedParameter(s, Parameters{SystemRole: sent[SystemRole]})
	}
	if _, wasSent := sent[at]; !wasSent {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.byModel[model]
	if found := maxTokensPattern().FindStringSubmatch(s.Message); found != nil && strings.HasPrefix(at, "max_") {
		limit, err := strconv.ParseFloat(found[1], 64)
		if err != nil || limit < 1 || limit >= sent[at] {
			return false
		}
		known.maxTokens = limit
	} else {
		refused := map[string]bool{at: true}
		maps.Copy(refused, known.refused)
		known.refused = refused
	}
	if q.byModel == nil || len(q.byModel) >= maxModels {
		q.byModel = map[string]ModelLimit{}
	}
	q.byModel[model] = known
	return true
}

// rejectedParameter returns the parameter that the server rejected: the error's Param if the request contained it, and
// otherwise the first parameter mentioned in the message.
func rejectedParameter(s *Status, sent Parameters) string {
	if _, ok := sent[s.Param]; ok {
		return s.Param
	}
	if _, ok := sent[SystemRole]; ok && refusesSystem().MatchString(s.Message) {
		return SystemRole
	}
	best, at := "", -1
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if i := wordIndex(s.Message, name); i >= 0 && (at < 0 || i < at) {
			best, at = name, i
		}
	}
	return best
}

// wordIndex returns the index of name's first occurrence as a separate word, or -1. top_p_min does not contain top_p.
func wordIndex(text, name string) int {
	isPart := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z' || text[i] >= '0' && text[i] <= '9')
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return -1
		}
		i += from
		if !isPart(i-1) && !isPart(i+len(name)) {
			return i
		}
		from = i + len(name)
	}
}
