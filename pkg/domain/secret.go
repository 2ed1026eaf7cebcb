package domain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// KeyPrefix is the prefix of generated API keys.
const KeyPrefix = "sk_"

// keyPattern matches an API key's secret, even if it is truncated.
var keyPattern = regexp.MustCompile(KeyPrefix + `[0-9a-fA-F]{8,}`)

// MinSecretBytes is the minimum length in bytes of secrets that Redact hides. Shorter ones could be ordinary text.
const MinSecretBytes = 12

// Secrets holds the operator's secrets, which have no recognisable format. The zero value holds none.
type Secrets struct{ known []string } // longest first

// NewSecrets returns a Secrets for these secrets. Secrets shorter than MinSecretBytes are ignored.
func NewSecrets(secrets ...string) Secrets {
	known := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < MinSecretBytes })
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may contain another
	return Secrets{known}
}

// Redact replaces every API key in text with "sk_…" and every secret in s with "…". Callers may send secrets in any
// field, but responses and logs must not contain them.
func (s Secrets) Redact(text string) string {
	for _, secret := range s.known {
		text = strings.ReplaceAll(text, secret, "…")
	}
	if !strings.Contains(text, KeyPrefix) {
		return text
	}
	return keyPattern.ReplaceAllString(text, KeyPrefix+"…")
}
