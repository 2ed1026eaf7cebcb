package bounded

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadAllFailsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		body  io.Reader
		limit int64
		want  string
		err   error
	}{
		"an empty body":              {strings.NewReader(""), 0, "", nil},
		"a body below the limit":     {strings.NewReader("abc"), 4, "abc", nil},
		"a body of the limit":        {strings.NewReader("abc"), 3, "abc", nil},
		"a body of one byte more":    {strings.NewReader("abc"), 2, "ab", ErrTooLarge},
		"no byte allowed":            {strings.NewReader("abc"), 0, "", ErrTooLarge},
		"byte by byte":               {iotest.OneByteReader(strings.NewReader("abc")), 2, "ab", ErrTooLarge},
		"data together with the end": {iotest.DataErrReader(strings.NewReader("abc")), 3, "abc", nil},
		"a body that breaks":         {io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)), 9, "ab", broken},
	} {
		got, err := ReadAll(test.body, test.limit)
		if string(got) != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, test.want, test.err)
		}
	}
}

func TestAReaderThatFailedFailsAgain(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader("abcdef"), 2)
	for range 3 {
		if _, err := io.ReadAll(r); !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	}
}
