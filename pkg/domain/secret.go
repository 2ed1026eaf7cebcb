package domain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// KeyPrefix begins the secret of every API key that is made here.
const KeyPrefix = "sk_"

// aKey matches the secret of an API key, also one that was cut short.
var aKey = regexp.MustCompile(KeyPrefix + `[0-9a-fA-F]{8,}`)

// MinHidden is how long a secret must be, in bytes, to be known in a text: shorter ones stand there by chance.
const MinHidden = 12

// Secrets are the operator's own secrets, which look like nothing in particular. The zero value knows none.
type Secrets struct{ known []string } // the longest first

// NewSecrets returns the secrets of at least MinHidden bytes.
func NewSecrets(secrets ...string) Secrets {
	known := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < MinHidden })
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may stand within another
	return Secrets{known}
}

// Hide returns the text with "sk_…" in the place of every secret of an API key, and "…" in that of every secret that s knows: callers put
// them where they do not belong, and what is shown or logged must not spread them.
func (s Secrets) Hide(text string) string {
	for _, secret := range s.known {
		text = strings.ReplaceAll(text, secret, "…")
	}
	if !strings.Contains(text, KeyPrefix) {
		return text
	}
	return aKey.ReplaceAllString(text, KeyPrefix+"…")
}
