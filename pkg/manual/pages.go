package manual

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// frontPage is the front page's file name. Its headings and lists of links become the navigation.
const frontPage = "README.md"

type page struct {
	source   string // path in the directory
	at       string // request path
	title    string
	markdown []byte
	text     template.HTML
	headings []heading // below the title
	passages []passage
	lists    []section // the page's lists of links, each with the heading above it
}

// heading is a heading below a page's title.
type heading struct {
	level int
	text  string
	id    string
}

// section is a heading and the pages linked in the list below it.
type section struct {
	Title string
	Links []link
}

// link is an entry in a section. It holds the title and address of a page.
type link struct {
	Title string
	At    string
	Here  bool // whether the link points to the current page
}

type pages struct {
	list       []page
	navigation []section
}

func readPages(source fs.FS) (*pages, error) {
	var all pages
	err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		markdown, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		p, err := render(source, name, markdown)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		all.list = append(all.list, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	all.navigate()
	return &all, nil
}

// navigate builds the navigation from the front page. Pages that the front page doesn't link to come last. Pages in
// subdirectories are left out unless the front page links to them.
func (a *pages) navigate() {
	named := map[string]bool{Root: true}
	for _, p := range a.list {
		if p.source == frontPage {
			a.navigation = p.lists
		}
	}
	for _, s := range a.navigation {
		for _, l := range s.Links {
			named[l.At] = true
		}
	}
	more := section{Title: "More"}
	for _, p := range a.list {
		if !named[p.at] && !strings.Contains(p.source, "/") {
			more.Links = append(more.Links, link{Title: p.title, At: p.at})
		}
	}
	if more.Links != nil {
		a.navigation = append(a.navigation, more)
	}
}

// view is the layout template's data.
type view struct {
	Title      string
	Source     string
	Text       template.HTML
	Navigation []section
	Headings   []link
}

func (a *pages) view(p page) view {
	v := view{Title: p.title, Source: p.source, Text: p.text}
	at := p.at
	if dir := path.Dir(p.source); dir != "." {
		at = Root + "/" + dir // for a page in a directory, highlight the directory's entry
	}
	for _, s := range a.navigation {
		s.Links = slices.Clone(s.Links)
		for i := range s.Links {
			s.Links[i].Here = s.Links[i].At == at
		}
		v.Navigation = append(v.Navigation, s)
	}
	for _, h := range p.headings {
		if h.level == 2 {
			v.Headings = append(v.Headings, link{Title: h.text, At: "#" + h.id})
		}
	}
	return v
}

func (a *pages) searcher() *searcher {
	all := []passage{{page: "API reference", at: Reference, factor: 1, text: "Every endpoint with its fields, bounds, answers and status codes."}}
	for _, p := range a.list {
		all = append(all, p.passages...)
	}
	return newSearcher(all)
}
