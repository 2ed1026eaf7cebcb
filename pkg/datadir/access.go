package datadir

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Access is the content of the access file, which tells commands on the same machine how to reach the service: its
// address and an operator key. The file grants no extra rights, because anyone who can read the data directory can read
// all data anyway. Each start writes a new key, which is valid until the process exits.
type Access struct {
	Address string `json:"address"`
	Key     string `json:"key"`
}

// WriteAccess writes the access file with a new key and returns the key.
func WriteAccess(path, address string) (key string, err error) {
	access := Access{Address: address, Key: "op_" + rand.Text()}
	content, err := json.Marshal(access)
	if err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // os.WriteFile would keep an existing file's permissions
		return "", fmt.Errorf("replacing %s: %w", Operator, err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("writing the operator's access file: %w", err)
	}
	return access.Key, nil
}

// ReadAccess reads the access file.
func ReadAccess(path string) (a Access, err error) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &a)
	}
	if err == nil && (a.Address == "" || a.Key == "") {
		err = errors.New("the file has no address or no key")
	}
	return a, err
}
