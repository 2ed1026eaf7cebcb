package domain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// KeyPrefix is the prefix of generated API keys.
const KeyPrefix = "sk_"

// keyPattern matches the secret of an API key, even if truncated.
var keyPattern = regexp.MustCompile(KeyPrefix + `[0-9a-fA-F]{8,}`)

// MinSecretBytes is the minimum length in bytes of the secrets that Redact hides. Shorter ones could occur in ordinary
// text by chance.
const MinSecretBytes = 12

// Secrets are the operator's secrets, which have no recognisable form. The zero value has none.
type Secrets struct{ known []string } // longest first

// NewSecrets returns a Secrets with the given secrets, except those shorter than MinSecretBytes.
func NewSecrets(secrets ...string) Secrets {
	known := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < MinSecretBytes })
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may contain another
	return Secrets{known}
}

// Redact returns the text with each API key replaced by "sk_…" and each secret in s by "…". Callers may send secrets in
// any field, but responses and logs must not contain them.
func (s Secrets) Redact(text string) string {
	for _, secret := range s.known {
		text = strings.ReplaceAll(text, secret, "…")
	}
	if !strings.Contains(text, KeyPrefix) {
		return text
	}
	return keyPattern.ReplaceAllString(text, KeyPrefix+"…")
}
