package pdftext

import "github.com/ledongthuc/pdf"

// maxGroups bounds how many groups of optional content are looked at.
const maxGroups = 10_000

// hiddenGroups are the groups of optional content (layers) that the file has switched off, by object number.
func (d *Document) hiddenGroups() map[uint32]bool {
	if d.layers != nil {
		return d.layers
	}
	d.layers = map[uint32]bool{}
	var err error
	defer recoverTo(&err) // broken settings hide nothing
	props := d.r.Trailer().Key("Root").Key("OCProperties")
	config := props.Key("D")
	each := func(list pdf.Value, off bool) {
		for i := range min(list.Len(), maxGroups) {
			if n := number(list.Index(i)); n > 0 {
				d.layers[n] = off
			}
		}
	}
	if config.Key("BaseState").Name() == "OFF" {
		each(props.Key("OCGs"), true)
	}
	each(config.Key("ON"), false)
	each(config.Key("OFF"), true)
	return d.layers
}

// hides reports whether content that belongs to a group, or to a membership of several, is switched off.
func (d *Document) hides(group pdf.Value) bool {
	off := d.hiddenGroups()
	if len(off) == 0 || group.Kind() != pdf.Dict {
		return false
	}
	if group.Key("Type").Name() != "OCMD" {
		return off[number(group)]
	}
	members := group.Key("OCGs")
	var list []uint32
	if members.Kind() == pdf.Dict {
		list = []uint32{number(members)}
	}
	for i := range min(members.Len(), 1000) {
		list = append(list, number(members.Index(i)))
	}
	on, hidden := 0, 0
	for _, n := range list {
		if off[n] {
			hidden++
		} else {
			on++
		}
	}
	switch group.Key("P").Name() {
	case "AllOn":
		return hidden > 0
	case "AnyOff":
		return hidden == 0 && on > 0
	case "AllOff":
		return on > 0
	}
	return on == 0 && hidden > 0
}
