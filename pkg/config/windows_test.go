package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWindowsOfModels(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Windows{
		"":     {},
		"8192": {All: 8192},
		" gpt-4o=128000 , 16384,llama3.1:8b=4096": {All: 16384, ByModel: map[string]int{"gpt-4o": 128000, "llama3.1:8b": 4096}},
		"a=b=2048": {ByModel: map[string]int{"a=b": 2048}},
	} {
		var c Config
		if want.ByModel == nil {
			want.ByModel = map[string]int{}
		}
		if err := windows(&c.ChatWindows)(in); err != nil || !cmp.Equal(c.ChatWindows, want) {
			t.Errorf("%q: %+v, %v", in, c.ChatWindows, err)
		}
	}
	for _, in := range []string{"many", "gpt-4o=", "=8192", "100", "8192,4096", "gpt-4o=-1", "gpt-4o=1e9"} {
		var c Config
		if err := windows(&c.ChatWindows)(in); err == nil {
			t.Errorf("%q accepted as %+v", in, c.ChatWindows)
		}
	}
}
