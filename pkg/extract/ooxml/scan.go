package ooxml

import "encoding/xml"

// RelationID is the relationship that the element names: the id attribute in a name space of its own.
func RelationID(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}
