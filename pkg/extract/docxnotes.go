package extract

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// docxNotes holds the foot- and endnotes of a document, which are stored apart from the text, until a paragraph that
// refers to them has been read: beside it they explain something, at the document's end they stand under a heading
// that is not theirs.
type docxNotes struct {
	order  []string                  // keys as they come
	blocks map[string][]domain.Block // by key
	open   string                    // key of the note being read
}

// noteKey tells notes apart by the name of their element and their id.
func noteKey(element, id string) string { return element + " " + id }

func (n *docxNotes) add(b domain.Block) error {
	if b.Kind == domain.BlockHeading { // what follows the note does not stand under it
		b.Kind, b.Level = domain.BlockParagraph, 0
	}
	if _, known := n.blocks[n.open]; !known {
		n.order = append(n.order, n.open)
	}
	n.blocks[n.open] = append(n.blocks[n.open], b)
	return nil
}

// readNotes gathers the document's notes.
func (w *docxWalker) readNotes(a *archive, rels []relation) error {
	aside := *w.p
	aside.doc = &domain.Document{} // a note gives the document no title
	aside.out = &sink{emit: w.notes.add, left: w.p.lim.MaxText, max: w.p.lim.MaxText}
	reader := &docxWalker{p: &aside, styles: w.styles, numbering: w.numbering, seen: w.seen, notes: w.notes}
	for _, kind := range []string{"footnotes", "endnotes"} {
		if err := reader.parts(a, rels, kind); err != nil {
			return err
		}
	}
	for _, warning := range aside.out.warnings {
		w.p.out.warn(warning)
	}
	return nil
}

// tell emits the notes with the keys that have not been emitted before.
func (w *docxWalker) tell(keys []string) error {
	for _, key := range keys {
		blocks := w.notes.blocks[key]
		delete(w.notes.blocks, key)
		for _, b := range blocks {
			if err := w.p.out.add(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// refer notes that the open paragraph refers to a note.
func (w *docxWalker) refer(element, id string) {
	if p := w.top(); p != nil {
		p.notes = append(p.notes, noteKey(strings.TrimSuffix(element, "Reference"), id))
	}
}
