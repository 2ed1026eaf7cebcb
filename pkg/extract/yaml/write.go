package yaml

import (
	"encoding/json"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/sluice/sluice/pkg/extract/format"
)

// maxComment is the maximum size, in bytes, of a comment that is merged into the value below it. A longer one becomes a
// separate entry.
const maxComment = 200

// maxAliased is the maximum total size, in bytes, of values repeated by aliases.
const maxAliased = 1 << 20

// writer writes YAML documents as JSON, each starting on the same line as in the source file. Comments become part of
// the values they describe.
type writer struct {
	p          *format.Parser
	out        strings.Builder
	line       int // line ends written so far
	depth      int
	structured bool // there was a mapping or sequence

	aliases int // depth of aliases around the current value
	left    int // bytes that aliases may still repeat
	cut     bool
}

func (w *writer) document(d *yaml.Node) error {
	if d.Kind != yaml.DocumentNode || len(d.Content) == 0 {
		return nil
	}
	root := d.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil // just comments between two document markers
	}
	for w.line < root.Line-1 {
		w.out.WriteByte('\n')
		w.line++
	}
	w.structured = w.structured || root.Kind == yaml.MappingNode || root.Kind == yaml.SequenceNode
	return w.value(root, comment(d.HeadComment))
}

// value writes a node described by the comment `about`.
func (w *writer) value(n *yaml.Node, about string) error {
	if err := w.p.Ctx.Err(); err != nil {
		return err
	}
	if w.depth++; w.depth > format.MaxDepth {
		return format.Errorf(format.TooLarge, "the YAML is nested deeper than %d levels", format.MaxDepth)
	}
	defer func() { w.depth-- }()
	if w.aliases > 0 {
		if w.left -= len(n.Value) + 1; w.left < 0 {
			w.cut = true
			w.write("")
			return nil
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n, about)
	case yaml.SequenceNode:
		return w.sequence(n, about)
	case yaml.AliasNode:
		w.aliases++
		defer func() { w.aliases-- }()
		return w.value(n.Alias, join(about, comment(n.LineComment)))
	}
	text := n.Value
	switch n.ShortTag() {
	case "!!null":
		text = ""
	case "!!binary":
		w.p.Out.Warn("binary values were skipped")
		text = ""
	}
	if about = join(about, comment(n.HeadComment), comment(n.LineComment), comment(n.FootComment)); about != "" {
		text = strings.TrimSpace(text + " # " + about)
	} else if tag := n.ShortTag(); tag == "!!int" || tag == "!!float" || tag == "!!bool" {
		w.word(text)
		return nil
	}
	w.write(text)
	return nil
}

// word writes a number or boolean. Values that don't exist in JSON become strings.
func (w *writer) word(text string) {
	if json.Valid([]byte(text)) {
		w.out.WriteString(text)
		return
	}
	w.write(text)
}

func (w *writer) write(text string) {
	quoted, _ := json.Marshal(text) // cannot fail for a string
	w.out.Write(quoted)
}

func (w *writer) mapping(n *yaml.Node, about string) error {
	w.out.WriteByte('{')
	first := true
	if about = join(about, comment(n.HeadComment), comment(n.LineComment)); about != "" {
		w.write("")
		w.out.WriteByte(':')
		w.write("# " + about)
		first = false
	}
	if err := w.pairs(n, map[string]bool{}, &first); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}

// pairs writes a mapping's keys and values, and then those of the mappings merged into it ("<<"). It skips keys in
// `seen`, because the mapping's own values take precedence.
func (w *writer) pairs(n *yaml.Node, seen map[string]bool, first *bool) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		name := keyText(key)
		if w.aliases > 0 && seen[name] {
			continue
		}
		seen[name] = true
		if !*first {
			w.out.WriteByte(',')
		}
		*first = false
		above := comment(key.HeadComment)
		if len(above) > maxComment { // a licence or an explanation of the whole file
			w.write("")
			w.out.WriteByte(':')
			w.write("# " + above)
			w.out.WriteByte(',')
			above = ""
		}
		w.write(name)
		w.out.WriteByte(':')
		if err := w.value(value, join(above, comment(key.LineComment), comment(key.FootComment))); err != nil {
			return err
		}
	}
	for _, m := range merged {
		if err := w.merge(m, seen, first); err != nil {
			return err
		}
	}
	return nil
}

// merge writes the pairs of a merged mapping, or of a list of such mappings.
func (w *writer) merge(n *yaml.Node, seen map[string]bool, first *bool) error {
	if w.depth++; w.depth > format.MaxDepth {
		return format.Errorf(format.TooLarge, "the YAML is nested deeper than %d levels", format.MaxDepth)
	}
	defer func() { w.depth-- }()
	w.aliases++
	defer func() { w.aliases-- }()
	if w.left--; w.left < 0 {
		w.cut = true
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.merge(n.Alias, seen, first)
	case yaml.MappingNode:
		return w.pairs(n, seen, first)
	case yaml.SequenceNode:
		for _, m := range n.Content {
			if err := w.merge(m, seen, first); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) sequence(n *yaml.Node, about string) error {
	w.out.WriteByte('[')
	if about = join(about, comment(n.HeadComment), comment(n.LineComment)); about != "" {
		w.write("# " + about)
		if len(n.Content) > 0 {
			w.out.WriteByte(',')
		}
	}
	for i, item := range n.Content {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(item, ""); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

// keyText returns a key as text. If the key is a mapping or a sequence, the text consists of the key's values.
func keyText(n *yaml.Node) string {
	const maxKey = 200
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias != nil && n.Alias.Kind == yaml.ScalarNode {
			return n.Alias.Value
		}
	case yaml.ScalarNode:
		return n.Value
	}
	var words []string
	for _, c := range n.Content {
		if c.Kind == yaml.ScalarNode {
			words = append(words, c.Value)
		}
	}
	return format.Cut(strings.Join(words, ", "), maxKey)
}

// comment returns a comment as a single line, without comment characters and decoration such as "----".
func comment(s string) string {
	if s == "" {
		return ""
	}
	var words []string
	for line := range strings.Lines(s) {
		if line = strings.Trim(line, "#-=* \t\r\n"); line != "" {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// join joins the non-empty comments.
func join(comments ...string) string {
	var kept []string
	for _, c := range comments {
		if c != "" {
			kept = append(kept, c)
		}
	}
	return strings.Join(kept, " ")
}
