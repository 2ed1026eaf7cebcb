package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// Names finds a datastore's datasources by any name that a judgement may use: a custom id, an id, a name or a web
// address.
type Names struct {
	ids map[string][]string // datasource ids by "kind:name"; the kinds are custom, id, name and url
}

// Add adds a datasource.
func (n *Names) Add(d service.Datasource) {
	if n.ids == nil {
		n.ids = map[string][]string{}
	}
	for _, name := range []string{"custom:" + d.CustomID, "id:" + d.ID, "name:" + d.Name, "url:" + d.URL} {
		if name[len(name)-1] != ':' && !slices.Contains(n.ids[name], d.ID) {
			n.ids[name] = append(n.ids[name], d.ID)
		}
	}
}

// find returns the ids of the datasources that `name` refers to. It compares `name` with custom ids, ids, names and web
// addresses, in this order, and stops at the first kind that matches. Several datasources may match; each of them then
// counts as correct.
func (n *Names) find(name string) []string {
	if n == nil {
		return nil
	}
	for _, kind := range []string{"custom:", "id:", "name:", "url:"} {
		if ids := n.ids[kind+name]; len(ids) > 0 {
			return ids
		}
	}
	return nil
}

// Truth holds the expected results for each question, as specified in the question file itself or in separate
// judgements.
type Truth struct {
	Cases   []Case
	Unknown []string // judged documents not in the datastore, without duplicates, in order of appearance
	Without []string // ids of questions without expected results, which are skipped
}

// ErrUnknown means that none of the judged documents is in the datastore.
var ErrUnknown = errors.New("none of the documents in the judgements is in the datastore; identify them by custom_id, datasource id, name or web address")

// NewTruth looks up the judged documents in the datastore. `judgements` may be nil. `names` may be nil if no question
// and no judgement names a document. Documents missing from the datastore still count as relevant, because otherwise
// the metrics would overstate the quality.
func NewTruth(questions []eval.Question, judgements eval.Judgements, names *Names) (Truth, error) {
	var t Truth
	missing, known := map[string]bool{}, 0
	for _, q := range questions {
		grades := judgements.Relevant(q.ID)
		for _, name := range q.Relevant {
			grades[name] = max(grades[name], 1)
		}
		if len(grades) == 0 && len(q.Answers) == 0 {
			t.Without = append(t.Without, q.ID)
			continue
		}
		c := Case{Question: q, Documents: grades, Of: map[string]string{}}
		for _, name := range sortedNames(grades) {
			ids := names.find(name)
			if len(ids) == 0 && !missing[name] {
				missing[name] = true
				t.Unknown = append(t.Unknown, name)
			}
			for _, id := range ids {
				c.Of[id] = name
				known++
			}
		}
		t.Cases = append(t.Cases, c)
	}
	if known == 0 && len(t.Unknown) > 0 {
		return t, fmt.Errorf("%w (the first is %q)", ErrUnknown, t.Unknown[0])
	}
	return t, nil
}

// NamesDocuments reports whether any question or judgement names documents.
func NamesDocuments(questions []eval.Question, judgements eval.Judgements) bool {
	return len(judgements) > 0 || slices.ContainsFunc(questions, func(q eval.Question) bool { return len(q.Relevant) > 0 })
}

func sortedNames(g eval.Grades) []string {
	return slices.Sorted(maps.Keys(g))
}
