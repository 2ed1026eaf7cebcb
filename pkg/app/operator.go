package app

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// operator recognises the operator's requests by their key, which is either the configured operator key or the key in
// the data directory.
type operator struct{ keys [][sha256.Size]byte }

func newOperator(keys ...string) (o operator) {
	for _, k := range keys {
		if k != "" {
			o.keys = append(o.keys, sha256.Sum256([]byte(k)))
		}
	}
	return o
}

// isAuthorized reports whether the request has one of the operator's keys. It takes constant time, so that its timing
// doesn't reveal the keys.
func (o operator) isAuthorized(r *http.Request) bool {
	given := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	same := 0
	for _, want := range o.keys {
		same |= subtle.ConstantTimeCompare(want[:], given[:])
	}
	return same == 1
}
