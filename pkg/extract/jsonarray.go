package extract

import (
	"io"
	"strconv"
	"strings"
)

const (
	// shownNumbers is how many numbers of a longer run are shown: nobody looks for the thousandth coordinate.
	shownNumbers = 8
	// manyNumbers is the length of a run from which on it is shortened.
	manyNumbers = 64
	// listedScalars is how many values of an array are gathered for one pair.
	listedScalars = 1000
)

// jsonList gathers the values of an array, and of arrays within it, that are no objects.
type jsonList struct {
	texts   []string
	size    int // bytes of texts
	numbers int // how many of the run of numbers at the end, those not kept included
}

func (l *jsonList) add(text string, number bool) {
	if !number {
		l.endRun()
		l.texts, l.size = append(l.texts, text), l.size+len(text)
		return
	}
	if l.numbers++; l.numbers <= manyNumbers {
		l.texts = append(l.texts, text)
	}
}

// endRun shortens a long run of numbers.
func (l *jsonList) endRun() {
	if l.numbers > manyNumbers {
		l.texts = append(l.texts[:len(l.texts)-manyNumbers+shownNumbers], "… ("+strconv.Itoa(l.numbers)+" numbers)")
	}
	l.numbers = 0
}

func (l *jsonList) flush(path []string, rec *record) {
	l.endRun()
	if len(l.texts) > 0 {
		rec.add(path, strings.Join(l.texts, ", "))
	}
	l.texts, l.size = l.texts[:0], 0
}

func (w *jsonWalker) array(path []string, level int, rec *record) error {
	list := &jsonList{}
	err := w.elements(path, level, rec, list)
	list.flush(path, rec)
	return err
}

// elements walks an array: objects are records of their own unless they stand in one, other values go to list.
func (w *jsonWalker) elements(path []string, level int, rec *record, list *jsonList) error {
	for {
		if err := w.p.ctx.Err(); err != nil {
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
		case jsonEnd:
			return io.ErrUnexpectedEOF
		case jsonString, jsonWord:
			text, err := w.scalar(tok)
			if err != nil {
				return err
			}
			if text != "" {
				list.add(text, tok == jsonWord && text != "true" && text != "false")
			}
			if len(list.texts) >= listedScalars || list.size > maxBlockBytes {
				list.flush(path, rec)
				if err := rec.flush(w.p.out); err != nil {
					return err
				}
			}
			continue
		case '[':
			if rec.row {
				if w.depth++; w.depth > maxDepth {
					return fail(TooLarge, "the JSON is nested deeper than %d levels", maxDepth)
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

// element walks an object or array in an array.
func (w *jsonWalker) element(tok jsonToken, path []string, level int, rec *record, list *jsonList) error {
	list.flush(path, rec)
	if rec.row { // what stands inside a record stays part of it
		return w.value(tok, path, level, rec)
	}
	if err := rec.flush(w.p.out); err != nil {
		return err
	}
	row := w.record(true)
	err := w.value(tok, path, level, row)
	if flushed := row.flush(w.p.out); err == nil {
		err = flushed
	}
	return err
}
