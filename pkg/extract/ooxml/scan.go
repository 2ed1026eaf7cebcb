package ooxml

import "encoding/xml"

// RelationID returns the id of the relationship that an element refers to, i.e. its namespaced attribute with the given
// local name.
func RelationID(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}
