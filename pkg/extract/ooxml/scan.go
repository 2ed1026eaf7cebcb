package ooxml

import "encoding/xml"

// RelationID returns the id of the relationship that the element refers to: the attribute with the local name in the
// namespace of relationships.
func RelationID(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}
