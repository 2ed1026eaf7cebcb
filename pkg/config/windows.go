package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Windows holds the models' context windows, in tokens. A window covers both prompt and answer.
type Windows struct {
	All     int            // for models not in ByModel; 0 if not set
	ByModel map[string]int // by model name, with or without its provider
}

// Bounds on a model's context window, in tokens.
const (
	minWindow = 512
	maxWindow = 100_000_000
)

// windows returns a function that parses a list such as "8192,gpt-4o=128000" into the field. Model names may contain
// any character except a comma; the window follows the last "=".
func windows(field *Windows) func(string) error {
	return func(v string) error {
		out := Windows{ByModel: map[string]int{}}
		for part := range strings.SplitSeq(v, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			at := strings.LastIndex(part, "=")
			n, err := strconv.Atoi(strings.TrimSpace(part[at+1:]))
			if err != nil || n < minWindow || n > maxWindow {
				return fmt.Errorf("%q must be a number of tokens, at least %d, or model=number", part, minWindow)
			}
			model := strings.TrimSpace(part[:max(at, 0)])
			switch {
			case at < 0 && out.All > 0:
				return errors.New("has two numbers without a model: keep one as the default")
			case at < 0:
				out.All = n
			case model == "":
				return fmt.Errorf("%q has no model before the =", part)
			default:
				out.ByModel[model] = n
			}
		}
		*field = out
		return nil
	}
}
