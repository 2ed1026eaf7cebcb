// Package longdocs generates long contracts and annual reports, and questions about them. As in real documents, most of
// the wording is the same everywhere: similar passages differ only by party, section or table. The same seed always
// gives the same documents.
package longdocs

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Document is a generated document. Its name's extension is its type.
type Document struct {
	Name string
	Text string
}

// Question is a question that one passage answers.
type Question struct {
	Kind     string // e.g. "clause of a party"; figures are averaged per kind
	Text     string
	Document string // name of the document with the passage
	Answer   string // text in the passage, ignoring white space
}

// Set is a set of documents with questions.
type Set struct {
	Name      string
	Documents []Document
	Questions []Question
}

// writer creates a set's documents.
type writer struct {
	*rand.Rand
	set Set
}

func newWriter(name string, seed uint64) *writer {
	return &writer{Rand: rand.New(rand.NewPCG(seed, 1)), set: Set{Name: name}}
}

func (w *writer) pick(from []string) string { return from[w.IntN(len(from))] }

func (w *writer) ask(kind, document, answer, format string, values ...any) {
	w.set.Questions = append(w.set.Questions, Question{Kind: kind, Document: document, Answer: answer, Text: fmt.Sprintf(format, values...)})
}

// amount returns an amount of money with thousands separators.
func (w *writer) amount(from, to int) string { return grouped(from + w.IntN(to-from)) }

// grouped formats a number with thousands separators, and in parentheses if it is negative, as in accounting.
func grouped(n int) string {
	if n < 0 {
		return "(" + grouped(-n) + ")"
	}
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// date returns a date in a given year.
func (w *writer) date(year int) string {
	return fmt.Sprintf("%s %d, %d", w.pick(months), 1+w.IntN(28), year)
}

var months = strings.Fields("January February March April May June July August September October November December")

// company returns a name used in no other document.
func (w *writer) company(i int) string {
	return names[i%len(names)] + " " + fields[(i/len(names)+i)%len(fields)] + " " + forms[i%len(forms)]
}

var names = strings.Fields(`Alderbrook Bexley Calloway Dunmore Eastvale Fairholm Glenrock Hartwell Ironbridge Jessamine Kestrel Larkfield
	Marlowe Northgate Oakhurst Pemberton Quillan Ravenswood Stonehaven Thornbury Umberland Vantage Westmere Yarrow Zephyr Ashcombe
	Briarwood Cresswell Dovedale Elmsford Foxglove Greystone Hollins Inverness Juniper Kingsway Lindale Merrivale Newcombe Orchard`)

var (
	fields = []string{"Logistics", "Biosciences", "Energy", "Software", "Foods", "Materials", "Networks", "Properties", "Robotics", "Textiles"}
	forms  = []string{"Inc.", "LLC", "Corporation", "Ltd.", "Holdings, Inc.", "L.P.", "GmbH", "plc"}
)
