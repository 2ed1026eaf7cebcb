package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/index"
)

// identityFile records which space a directory contains, because its name is only a hash. It is readable even if the
// database is damaged.
const identityFile = "space.json"

// Maximum size of an identity file in bytes.
const maxIdentityBytes = 64 << 10

// identity is the content of the identity file.
type identity struct {
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// Identify returns the space stored in one of a datastore's directories. It reads the database if the identity file is
// unreadable or right() rejects its content. If there is no space, it returns ErrNotFound.
func Identify(ctx context.Context, dir, datastoreID string, right func(index.Space) bool) (index.Space, error) {
	if name, err := readIdentity(dir); err == nil {
		id := index.Space{DatastoreID: datastoreID, Model: name.Model, Dimensions: name.Dimensions}
		if right(id) {
			return id, nil
		}
	}
	path := filepath.Join(dir, databaseName)
	if !Exists(path) {
		return index.Space{}, ErrNotFound
	}
	db, err := openDB(path, false, 1)
	if err != nil {
		return index.Space{}, err
	}
	snap, err := loadSnapshot(ctx, db)
	if err := errors.Join(err, db.Close()); err != nil {
		if !Exists(path) {
			return index.Space{}, ErrNotFound // dropped by another call
		}
		return index.Space{}, corrupt(err)
	}
	return index.Space{DatastoreID: datastoreID, Model: snap.model, Dimensions: snap.Dimensions}, nil
}

func readIdentity(dir string) (name identity, err error) {
	path := filepath.Join(dir, identityFile)
	info, err := os.Stat(path)
	if err != nil {
		return name, err
	}
	if info.Size() > maxIdentityBytes {
		return name, fmt.Errorf("%s has %d bytes", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return name, err
	}
	return name, json.Unmarshal(data, &name)
}

// writeIdentity writes the identity file if it is missing or wrong. The next sync of the directory makes it durable.
func writeIdentity(dir string, id index.Space) error {
	want := identity{id.Model, id.Dimensions}
	if got, err := readIdentity(dir); err == nil && got == want {
		return nil
	}
	data, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("encoding the space's name: %w", err)
	}
	temporary := filepath.Join(dir, identityFile+".new")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("writing the space's name: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(dir, identityFile)); err != nil {
		return fmt.Errorf("writing the space's name: %w", err)
	}
	return nil
}
