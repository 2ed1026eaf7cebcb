package embedded

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
)

// hideLongTerms makes a closed space look as if an earlier version had written it, by renaming the terms for long
// values. The new names sort in the same order.
func hideLongTerms(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	renamed := 0
	for table, column := range map[string]string{"blocks": "data", "segments": "directory"} {
		for id, data := range blobs(t, db, table, column) {
			if data, err = checksum.Unseal(id, data, table); err != nil {
				t.Fatal(err)
			}
			renamed += bytes.Count(data, []byte("\x01l=")) + bytes.Count(data, []byte("\x02\x01r"))
			data = bytes.ReplaceAll(data, []byte("\x01l="), []byte("\x01k="))
			data = bytes.ReplaceAll(data, []byte("\x02\x01r"), []byte("\x02\x01q")) // including the term's length
			if _, err := db.ExecContext(t.Context(), `UPDATE `+table+` SET `+column+` = ? WHERE id = ?`, checksum.Seal(id, data), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if renamed == 0 {
		t.Fatal("the space has no long terms")
	}
}

// blobs returns the values in a table's column by id.
func blobs(t *testing.T, db *sql.DB, table, column string) map[int64][]byte {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT id, `+column+` FROM `+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	out := map[int64][]byte{}
	for rows.Next() {
		var id int64
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			t.Fatal(err)
		}
		out[id] = data
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFiltersReadLongValuesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := mustOpen(t, dir, Options{})
	space := index.Space{DatastoreID: "store", Model: "m", Dimensions: 2}
	address := "https://example.com/" + strings.Repeat("path/", 40)
	row := func(n int, metadata map[string]any) index.Row {
		return index.Row{Key: domain.ChunkKey("ds", 1, n), DatasourceID: "ds", Generation: 1, Ordinal: n, Text: "text", Vector: []float32{1, 0}, Metadata: metadata}
	}
	rows := []index.Row{
		row(0, map[string]any{"url": address + "a"}), row(1, map[string]any{"url": address + "b"}),
		row(2, map[string]any{"url": "https://example.com/short"}), row(3, map[string]any{"other": address}),
	}
	if err := x.Write(t.Context(), space, rows); err != nil {
		t.Fatal(err)
	}
	key, err := keyOf(space)
	if err := errorsOf(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	hideLongTerms(t, x.path(key))
	x = mustOpen(t, dir, Options{})
	fresh := row(4, map[string]any{"url": address + "c"})
	if err := x.Write(t.Context(), space, []index.Row{fresh}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		fmt.Sprintf(`{"type":"prefix","key":"url","value":%q}`, address):     {0, 1, 4},
		fmt.Sprintf(`{"type":"gt","key":"url","value":%q}`, address+"a"):     {1, 2, 4},
		fmt.Sprintf(`{"type":"ne","key":"url","value":%q}`, address+"a"):     {1, 2, 3, 4},
		fmt.Sprintf(`{"type":"in","key":"url","value":[%q]}`, address+"c"):   {4},
		`{"type":"exists","key":"url"}`:                                      {0, 1, 2, 4},
		`{"type":"not","filter":{"type":"lt","key":"url","value":"https:"}}`: {0, 1, 2, 3, 4},
	} {
		f, faults := filter.ParseJSON([]byte(text), "filters")
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		found, err := x.Search(t.Context(), space, index.Query{Vector: []float32{1, 0}, Limit: 10, Filter: index.Filter{Where: f}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []int
		for _, h := range found.Hits {
			got = append(got, h.Ordinal)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, want %v", text, got, want)
		}
	}
}
