package remote

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Parameters are those of one request with their values, by the names that the server's API has for them.
type Parameters map[string]float64

// Quirks is what models have been found to refuse: reasoning models take no temperature, older servers do not know newer
// parameters, and each model has a most that it writes. It is learned from their refusals, which cost nothing but the way
// there and back, so no list of models has to be kept. The zero value is ready; it is safe for concurrent use.
type Quirks struct {
	mu      sync.Mutex
	byModel map[string]Quirk
}

// Quirk is what is known of one model.
type Quirk struct {
	refused map[string]bool
	most    float64
}

// maxModels bounds what is remembered; there are as many models as the configuration names.
const maxModels = 1000

// Of returns what is known of a model.
func (q *Quirks) Of(model string) Quirk {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byModel[model]
}

// Refuses reports whether the model is known to refuse a parameter.
func (q Quirk) Refuses(name string) bool { return q.refused[name] }

// Most is n, or the most tokens that the model is known to write.
func (q Quirk) Most(n int) float64 {
	if q.most > 0 {
		return min(float64(n), q.most)
	}
	return float64(n)
}

// overMost is how servers name the most that a model may write.
var overMost = regexp.MustCompile(`(?i)(?:at most|less than or equal to|> ?) ?(\d+)`)

// SystemRole represents, among the parameters, a message with the role system. The templates of some models reject it, or accept
// only user and assistant turns.
const SystemRole = "system role"

// refusesSystem matches the errors with which servers and model templates reject a system message.
var refusesSystem = regexp.MustCompile(`(?i)\bsystem['"]? (?:role|message|prompt|instruction)s?\b.{0,60}\b(?:not|unsupported|invalid|must alternate)\b` +
	`|\b(?:not|unsupported|invalid|unexpected|unknown)\b.{0,40}(?:['"]system['"]|\bsystem (?:role|message|prompt|instruction)|\brole\W+system\b)` +
	`|['"]system['"] is not` +
	`|\bdeveloper instruction\b` +
	`|\broles? must alternate\b` +
	`|\bonly ['"]?user['"]?(?:,| and| or) (?:and |or )?['"]?(?:assistant|model)\b` +
	`|\bshould be ['"]user['"](?:,| or) (?:or )?['"](?:assistant|model)\b`)

// Learn reads a refusal. It reports whether the same question would now be put in another way.
func (q *Quirks) Learn(model string, s *Status, sent Parameters) bool {
	at := ""
	switch {
	case s.TooLong() || s.Filtered():
	case s.HTTP == http.StatusBadRequest || s.HTTP == http.StatusUnprocessableEntity:
		at = blamed(s, sent)
	case s.HTTP == http.StatusInternalServerError && refusesSystem.MatchString(s.Message): // of llama.cpp, whose templates fail
		at = blamed(s, Parameters{SystemRole: sent[SystemRole]})
	}
	if _, wasSent := sent[at]; !wasSent {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.byModel[model]
	if found := overMost.FindStringSubmatch(s.Message); found != nil && strings.HasPrefix(at, "max_") {
		most, err := strconv.ParseFloat(found[1], 64)
		if err != nil || most < 1 || most >= sent[at] {
			return false
		}
		known.most = most
	} else {
		refused := map[string]bool{at: true}
		maps.Copy(refused, known.refused)
		known.refused = refused
	}
	if q.byModel == nil || len(q.byModel) >= maxModels {
		q.byModel = map[string]Quirk{}
	}
	q.byModel[model] = known
	return true
}

// blamed is the parameter of a request that a refusal names: in a field of its own, else first in its text.
func blamed(s *Status, sent Parameters) string {
	if _, ok := sent[s.Param]; ok {
		return s.Param
	}
	if _, ok := sent[SystemRole]; ok && refusesSystem.MatchString(s.Message) {
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

// wordIndex is where a name stands in a text as a word of its own, -1 if it does not: top_p is not in top_p_min.
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
