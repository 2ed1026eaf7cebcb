package domain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// KeyPrefix begins the secret of every API key that is made here.
const KeyPrefix = "sk_"

// aKey matches the secret of an API key, also one that was cut short.
var aKey = regexp.MustCompile(KeyPrefix + `[0-9a-fA-F]{8,}`)

// MinHidden is how long a secret must be, in bytes, to be known in a text: shorter ones stand there by chance.
const MinHidden = 12

// hidden are the secrets of the operator, the longest first. It belongs to the process, as its settings do.
var hidden atomic.Pointer[[]string]

// Hide has HideKeys take these secrets out of texts, too, in the place of those that were named before: the operator's own, which
// look like nothing in particular. Those of less than MinHidden bytes are left.
func Hide(secrets ...string) {
	known := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < MinHidden })
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may stand within another
	hidden.Store(&known)
}

// HideKeys returns the text with "sk_…" in the place of every secret of an API key, and "…" in that of every other that Hide was told:
// callers put them where they do not belong, and what is shown or logged must not spread them.
func HideKeys(text string) string {
	if known := hidden.Load(); known != nil {
		for _, secret := range *known {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	if !strings.Contains(text, KeyPrefix) {
		return text
	}
	return aKey.ReplaceAllString(text, KeyPrefix+"…")
}
