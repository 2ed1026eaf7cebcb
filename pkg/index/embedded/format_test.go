package embedded

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
	"github.com/sluice/sluice/pkg/index/embedded/store"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// backdate converts a closed space's directory to an earlier format. formatRows doesn't store codes by column.
// formatSigns stores sign bits in a file with a different name, and names the state's fields differently.
func backdate(t *testing.T, dir string, format int) {
	t.Helper()
	if format == formatRows {
		changeState(t, dir, func(body map[string]any) { body["format"] = formatRows })
		return
	}
	changeState(t, dir, func(body map[string]any) {
		body["format"], body["signs_at"], body["spread"] = formatSigns, body["coded_at"], body["centre"]
		delete(body, "coded_at")
		delete(body, "placed")
	})
	if err := os.Rename(filepath.Join(dir, "codes-1.bits"), filepath.Join(dir, "signs-1.bits")); err != nil {
		t.Fatal(err)
	}
}

// changeState rewrites a closed space's stored state with `change`.
func changeState(t *testing.T, dir string, change func(body map[string]any)) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	var version int64
	var data []byte
	if err := db.QueryRowContext(t.Context(), `SELECT version, body FROM state`).Scan(&version, &data); err != nil {
		t.Fatal(err)
	}
	data, err = checksum.Unseal(version, data, "the state")
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	change(body)
	if data, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE state SET body = ?`, checksum.Seal(version, data))
	if err := errorsOf(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryOfANewerFormatIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := mustOpen(t, dir, Options{})
	if err := x.Write(t.Context(), crashSpace, []index.Row{crashRow("a", 1, 1)}); err != nil {
		t.Fatal(err)
	}
	key, err := keyOf(crashSpace)
	if err := errorsOf(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	changeState(t, x.path(key), func(body map[string]any) { body["format"] = formatNow + 1 })
	x = mustOpen(t, dir, Options{})
	_, err = x.Search(t.Context(), crashSpace, index.Query{Vector: crashRow("a", 1, 1).Vector, Limit: 5})
	if err == nil || errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("format %d", formatNow+1)) {
		t.Errorf("a search says %v", err)
	}
	if discarded, err := x.Discard(t.Context(), crashSpace); discarded || err != nil {
		t.Errorf("the space was discarded: %t, %v", discarded, err)
	}
	changeState(t, x.path(key), func(body map[string]any) { body["format"] = formatNow })
	if r, err := x.Search(t.Context(), crashSpace, index.Query{Vector: crashRow("a", 1, 1).Vector, Limit: 5}); err != nil || len(r.Hits) != 1 {
		t.Errorf("the newer program finds %d rows, %v", len(r.Hits), err)
	}
}

func TestADirectoryOfAnEarlierFormatIsUpgraded(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]int{"with sign bits": formatSigns, "with codes that do not lie by columns": formatRows} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readsAndCodes(t, format)
		})
	}
}

func readsAndCodes(t *testing.T, format int) {
	t.Helper()
	if *everywhereIVF {
		t.Skip("it names files that are made more often when few rows have codes")
	}
	dir := t.TempDir()
	x := mustOpen(t, dir, Options{})
	for from := 0; from < codesFromSlots; from += 2048 {
		var rows []index.Row
		for i := range 2048 {
			r := crashRow("a", 1, from+i)
			r.Text, r.Context = fmt.Sprint("row", from+i), ""
			rows = append(rows, r)
		}
		if err := x.Write(t.Context(), crashSpace, rows); err != nil {
			t.Fatal(err)
		}
	}
	nearest := func(x *Index) index.Result {
		t.Helper()
		r, err := x.Search(t.Context(), crashSpace, index.Query{Vector: crashRow("a", 1, 77).Vector, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := nearest(x)
	key, err := keyOf(crashSpace)
	if err := errorsOf(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	backdate(t, x.path(key), format)

	x = mustOpen(t, dir, Options{})
	if diff := cmp.Diff(want, nearest(x), reported); diff != "" {
		t.Errorf("before codes were made (-want +got):\n%s", diff)
	}
	if err := x.mergeAll(t.Context(), crashSpace); err != nil {
		t.Fatal(err)
	}
	err = x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		if !s.Snapshot().HasCodes() {
			t.Error("no codes were made")
		}
		return s.Read(t.Context(), func(v store.View) error {
			got, err := vector.ScanCodes(t.Context(), &v.Set, nil, crashRow("a", 1, 77).Vector, 5, int(v.Rows))
			if err == nil && len(got.Best) != 5 {
				t.Errorf("by codes %d rows are found, want 5", len(got.Best))
			}
			return err
		})
	})
	if err := errorsOf(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	x = mustOpen(t, dir, Options{})
	if diff := cmp.Diff(want, nearest(x), reported); diff != "" {
		t.Errorf("opened again (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(x.path(key), "*.bits"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "codes-2.bits" {
		t.Errorf("files of codes %v, want codes-2.bits alone: %v", left, err)
	}
}
