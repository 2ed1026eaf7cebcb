package ooxml

import "encoding/xml"

// RelationID returns the id of the relationship to which an element refers: the value of its attribute with the given
// local name and a namespace.
func RelationID(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}
