// Package whatlanggo stands in for github.com/RadhiFadlillah/whatlanggo, with the part of its interface that go-trafilatura
// calls. go-trafilatura tells the language of every page, by counting the trigrams of all its text: a third of the time that
// reading a page takes, for an answer that Sluice does not ask for. This one does not tell.
package whatlanggo

// Lang is a language. The only one is unknown.
type Lang struct{}

// DetectLang does not tell the language of a text.
func DetectLang(string) Lang { return Lang{} }

// Iso6391 is the empty code of an unknown language.
func (Lang) Iso6391() string { return "" }
