package eval

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// MaxLine is the longest line of any file that is read, in bytes. A document of a collection is one line.
	MaxLine = 16 << 20
	// MaxHeld is how many bytes of a file are read that is held as a whole: questions, judgements, runs.
	MaxHeld = 512 << 20
)

// lineError says which line of what is wrong.
type lineError struct {
	what string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s, line %d: %v", e.what, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// eachLine calls take for every line that is not blank, with its number from 1, and names the line of an error. A line
// feed or the end ends a line; a carriage return before it, and a byte order mark before the first one, are dropped. A file
// whose lines have more than most bytes together is an error.
func eachLine(r io.Reader, what string, most int64, take func(n int, line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	n, all := 0, int64(0)
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if all += int64(len(line)); all > most {
			return &lineError{what, n, fmt.Errorf("there are more than %d MiB up to here", most>>20)}
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return &lineError{what, n, errors.New("is not UTF-8")}
		}
		if err := take(n, line); err != nil {
			return &lineError{what, n, err}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return &lineError{what, n + 1, fmt.Errorf("is longer than %d MiB", MaxLine>>20)}
	case err != nil:
		return fmt.Errorf("reading the %s: %w", what, err)
	}
	return nil
}
