package domain

import (
	"regexp"
	"strings"
)

// KeyPrefix begins the secret of every API key that is made here.
const KeyPrefix = "sk_"

// aKey matches the secret of an API key, also one that was cut short.
var aKey = regexp.MustCompile(KeyPrefix + `[0-9a-fA-F]{8,}`)

// HideKeys returns the text with "sk_…" in the place of every secret of an API key: callers put them where they do not
// belong, and what is shown or logged must not spread them.
func HideKeys(text string) string {
	if !strings.Contains(text, KeyPrefix) {
		return text
	}
	return aKey.ReplaceAllString(text, KeyPrefix+"…")
}
