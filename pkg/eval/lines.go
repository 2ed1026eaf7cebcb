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
	// MaxLine is the maximum length of a line in any file, in bytes. It also limits documents, because a collection has
	// one document per line.
	MaxLine = 16 << 20
	// MaxFileBytes is the maximum size in bytes of files read into memory: questions, judgements, runs.
	MaxFileBytes = 512 << 20
)

// lineError adds the file and line number to an error.
type lineError struct {
	file string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s, line %d: %v", e.file, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// eachLine calls `take` with each non-blank line and its 1-based number. It strips carriage returns at line ends and a
// leading byte order mark, and adds the line number to errors. It fails if the lines exceed `limit` bytes in total.
func eachLine(r io.Reader, what string, limit int64, take func(n int, line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	n, all := 0, int64(0)
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if all += int64(len(line)); all > limit {
			return &lineError{what, n, fmt.Errorf("the input is longer than %d MiB", limit>>20)}
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
