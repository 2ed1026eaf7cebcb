package app

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
)

// operatorFile tells the commands beside the service how to reach it as its operator: who can read the data directory has all that
// it could show. It is made by each start, with a key that ends with the process.
const operatorFile = "operator.json"

// operatorAccess is what the file holds.
type operatorAccess struct {
	Address string `json:"address"`
	Key     string `json:"key"`
}

// operator knows who runs the service: by the key of the settings, or that of the data directory.
type operator struct{ keys [][sha256.Size]byte }

func newOperator(keys ...string) (o operator) {
	for _, k := range keys {
		if k != "" {
			o.keys = append(o.keys, sha256.Sum256([]byte(k)))
		}
	}
	return o
}

// sent reports whether the operator sent the request, in the same time whatever key it carries.
func (o operator) sent(r *http.Request) bool {
	given := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	same := 0
	for _, want := range o.keys {
		same |= subtle.ConstantTimeCompare(want[:], given[:])
	}
	return same == 1
}

// leaveAccess writes the file and returns its key.
func leaveAccess(path, address string) (key string, err error) {
	access := operatorAccess{Address: address, Key: "op_" + rand.Text()}
	content, err := json.Marshal(access)
	if err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // its permissions would stay
		return "", fmt.Errorf("making %s anew: %w", operatorFile, err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("leaving the operator's access: %w", err)
	}
	return access.Key, nil
}

// readAccess reads it.
func readAccess(path string) (a operatorAccess, err error) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &a)
	}
	if err == nil && (a.Address == "" || a.Key == "") {
		err = errors.New("it names no address or no key")
	}
	return a, err
}
