package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// Names are the datasources of a datastore by all that a judgement may call them.
type Names struct {
	ids map[string][]string // by custom id, then id, then name, then address
}

// Add takes a datasource in. Its web address names it as well as its name does.
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

// find is the ids of the datasources that the judgement calls so. Several only where several have the name: any of them
// is right.
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

// Truth is what is right, put together from the questions' lines and, unless they are nil, from judgements. Names may be nil
// where documents are not judged.
type Truth struct {
	Cases   []Case   // the questions that are judged
	Unknown []string // documents that the judgements name and the datastore does not have, each once, in order of coming
	Without []string // questions that nothing is right for, which are left out, by id
}

// ErrUnknown says that the datastore has none of the documents that the judgements name.
var ErrUnknown = errors.New("the datastore has none of the documents that the judgements name: they are called by custom_id, datasource id, name or web address")

// NewTruth matches the judgements with the datastore. A document that the datastore does not have stays one that should
// have been found: to leave it out would make the figures better than the retrieval is.
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

// NamesDocuments reports whether a question or a judgement names documents.
func NamesDocuments(questions []eval.Question, judgements eval.Judgements) bool {
	return len(judgements) > 0 || slices.ContainsFunc(questions, func(q eval.Question) bool { return len(q.Relevant) > 0 })
}

func sortedNames(g eval.Grades) []string {
	names := make([]string, 0, len(g))
	for name := range g {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
