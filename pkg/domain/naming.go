package domain

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTitleName bounds a name that a document gives itself, in characters.
const maxTitleName = 300

// nameByDocument gives a page that nobody has named the title of the document behind it, instead of its address. The job's
// name stays the address: what was read with that is not to be read again for a name that has come of it.
func (d *Datasource) nameByDocument() {
	c := &d.Config
	if d.Type != TypeWebPage || d.Name != c.SourceURL && !c.NamedByDocument {
		return
	}
	d.Name, c.NamedByDocument = c.SourceURL, false
	if c.Document == nil {
		return
	}
	if title := usefulTitle(c.Document.Title); title != "" {
		d.Name, c.NamedByDocument = title, true
	}
}

// jobName is the name under which jobs know the datasource.
func (d *Datasource) jobName() string {
	if d.Config.NamedByDocument {
		return d.Config.SourceURL
	}
	return d.Name
}

// writers are what programs put before the name of the file that they have printed.
var writers = []string{"microsoft word - ", "microsoft powerpoint - ", "microsoft excel - "}

// noTitles are what programs call documents that nobody has named.
var noTitles = map[string]bool{
	"untitled": true, "untitled document": true, "untitled-1": true, "document": true, "document1": true, "document 1": true,
	"title": true, "no title": true, "presentation": true, "presentation1": true, "powerpoint presentation": true,
	"slide 1": true, "book1": true, "sheet1": true, "workbook": true, "unbenannt": true, "dokument1": true, "sans titre": true,
}

// documentFiles are the extensions of file names that stand where a title should.
var documentFiles = map[string]bool{
	".doc": true, ".docx": true, ".dot": true, ".dotx": true, ".ppt": true, ".pptx": true, ".xls": true, ".xlsx": true, ".pdf": true, ".eml": true, ".mht": true, ".mhtml": true,
	".rtf": true, ".odt": true, ".indd": true, ".qxd": true, ".tex": true, ".dvi": true, ".ps": true, ".txt": true, ".html": true, ".tmp": true,
}

// usefulTitle is the title as a name, "" when it says nothing to people: a program's word for what has no title, or the
// name of the file that the document was made from.
func usefulTitle(title string) string {
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "")), " ")
	for _, w := range writers {
		if len(title) > len(w) && strings.EqualFold(title[:len(w)], w) {
			title = title[len(w):]
		}
	}
	low := strings.ToLower(title)
	switch {
	case utf8.RuneCountInString(title) < 2, !strings.ContainsFunc(title, unicode.IsLetter), noTitles[low], documentFiles[path.Ext(low)]:
		return ""
	}
	if r := []rune(title); len(r) > maxTitleName {
		title = strings.TrimSpace(string(r[:maxTitleName-1])) + "…"
	}
	return title
}
