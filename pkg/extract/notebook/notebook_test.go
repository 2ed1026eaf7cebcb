package notebook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// notebook is a notebook as JupyterLab writes it: sources and texts are lists of lines, and keys are in alphabetical
// order.
const notebook = `{
 "cells": [
  {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": ["# Rent by town\n", "\n", "Data of *2024*, see [the list](https://town.example/list).\n", "\n", "- Ghent\n", "- Bruges"], "attachments": {"a.png": {"image/png": "iVBORw0KGgo="}}},
  {"cell_type": "code", "execution_count": 1, "id": "b2", "metadata": {"scrolled": true}, "source": ["rent = read(\"rent.csv\")\n", "rent.head(2)"], "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["reading\n"]},
    {"name": "stdout", "output_type": "stream", "text": ["  0%|          |\r100%|##########|\n", "\u001b[32mdone\u001b[0m\n"]},
    {"data": {"text/html": ["<div><style scoped>.a {color: red}</style><table border=\"1\" class=\"dataframe\"><thead><tr><th></th><th>town</th><th>rent</th></tr></thead><tbody><tr><th>0</th><td>Ghent</td><td>800</td></tr><tr><th>1</th><td>Bruges</td><td>750</td></tr></tbody></table></div>"],
      "text/plain": ["    town  rent\n", "0  Ghent   800"]}, "execution_count": 1, "metadata": {}, "output_type": "execute_result"},
    {"data": {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure size 640x480 with 1 Axes>"]}, "metadata": {}, "output_type": "display_data"},
    {"ename": "ValueError", "evalue": "no town 3", "output_type": "error", "traceback": ["\u001b[0;31mTraceback\u001b[0m"]}
  ]},
  {"cell_type": "code", "execution_count": 2, "id": "c3", "metadata": {}, "source": "rent.mean()", "outputs": [{"data": {"text/plain": "775.0"}, "execution_count": 2, "metadata": {}, "output_type": "execute_result"}]},
  {"cell_type": "raw", "id": "d4", "metadata": {"raw_mimetype": "text/restructuredtext"}, "source": ["Raw words."]},
  {"cell_type": "code", "execution_count": null, "id": "e5", "metadata": {}, "outputs": [], "source": []}
 ],
 "metadata": {"authors": [{"name": "Ann Oake"}, {"name": "Bo Reed"}], "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}},
 "nbformat": 4, "nbformat_minor": 5
}`

// old is a notebook as IPython 2 wrote it.
const old = `{"metadata": {"name": "rents"}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [
  {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Rents"]},
  {"cell_type": "markdown", "metadata": {}, "source": "Two *towns*."},
  {"cell_type": "code", "collapsed": false, "input": ["rents()"], "language": "python", "metadata": {}, "prompt_number": 3, "outputs": [
    {"output_type": "stream", "stream": "stdout", "text": ["Ghent 800"]},
    {"output_type": "pyout", "prompt_number": 3, "html": ["<table><tr><th>town</th><th>rent</th><th>size</th></tr><tr><td>Ghent</td><td>800</td><td>60</td></tr></table>"], "text": ["town rent"]},
    {"output_type": "display_data", "png": "iVBORw0KGgo=", "text": ["<matplotlib.figure at 0x1>"]},
    {"output_type": "pyerr", "ename": "KeyError", "evalue": "'Bruges'", "traceback": ["x"]}]}
], "metadata": {}}]}`

func TestGolden(t *testing.T) {
	t.Parallel()
	readtest.Golden(t, "rent.ipynb", []byte(notebook), "testdata/rent.golden")
	doc := readtest.MustParse(t, "rent.ipynb", []byte(notebook))
	if doc.Title != "Rent by town" || doc.Metadata[domain.MetaAuthor] != "Ann Oake; Bo Reed" || doc.Language != "" {
		t.Errorf("title %q, metadata %v", doc.Title, doc.Metadata)
	}
}

func TestNotebooksOfOldVersionsAreRead(t *testing.T) {
	t.Parallel()
	want := "heading 2: Rents\nparagraph: Two towns.\ncode: rents()\ncode: Ghent 800\n" +
		"table_row: town\trent\tsize\ntable_row: town: Ghent; rent: 800; size: 60\ncode: KeyError: 'Bruges'"
	if diff := cmp.Diff(want, readtest.Lines(readtest.MustParse(t, "rents.ipynb", []byte(old)))); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestOutputsAreBounded(t *testing.T) {
	t.Parallel()
	stream := `{"output_type": "stream", "name": "stdout", "text": "` + strings.Repeat("many words ", 10_000) + `"},`
	doc := readtest.MustParse(t, "a.ipynb", []byte(`{"cells": [{"cell_type": "code", "source": "f()", "outputs": [`+strings.TrimSuffix(strings.Repeat(stream, 150), ",")+`]}], "nbformat": 4}`))
	if n := len(readtest.Text(doc)); n > 20<<10 || len(doc.Warnings) != 2 {
		t.Errorf("%d bytes of text, warnings %q, want at most 20 KiB and two warnings", n, doc.Warnings)
	}
}

func TestDamagedNotebooks(t *testing.T) {
	t.Parallel()
	readtest.Damaged(t, "rent.ipynb", []byte(notebook))
	readtest.Damaged(t, "rents.ipynb", []byte(old))
	cut := readtest.MustParse(t, "a.ipynb", []byte(notebook[:strings.Index(notebook, `"c3"`)]))
	if len(cut.Warnings) != 1 || !strings.Contains(cut.Warnings[0], "first 2 cells were read") {
		t.Errorf("warnings = %q, want one that names the 2 cells", cut.Warnings)
	}
	for name, tt := range map[string]struct {
		data string
		kind extract.Kind
	}{
		"no notebook":   {`{"cells": 3}`, extract.Damaged},
		"no cells":      {`{"nbformat": 4, "cells": []}`, extract.NoText},
		"odd types":     {`{"cells": [{"cell_type": 7, "source": {"a": 1}, "outputs": [1, {"data": 3}, {"data": {"text/plain": {}}}]}]}`, extract.NoText},
		"deep values":   {`{"cells": [` + strings.Repeat("[", 100_000), extract.Damaged},
		"cells as keys": {fmt.Sprintf(`{"cells": %s}`, strings.Repeat(`{"cells":`, 1000)), extract.Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := readtest.Parse(t, "a.ipynb", []byte(tt.data)); extract.KindOf(err) != tt.kind {
				t.Errorf("error = %v, want kind %q", err, tt.kind)
			}
		})
	}
}

func TestNotebooksAreKnownByTheirContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ head, name, declared, want string }{
		{notebook, "", "", "application/x-ipynb+json"},
		{notebook, "a.json", "application/json", "application/x-ipynb+json"},
		{notebook, "a.txt", "", "text/plain"},
		{`{"nbformat": 4}`, "a.ipynb", "", "application/x-ipynb+json"},
		{`{"cells": 3}`, "", "", "application/json"},
	} {
		if got := extract.DetectType([]byte(tt.head), tt.name, tt.declared); got != tt.want {
			t.Errorf("DetectType(%.20q, %q, %q) = %q, want %q", tt.head, tt.name, tt.declared, got, tt.want)
		}
	}
}

func FuzzNotebook(f *testing.F) { readtest.Format(f, ".ipynb", notebook, old) }
