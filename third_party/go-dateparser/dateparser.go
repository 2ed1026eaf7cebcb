// Package dateparser stands in for github.com/markusmobius/go-dateparser, with the part of its interface that
// go-htmldate calls. The original builds tables of 200 languages when the program starts: 80 MB of memory and most
// of a second in every process, for a guess at publication dates that Sluice does not ask go-trafilatura to make.
// This one reads dates in the common numeric and English forms and builds nothing.
package dateparser

import (
	"fmt"
	"strings"
	"time"

	"github.com/markusmobius/go-dateparser/date"
)

// ParserType is a way of parsing. All are the same here.
type ParserType uint8

// The ways of parsing that callers name.
const (
	CustomFormat ParserType = iota
	AbsoluteTime
)

// PreferredDateSource says how an incomplete date is completed. Incomplete dates are not read here.
type PreferredDateSource uint8

// Past completes a date with the past.
const Past PreferredDateSource = 1

// Configuration tunes parsing. It changes nothing here.
type Configuration struct {
	PreferredDateSource PreferredDateSource
	StrictParsing       bool
}

// Parser parses dates.
type Parser struct {
	ParserTypes []ParserType
}

var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", "2006/01/02", "02.01.2006",
	time.RFC1123Z, time.RFC1123, "2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", "Monday, January 2, 2006",
}

// Parse reads a date in one of the given layouts of package time, or one of the common ones.
func (p *Parser) Parse(_ *Configuration, text string, formats ...string) (date.Date, error) {
	text = strings.TrimSpace(text)
	for _, list := range [][]string{formats, layouts} {
		for _, layout := range list {
			if t, err := time.Parse(layout, text); err == nil {
				return date.Date{Time: t}, nil
			}
		}
	}
	return date.Date{}, fmt.Errorf("no known form of date: %q", text)
}
