package pdftext

import (
	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

const (
	maxGroups  = 10_000 // maximum number of optional content groups to read
	maxMembers = 1_000  // maximum number of groups in a membership dictionary
	maxLogic   = 32     // maximum nesting depth of a visibility expression
)

// hiddenGroups returns the optional content groups (layers) hidden on screen, by object number.
func (d *Document) hiddenGroups() map[uint32]bool {
	if d.layers != nil {
		return d.layers
	}
	d.layers = map[uint32]bool{}
	var err error
	defer pdfobject.Recover(&err) // if the settings are broken, nothing is hidden
	props := d.file.Trailer().Key("Root").Key("OCProperties")
	config := props.Key("D")
	each := func(list pdf.Value, off bool) {
		for i := range min(list.Len(), maxGroups) {
			if n := pdfobject.ObjectNumber(list.Index(i)); n > 0 {
				d.layers[n] = off
			}
		}
	}
	if config.Key("BaseState").Name() == "OFF" {
		each(props.Key("OCGs"), true)
	}
	each(config.Key("ON"), false)
	each(config.Key("OFF"), true)
	d.applyUsage(config.Key("AS"))
	return d.layers
}

// applyUsage shows or hides layers as viewers do when they open a file. For example, it hides a layer meant only for
// printing.
func (d *Document) applyUsage(list pdf.Value) {
	for i := range min(list.Len(), maxMembers) {
		usage := list.Index(i)
		categories, groups := usage.Key("Category"), usage.Key("OCGs")
		view := false
		for k := range min(categories.Len(), maxMembers) {
			view = view || categories.Index(k).Name() == "View"
		}
		if usage.Key("Event").Name() != "View" || !view {
			continue
		}
		for k := range min(groups.Len(), maxGroups) {
			group := groups.Index(k)
			if state := group.Key("Usage").Key("View").Key("ViewState").Name(); pdfobject.ObjectNumber(group) > 0 && (state == "OFF" || state == "ON") {
				d.layers[pdfobject.ObjectNumber(group)] = state == "OFF"
			}
		}
	}
}

// hides reports whether content is hidden. `group` is its group, or a membership dictionary that names several.
func (d *Document) hides(group pdf.Value) bool {
	off := d.hiddenGroups()
	if len(off) == 0 || group.Kind() != pdf.Dict {
		return false
	}
	members, logic := group.Key("OCGs"), group.Key("VE")
	if group.Key("Type").Name() == "OCG" || group.Key("Type").Name() != "OCMD" && members.Kind() == pdf.Null && logic.Kind() == pdf.Null {
		return off[pdfobject.ObjectNumber(group)]
	}
	if logic.Kind() == pdf.Array && logic.Len() > 0 {
		budget := maxMembers
		return !isVisible(logic, off, &budget, 0)
	}
	var list []uint32
	if members.Kind() == pdf.Dict {
		list = []uint32{pdfobject.ObjectNumber(members)}
	}
	for i := range min(members.Len(), maxMembers) {
		if n := pdfobject.ObjectNumber(members.Index(i)); n > 0 { // null entries are ignored
			list = append(list, n)
		}
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

// isVisible evaluates a visibility expression: a group, or expressions combined with And, Or or Not. If it's too long
// or too deeply nested, the content counts as visible.
func isVisible(v pdf.Value, off map[uint32]bool, budget *int, depth int) bool {
	if *budget--; *budget < 0 || depth > maxLogic {
		return true
	}
	if v.Kind() != pdf.Array {
		return !off[pdfobject.ObjectNumber(v)]
	}
	all, some := true, false
	for i := 1; i < min(v.Len(), maxMembers); i++ {
		seen := isVisible(v.Index(i), off, budget, depth+1)
		all, some = all && seen, some || seen
	}
	switch v.Index(0).Name() {
	case "Not":
		return !some
	case "Or":
		return some
	}
	return all
}
