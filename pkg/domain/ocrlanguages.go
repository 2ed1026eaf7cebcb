package domain

import (
	"fmt"
	"regexp"
	"strings"
)

// FieldOCRLanguages is the name of the API field, as used in the faults that OCRLanguages.Check returns.
const FieldOCRLanguages = "ocrLanguages"

// MaxOCRLanguages is the maximum number of languages in which the text of scans is recognised. Each language adds to
// the time per page.
const MaxOCRLanguages = 6

var ocrLanguagePattern = regexp.MustCompile(`^[a-z]{3}(_[A-Za-z]{2,10}){0,2}$`)

// IsOCRLanguage reports whether a name has the form of a Tesseract language name, such as "deu" or "chi_sim".
func IsOCRLanguage(name string) bool { return ocrLanguagePattern.MatchString(name) }

// OCRLanguages holds the names of languages as Tesseract knows them, joined by commas. "" means that the languages
// configured for the service are used.
type OCRLanguages string

// Names returns the names, or nil if there are none.
func (l OCRLanguages) Names() []string {
	if l == "" {
		return nil
	}
	return strings.Split(string(l), ",")
}

// Check returns a fault for each entry that is not a language name, and another fault if there are too many entries.
func (l OCRLanguages) Check() []FieldError {
	var faults []FieldError
	names := l.Names()
	for i, name := range names {
		if !IsOCRLanguage(name) {
			faults = append(faults, FieldError{Field: fmt.Sprintf("%s[%d]", FieldOCRLanguages, i),
				Message: fmt.Sprintf("is %.40q; use a name that tesseract --list-langs prints, such as deu or chi_sim", name)})
		}
	}
	if len(names) > MaxOCRLanguages {
		faults = append(faults, FieldError{Field: FieldOCRLanguages, Message: fmt.Sprintf("has %d entries; the limit is %d", len(names), MaxOCRLanguages)})
	}
	return faults
}
