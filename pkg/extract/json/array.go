package json

import (
	"io"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
)

const (
	// maxShownNumbers is the number of values to keep from a long run of numbers. Nobody searches for the thousandth
	// coordinate.
	maxShownNumbers = 8
	// minShortenedRun is the length above which runs of numbers are shortened.
	minShortenedRun = 64
	// listedScalars is the maximum number of array values to list after one name.
	listedScalars = 1000
)

// list collects the values in an array and in the arrays nested in it, except objects.
type list struct {
	texts   []string
	size    int // total size of `texts` in bytes
	numbers int // length of the run of numbers at the end of `texts`, including dropped numbers
}

func (l *list) add(text string, number bool) {
	if !number {
		l.endRun()
		l.texts, l.size = append(l.texts, text), l.size+len(text)
		return
	}
	if l.numbers++; l.numbers <= minShortenedRun {
		l.texts = append(l.texts, text)
	}
}

// endRun ends a run of numbers and shortens it if it is long.
func (l *list) endRun() {
	if l.numbers > minShortenedRun {
		l.texts = append(l.texts[:len(l.texts)-minShortenedRun+maxShownNumbers], "… ("+strconv.Itoa(l.numbers)+" numbers)")
	}
	l.numbers = 0
}

func (l *list) flush(path []string, rec *record) {
	l.endRun()
	if len(l.texts) > 0 {
		rec.add(path, strings.Join(l.texts, ", "))
	}
	l.texts, l.size = l.texts[:0], 0
}

func (w *walker) array(path []string, level int, rec *record) error {
	list := &list{}
	err := w.elements(path, level, rec, list)
	list.flush(path, rec)
	return err
}

// elements reads an array's elements. If the array is inside a record, objects become part of that record; otherwise
// each object becomes a record of its own. Values other than objects are added to `list`.
func (w *walker) elements(path []string, level int, rec *record, list *list) error {
	for {
		if err := w.p.Ctx.Err(); err != nil {
			return err
		}
		tok, err := w.scan.next()
		if err != nil {
			return err
		}
		switch tok {
		case ']':
			return nil
		case ',':
			continue
		case end:
			return io.ErrUnexpectedEOF
		case jsonString, word:
			text, err := w.scalar(tok)
			if err != nil {
				return err
			}
			if text != "" {
				list.add(text, tok == word && text != "true" && text != "false")
			}
			if len(list.texts) >= listedScalars || list.size > format.MaxBlockBytes {
				list.flush(path, rec)
				if err := rec.flush(w.p.Out); err != nil {
					return err
				}
			}
			continue
		case '[':
			if rec.row {
				if w.depth++; w.depth > format.MaxDepth {
					return format.Errorf(format.TooLarge, "the JSON is nested deeper than %d levels", format.MaxDepth)
				}
				err = w.elements(path, level, rec, list)
				w.depth--
				break
			}
			err = w.element(tok, path, level, rec, list)
		default:
			err = w.element(tok, path, level, rec, list)
		}
		if err != nil {
			return err
		}
	}
}

// element reads an object or an array that is an element of an array.
func (w *walker) element(tok token, path []string, level int, rec *record, list *list) error {
	list.flush(path, rec)
	if rec.row { // values within a record remain part of it
		return w.value(tok, path, level, rec)
	}
	if err := rec.flush(w.p.Out); err != nil {
		return err
	}
	row := w.record(true)
	err := w.value(tok, path, level, row)
	if flushed := row.flush(w.p.Out); err == nil {
		err = flushed
	}
	return err
}
