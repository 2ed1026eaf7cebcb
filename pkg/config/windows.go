package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Windows are the tokens that models take, prompt and answer together.
type Windows struct {
	All     int            // of models that are not named; 0: not set
	ByModel map[string]int // by the provider's name of the model, as it is written elsewhere or without its provider
}

// Bounds of a model's window, in tokens.
const (
	minWindow = 512
	maxWindow = 100_000_000
)

// windows reads "8192,gpt-4o=128000". Names of models may hold anything but commas, "=" included: the last one parts.
func windows(field func(*Config) *Windows) func(*Config, string) error {
	return func(c *Config, v string) error {
		out := Windows{ByModel: map[string]int{}}
		for part := range strings.SplitSeq(v, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			at := strings.LastIndex(part, "=")
			n, err := strconv.Atoi(strings.TrimSpace(part[at+1:]))
			if err != nil || n < minWindow || n > maxWindow {
				return fmt.Errorf("%q must be a number of tokens from %d, or model=number", part, minWindow)
			}
			model := strings.TrimSpace(part[:max(at, 0)])
			switch {
			case at < 0 && out.All > 0:
				return errors.New("has two numbers for all models")
			case at < 0:
				out.All = n
			case model == "":
				return fmt.Errorf("%q names no model", part)
			default:
				out.ByModel[model] = n
			}
		}
		*field(c) = out
		return nil
	}
}
