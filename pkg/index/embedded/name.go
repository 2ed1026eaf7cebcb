package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/index"
)

// nameFile says in a space's directory whose name is a hash which space it is, also when the database cannot be read.
const nameFile = "space.json"

// maxNameFile bounds what is read of one.
const maxNameFile = 64 << 10

// spaceName is what the file holds.
type spaceName struct {
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// Spaces implements index.Index. It opens no space.
func (x *Index) Spaces(ctx context.Context, datastoreID string) ([]index.Space, error) {
	if err := checkDatastore(datastoreID); err != nil {
		return nil, err
	}
	if x.isClosed() {
		return nil, index.ErrClosed
	}
	entries, err := os.ReadDir(filepath.Join(x.dir, datastoreID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the spaces of datastore %q: %w", datastoreID, err)
	}
	var out []index.Space
	for _, e := range entries {
		if !e.IsDir() || !isSpaceName(e.Name()) {
			continue
		}
		key := spaceKey{datastoreID, e.Name()}
		id, err := readName(ctx, x.path(key), key)
		if errors.Is(err, errNoSpace) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding out which space of datastore %q lies in %s: %w", datastoreID, e.Name(), err)
		}
		out = append(out, id)
	}
	return out, nil
}

// isSpaceName tells a space's directory from what was put aside.
func isSpaceName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(name) == 2*spaceNameBytes
}

// readName tells which space lies in a directory: its file says so, or in a directory without a usable one its database.
func readName(ctx context.Context, dir string, key spaceKey) (index.Space, error) {
	if name, err := readNameFile(dir); err == nil {
		id := index.Space{DatastoreID: key.datastore, Model: name.Model, Dimensions: name.Dimensions}
		if got, err := keyOf(id); err == nil && got == key {
			return id, nil
		}
	}
	path := filepath.Join(dir, databaseName)
	if !exists(path) {
		return index.Space{}, errNoSpace
	}
	db, err := openDB(path, false, 1)
	if err != nil {
		return index.Space{}, err
	}
	snap, err := loadSnapshot(ctx, db)
	if err := errors.Join(err, db.Close()); err != nil {
		if !exists(path) {
			return index.Space{}, errNoSpace // it was dropped meanwhile
		}
		return index.Space{}, corrupt(err)
	}
	return index.Space{DatastoreID: key.datastore, Model: snap.model, Dimensions: snap.dimensions}, nil
}

func readNameFile(dir string) (name spaceName, err error) {
	path := filepath.Join(dir, nameFile)
	info, err := os.Stat(path)
	if err != nil {
		return name, err
	}
	if info.Size() > maxNameFile {
		return name, fmt.Errorf("%s has %d bytes", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return name, err
	}
	return name, json.Unmarshal(data, &name)
}

// writeName makes the file, unless there is a usable one. It is durable with the next sync of the directory; one that is
// lost or half written is made again.
func writeName(dir string, id index.Space) error {
	want := spaceName{id.Model, id.Dimensions}
	if got, err := readNameFile(dir); err == nil && got == want {
		return nil
	}
	data, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("encoding the space's name: %w", err)
	}
	temporary := filepath.Join(dir, nameFile+".new")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("writing the space's name: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(dir, nameFile)); err != nil {
		return fmt.Errorf("writing the space's name: %w", err)
	}
	return nil
}
