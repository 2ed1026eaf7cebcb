package domain

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Maximum length in characters of a name taken from a document's title.
const maxTitleName = 300

// nameByDocument names a page after its document's title unless the caller named it. Jobs keep using the address as the
// page's name. Otherwise, a new title would cause the content to be read again.
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

func (d *Datasource) jobName() string {
	if d.Config.NamedByDocument {
		return d.Config.SourceURL
	}
	return d.Name
}

// nameProgramPrefixes are prefixes that programs add to the names of printed files.
var nameProgramPrefixes = []string{"microsoft word - ", "microsoft powerpoint - ", "microsoft excel - "}

// defaultTitles are titles that programs give to untitled documents.
var defaultTitles = map[string]bool{
	"untitled": true, "untitled document": true, "untitled-1": true, "document": true, "document1": true, "document 1": true,
	"title": true, "no title": true, "presentation": true, "presentation1": true, "powerpoint presentation": true,
	"slide 1": true, "book1": true, "sheet1": true, "workbook": true, "unbenannt": true, "dokument1": true, "sans titre": true,
}

// documentFiles lists file name extensions. A title that ends in one of them is just the name of the document's source
// file.
var documentFiles = map[string]bool{
	".doc": true, ".docx": true, ".dot": true, ".dotx": true, ".ppt": true, ".pptx": true, ".xls": true, ".xlsx": true, ".pdf": true, ".eml": true, ".mht": true, ".mhtml": true,
	".rtf": true, ".odt": true, ".ods": true, ".odp": true, ".indd": true, ".qxd": true, ".tex": true, ".dvi": true, ".ps": true, ".txt": true, ".html": true, ".tmp": true,
}

// usefulTitle returns the title as a name, or "" if it is just a program's placeholder or a source file's name.
func usefulTitle(title string) string {
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "")), " ")
	for _, w := range nameProgramPrefixes {
		if len(title) > len(w) && strings.EqualFold(title[:len(w)], w) {
			title = title[len(w):]
		}
	}
	low := strings.ToLower(title)
	switch {
	case utf8.RuneCountInString(title) < 2, !strings.ContainsFunc(title, unicode.IsLetter), defaultTitles[low], documentFiles[path.Ext(low)]:
		return ""
	}
	if r := []rune(title); len(r) > maxTitleName {
		title = strings.TrimSpace(string(r[:maxTitleName-1])) + "…"
	}
	return title
}
