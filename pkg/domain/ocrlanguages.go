package domain

import (
	"fmt"
	"regexp"
	"strings"
)

// FieldOCRLanguages is the API field name used in errors from OCRLanguages.Check.
const FieldOCRLanguages = "ocrLanguages"

// MaxOCRLanguages is the maximum number of languages for OCR. Each additional language makes recognition slower.
const MaxOCRLanguages = 6

var ocrLanguagePattern = regexp.MustCompile(`^[a-z]{3}(_[A-Za-z]{2,10}){0,2}$`)

// IsOCRLanguage reports whether name has the format of a Tesseract language name, such as "deu" or "chi_sim".
func IsOCRLanguage(name string) bool { return ocrLanguagePattern.MatchString(name) }

// OCRLanguages is a comma-separated list of Tesseract language names. "" means the languages configured for the
// service.
type OCRLanguages string

// Names returns the names, or nil if there are none.
func (l OCRLanguages) Names() []string {
	if l == "" {
		return nil
	}
	return strings.Split(string(l), ",")
}

// Check returns an error for each entry that isn't a language name, and one if there are too many.
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
