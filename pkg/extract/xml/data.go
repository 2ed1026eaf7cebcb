package xml

import (
	"encoding/json"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
)

// dataWriter writes a tree of elements as JSON. Elements with children or attributes become objects; other elements
// become strings. Adjacent elements with the same name become an array.
type dataWriter struct {
	p   *format.Parser
	out strings.Builder
}

// value writes an element.
func (w *dataWriter) value(n *node) error {
	if err := w.p.Ctx.Err(); err != nil {
		return err
	}
	if len(n.attrs) > 0 || !n.isMixed() && n.hasElements() {
		return w.object(n)
	}
	w.string(n.words())
	return nil
}

// object writes an element as a JSON object. If the element directly contains text, all its words are under the key "".
func (w *dataWriter) object(n *node) error {
	w.out.WriteByte('{')
	first := true
	name := func(s string) {
		if !first {
			w.out.WriteByte(',')
		}
		first = false
		w.string(s)
		w.out.WriteByte(':')
	}
	for _, a := range n.attrs {
		name(a.Name.Local)
		w.string(a.Value)
	}
	if n.isMixed() {
		name("")
		w.string(n.words())
		w.out.WriteByte('}')
		return nil
	}
	elements := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		if c.name != "" {
			elements = append(elements, c)
		}
	}
	for len(elements) > 0 {
		same := 1
		for same < len(elements) && elements[same].name == elements[0].name {
			same++
		}
		name(elements[0].name)
		if same > 1 {
			w.out.WriteByte('[')
		}
		for i, c := range elements[:same] {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.value(c); err != nil {
				return err
			}
		}
		if same > 1 {
			w.out.WriteByte(']')
		}
		elements = elements[same:]
	}
	w.out.WriteByte('}')
	return nil
}

func (n *node) hasElements() bool {
	for _, c := range n.children {
		if c.name != "" {
			return true
		}
	}
	return false
}

func (w *dataWriter) string(s string) {
	quoted, _ := json.Marshal(s) // cannot fail for a string
	w.out.Write(quoted)
}
