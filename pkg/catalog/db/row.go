package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

// Column binds a table column to a variable for reading and storing rows. A bool is stored as 0 or 1, a time in
// microseconds since 1970, a uint64 as BIGINT, and a struct as JSON, or "" if it is empty.
type Column struct {
	name string
	at   any
	use  use
}

// use is the set of statement kinds (read, insert, update) in which a column appears.
type use uint8

const (
	reads use = 1 << iota
	inserts
	updates
)

// Col returns a column that is read, inserted and updated.
func Col(name string, at any) Column { return Column{name, at, reads | inserts | updates} }

// Fixed returns a column that is read and inserted, but not updated.
func Fixed(name string, at any) Column { return Column{name, at, reads | inserts} }

// ReadOnly returns a column that is read with the row but updated only by separate statements.
func ReadOnly(name string, at any) Column { return Column{name, at, reads} }

// Derived returns a column that is inserted and updated but not read, because it exists only for indexes.
func Derived(name string, at any) Column { return Column{name, at, inserts | updates} }

// Row lists a row's columns. Statements and their arguments use the same order.
type Row []Column

func (r Row) names(u use, prefix, suffix string) []string {
	var out []string
	for _, c := range r {
		if c.use&u != 0 {
			out = append(out, prefix+c.name+suffix)
		}
	}
	return out
}

func (r Row) args(u use) ([]any, error) {
	out := make([]any, 0, len(r)+1)
	for _, c := range r {
		if c.use&u == 0 {
			continue
		}
		v, err := value(c.at)
		if err != nil {
			return nil, fmt.Errorf("storing %s: %w", c.name, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// Columns returns the columns for a SELECT, separated by commas. Each column's name is preceded by prefix.
func (r Row) Columns(prefix string) string { return strings.Join(r.names(reads, prefix, ""), ", ") }

// Scan reads the row's columns and then any additional values selected after them.
func (r Row) Scan(s Scanner, more ...any) error {
	dest := make([]any, 0, len(r)+len(more))
	for _, c := range r {
		if c.use&reads != 0 {
			dest = append(dest, destination(c.at))
		}
	}
	return s.Scan(append(dest, more...)...)
}

// ScanRow returns a function that scans a row.
func ScanRow[T any](row func(*T) Row) func(Scanner) (T, error) {
	return func(s Scanner) (v T, err error) {
		err = row(&v).Scan(s)
		return v, err
	}
}

// InsertText returns a statement that inserts the row unless its key already exists.
func (r Row) InsertText(table string) string {
	names := r.names(inserts, "", "")
	return `INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(names)-1) + `) ON CONFLICT DO NOTHING`
}

// InsertArgs returns the arguments for InsertText.
func (r Row) InsertArgs() ([]any, error) { return r.args(inserts) }

// UpdateText returns a statement that updates the row with a given id.
func (r Row) UpdateText(table string) string {
	return `UPDATE ` + table + ` SET ` + strings.Join(r.names(updates, "", " = ?"), ", ") + ` WHERE id = ?`
}

// UpdateArgs returns the arguments for UpdateText.
func (r Row) UpdateArgs(id string) ([]any, error) {
	args, err := r.args(updates)
	return append(args, id), err
}

// Insert runs a statement from InsertText and returns the number of inserted rows, which is 0 if the key already
// exists.
func (t *Tx) Insert(ctx context.Context, text string, r Row) (int64, error) {
	args, err := r.InsertArgs()
	if err != nil {
		return 0, err
	}
	return t.Exec(ctx, text, args...)
}

// UpdateRow runs a statement from UpdateText with the row's values.
func (t *Tx) UpdateRow(ctx context.Context, text string, r Row, id string) error {
	args, err := r.UpdateArgs(id)
	if err == nil {
		_, err = t.Exec(ctx, text, args...)
	}
	return err
}

// destination returns the argument for sql.Rows.Scan that reads a column into the variable that `at` points to. It
// converts the value if necessary.
func destination(at any) any {
	switch at := at.(type) {
	case *string, *int, *int64:
		return at
	case *bool:
		return (*flag)(at)
	case *uint64:
		return (*unsigned)(at)
	case *time.Time:
		return (*micros)(at)
	case **time.Time:
		return nullMicros{at}
	}
	if isPlain(at) {
		return at
	}
	return encoded{at}
}

// value returns the stored form of the variable that `at` points to.
func value(at any) (any, error) {
	switch at := at.(type) {
	case *string:
		return *at, nil
	case *int:
		return *at, nil
	case *int64:
		return *at, nil
	case *bool:
		return Flag(*at), nil
	case *uint64:
		return Unsigned(*at), nil
	case *time.Time:
		return Micros(*at), nil
	case **time.Time:
		if *at == nil {
			return nil, nil
		}
		return Micros(**at), nil
	}
	v := reflect.ValueOf(at).Elem()
	switch {
	case isPlain(at):
		return v.Interface(), nil
	case v.IsZero(), (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0:
		return "", nil
	}
	return ToJSON(v.Interface())
}

// isPlain reports whether the variable is a number or text.
func isPlain(at any) bool {
	switch reflect.TypeOf(at).Elem().Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	default:
		return false
	}
}

type (
	flag       bool
	unsigned   uint64
	micros     time.Time
	nullMicros struct{ into **time.Time }
	encoded    struct{ into any }
)

func number(src driver.Value) (int64, error) {
	n, ok := src.(int64)
	if !ok {
		return 0, fmt.Errorf("it is %T, not a number", src)
	}
	return n, nil
}

// Scan implements sql.Scanner.
func (f *flag) Scan(src any) error {
	n, err := number(src)
	*f = n == 1
	return err
}

// Scan implements sql.Scanner.
func (u *unsigned) Scan(src any) error {
	n, err := number(src)
	*u = unsigned(n)
	return err
}

// Scan implements sql.Scanner.
func (m *micros) Scan(src any) error {
	n, err := number(src)
	*m = micros(FromMicros(n))
	return err
}

// Scan implements sql.Scanner.
func (m nullMicros) Scan(src any) error {
	if *m.into = nil; src == nil {
		return nil
	}
	n, err := number(src)
	at := FromMicros(n)
	*m.into = &at
	return err
}

// Scan implements sql.Scanner.
func (e encoded) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		return nil
	case string:
		return FromJSON(src, e.into)
	case []byte:
		return FromJSON(string(src), e.into)
	default:
		return fmt.Errorf("it is %T, not text", src)
	}
}

// Unsigned converts a generation to its column's signed type. Generations never get that large.
func Unsigned(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
