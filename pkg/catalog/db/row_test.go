package db

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type kind string

// sample has a field for each type that a column supports.
type sample struct {
	ID      string
	Kind    kind
	Count   int
	Size    int64
	Share   float64
	Flag    bool
	Serial  uint64
	At      time.Time
	Ended   *time.Time
	Tags    []string
	Extra   map[string]any
	Nested  *struct{ A int }
	Written int64
}

func (s *sample) row() Row {
	lower := "derived"
	return Row{
		Fixed("id", &s.ID), Fixed("kind", &s.Kind), Col("n", &s.Count), Col("size", &s.Size), Col("share", &s.Share), Col("flag", &s.Flag),
		Col("serial", &s.Serial), Col("at", &s.At), Col("ended", &s.Ended), Col("tags", &s.Tags), Col("extra", &s.Extra), Col("nested", &s.Nested),
		ReadOnly("written", &s.Written), Derived("derived", &lower),
	}
}

func TestARowIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	d, err := connect(t.Context(), Options{Path: filepath.Join(t.TempDir(), "c.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	if _, err := d.write.ExecContext(ctx, `CREATE TABLE samples (id TEXT PRIMARY KEY, kind TEXT, n BIGINT, size BIGINT, share REAL, flag SMALLINT,
		serial BIGINT, at BIGINT, ended BIGINT, tags TEXT, extra TEXT, nested TEXT, written BIGINT NOT NULL DEFAULT 7, derived TEXT)`); err != nil {
		t.Fatal(err)
	}
	read := func(id string) (s sample) {
		t.Helper()
		if err := s.row().Scan(d.Read.QueryRow(ctx, `SELECT `+s.row().Columns("")+` FROM samples WHERE id = ?`, id)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	insert := func(s sample) (n int64, err error) {
		err = d.Update(ctx, "inserting", func(tx *Tx) error {
			n, err = tx.Insert(ctx, s.row().InsertText("samples"), s.row())
			return err
		})
		return n, err
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC)
	full := sample{
		ID: "full", Kind: "k", Count: -1, Size: 1 << 40, Share: 0.5, Flag: true, Serial: math.MaxInt64, At: at, Ended: &at,
		Tags: []string{"a"}, Extra: map[string]any{"a": 1.0}, Nested: &struct{ A int }{3}, Written: 7,
	}
	empty := sample{ID: "empty", At: time.UnixMicro(0).UTC(), Written: 7}
	for _, want := range []sample{full, empty} {
		if n, err := insert(want); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if diff := cmp.Diff(want, read(want.ID)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if n, err := insert(full); n != 0 || err != nil {
		t.Errorf("the same key again: %d rows, %v", n, err)
	}
	changed := empty
	changed.ID, changed.Kind, changed.Count, changed.Written = "full", "fixed columns stay", 9, 8
	if err := d.Update(ctx, "updating", func(tx *Tx) error {
		return tx.UpdateRow(ctx, changed.row().UpdateText("samples"), changed.row(), "full")
	}); err != nil {
		t.Fatal(err)
	}
	want := empty
	want.ID, want.Kind, want.Count = "full", "k", 9
	if diff := cmp.Diff(want, read("full")); diff != "" {
		t.Errorf("after an update (-want +got)\n%s", diff)
	}
	full.ID, full.Extra = "nan", map[string]any{"a": math.NaN()}
	if _, err := insert(full); err == nil || !strings.Contains(err.Error(), "storing extra") {
		t.Errorf("a value that cannot be encoded: %v", err)
	}
	if _, err := d.write.ExecContext(ctx, `UPDATE samples SET flag = 'x' WHERE id = 'full'`); err != nil {
		t.Fatal(err)
	}
	var s sample
	if err := s.row().Scan(d.Read.QueryRow(ctx, `SELECT `+s.row().Columns("")+` FROM samples WHERE id = 'full'`)); err == nil {
		t.Error("a text was read as a flag")
	}
}
