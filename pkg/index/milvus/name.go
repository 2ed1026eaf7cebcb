package milvus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/index"
)

// schemaVersion is the version of the collection format: fields, primary keys, and hashes of terms and filterable
// values. It is part of a collection's name and description.
const schemaVersion = 1

// Maximum length in bytes of the model's id in a collection name.
const maxNamePart = 64

// collectionName returns a space's collection name. Only letters, digits and underscores are allowed, so the model's
// other characters are replaced, and a hash of the model follows.
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

// validPrefix reports whether collection names can have this prefix.
func validPrefix(prefix string) bool {
	for i, r := range prefix {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return prefix != "" && len(prefix) <= 100
}

// description is a collection's description, stored as JSON.
type description struct {
	Schema     int    `json:"sluice_schema"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

func (a description) String() string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // unreachable: numbers and a string always marshal
	}
	return string(b)
}
