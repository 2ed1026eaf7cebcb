package docx

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// notes holds footnotes, endnotes and comments until a paragraph refers to them, because the file stores them
// separately. A note is emitted right after that paragraph; at the end of the document, it would appear under an
// unrelated heading.
type notes struct {
	order  []string                  // keys in the order of the file
	blocks map[string][]domain.Block // by key
	counts map[string]int            // number of references so far, by kind of note
	marked map[string]bool           // keys of notes that already have a number
	left   int64                     // bytes of text that may still be held
	max    int64
}

func newDocxNotes(limit int64) *notes {
	return &notes{blocks: map[string][]domain.Block{}, counts: map[string]int{}, marked: map[string]bool{}, left: limit, max: limit}
}

// noteKey identifies a note by its element name and its id.
func noteKey(element, id string) string { return element + " " + id }

func (n *notes) add(key string, b domain.Block) error {
	if n.left -= int64(len(b.Text)); n.left < 0 {
		return format.Errorf(format.TooLarge, "the document has more than %s of text; split it", format.SizeText(n.max))
	}
	if b.Kind == domain.BlockHeading { // as a heading, it would also apply to the blocks that follow
		b.Kind, b.Level = domain.BlockParagraph, 0
	}
	if _, known := n.blocks[key]; !known {
		n.order = append(n.order, key)
	}
	n.blocks[key] = append(n.blocks[key], b)
	return nil
}

// readNotes reads the notes of the document.
func (r *reader) readNotes(rels []ooxml.Relation) error {
	for _, kind := range []string{"footnotes", "endnotes", "comments"} {
		part := r.a.Related(rels, kind, "word/"+kind+".xml")
		w := &walker{r: r, rels: ooxml.ByID(r.a.Relations(part))}
		err := r.a.Walk(part, func(sc *xmlscan.Scanner) {
			w.sc = sc
			sc.Descend(func(e xml.StartElement) bool {
				if e.Name.Local != "footnote" && e.Name.Local != "endnote" && e.Name.Local != "comment" {
					return false
				}
				if e.Name.Local == "comment" && !r.a.ReadsComments() {
					sc.Skip()
					return true
				}
				if t := xmlscan.Attr(e, "type"); t != "" && t != "normal" { // a separator line
					sc.Skip()
					return true
				}
				key := noteKey(e.Name.Local, xmlscan.Attr(e, "id"))
				w.emit = func(b domain.Block) error { return r.notes.add(key, b) }
				w.blocks()
				w.flush()
				return true
			})
			if sc.Damage != nil {
				r.p.Out.Warn("the document's notes are damaged; only the notes before the damage were read")
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// emit emits the notes with the given keys that haven't been emitted yet.
func (n *notes) emit(keys []string, emit func(domain.Block) error) error {
	for _, key := range keys {
		blocks := n.blocks[key]
		delete(n.blocks, key)
		for _, b := range blocks {
			if err := emit(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// addReference records that the open paragraph refers to a note. Like Word, it writes the note's number both at the
// reference and before the note. If the author chose a custom mark, the text already contains it, so the note gets no
// number.
func (w *walker) addReference(element, id, ownMark string) {
	element = strings.TrimSuffix(element, "Reference")
	key := noteKey(element, id)
	if w.r.notes.marked[key] { // the note already has a number
		return
	}
	w.para.notes = append(w.para.notes, key)
	blocks := w.r.notes.blocks[key]
	if len(blocks) == 0 || ownMark == "1" || ownMark == "true" || ownMark == "on" {
		return
	}
	w.r.notes.counts[element]++
	numberFormat := "decimal"
	if element == "endnote" {
		numberFormat = "lowerRoman"
	}
	mark := "[" + format.Number(w.r.notes.counts[element], numberFormat) + "]"
	w.r.notes.marked[key] = true
	w.write(mark)
	blocks[0].Text = mark + " " + blocks[0].Text
}
