package pdftext

import (
	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdffont"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// resources holds a content stream's named resources. They are cached while the page is read, because ledongthuc/pdf
// reads an object again on every access.
type resources struct {
	doc   *Document
	value pdf.Value
	named map[resourceName]pdf.Value
	fonts map[string]*pdffont.Font
}

// resourceName is a resource's kind and name. An empty name means the dictionary of all resources of that kind.
type resourceName struct{ kind, name string }

// maxNamed is the capacity of each cache: resources by name, fonts by name, and a page's shared resources.
const maxNamed = 1_000

func newResources(d *Document, v pdf.Value) *resources {
	return &resources{doc: d, value: v, named: map[resourceName]pdf.Value{}, fonts: map[string]*pdffont.Font{}}
}

// get returns a resource by kind, such as "XObject", and name.
func (r *resources) get(kind, name string) pdf.Value {
	key := resourceName{kind, name}
	v, ok := r.named[key]
	if !ok {
		all, known := r.named[resourceName{kind: kind}]
		if !known {
			all = r.value.Key(kind)
			r.named[resourceName{kind: kind}] = all
		}
		v = all.Key(name)
		if len(r.named) < maxNamed {
			r.named[key] = v
		}
	}
	return v
}

// font returns a font by name.
func (r *resources) font(name string) *pdffont.Font {
	f, ok := r.fonts[name]
	if !ok {
		f = r.doc.fonts.Load(r.get("Font", name))
		if len(r.fonts) < maxNamed {
			r.fonts[name] = f
		}
	}
	return f
}

// resourcesOf returns a dictionary's resources. They are read once even if a form is shown several times.
func (in *interpreter) resourcesOf(v pdf.Value) *resources {
	n := pdfobject.ObjectNumber(v)
	if r := in.shared[n]; r != nil && n > 0 {
		return r
	}
	r := newResources(in.doc, v)
	if n > 0 && len(in.shared) < maxNamed {
		in.shared[n] = r
	}
	return r
}
