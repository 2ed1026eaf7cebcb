package milvus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/index"
)

// schemaVersion numbers the layout of collections: fields, primary keys, hashes of terms and filter values. It is part
// of a collection's name and kept in its description.
const schemaVersion = 1

// maxNamePart is how much of a model's id a collection's name shows.
const maxNamePart = 64

// collectionName names a space's collection. Names of collections have letters, digits and underscores only, so the
// model's id is shown as far as it can be and told apart by a hash.
func collectionName(prefix string, s index.Space) string {
	shown := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s.Model)
	sum := sha256.Sum256([]byte(s.Model))
	return fmt.Sprintf("%s_v%d_d%d_%s_%s", prefix, schemaVersion, s.Dimensions, shown[:min(len(shown), maxNamePart)], hex.EncodeToString(sum[:8]))
}

// validPrefix reports whether a collection's name may begin so.
func validPrefix(prefix string) bool {
	for i, r := range prefix {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return prefix != "" && len(prefix) <= 100
}

// about is what a collection's description says about it.
type about struct {
	Schema     int    `json:"sluice_schema"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

func (a about) String() string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // numbers and a string always marshal
	}
	return string(b)
}
