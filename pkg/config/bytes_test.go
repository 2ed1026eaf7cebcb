package config

import (
	"strconv"
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Bytes{
		"0": 0, "1024": 1024, "2048B": 2048, "64KiB": 64 << 10, "2 GiB": 2 << 30, " 7 ": 7, "007": 7,
		"100MB": 100e6, "1G": 1e9, "512KiB": 512 << 10, "1g": 1e9, "3k": 3000, "3Ki": 3072, "5mib": 5 << 20, "2T": 2e12, "1TiB": 1 << 40,
		"4611686018427387904": 1 << 62, "4194304TiB": 1 << 62,
	} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "must be a size", "MiB": "must be a size", "1.5MiB": "must be a size", "1,5GB": "must be a size", "10 furlongs": "must be a size",
		"0x10": "must be a size", "1e3": "must be a size", "+5": "must be a size", "5 5": "must be a size", "1KBB": "must be a size", "１": "must be a size",
		"-1": "must not be negative", "-5MB": "must not be negative",
		"4611686018427387905": "is too large", "99999999999GiB": "is too large", "99999999999999999999": "is too large", "4194305TiB": "is too large",
	} {
		got, err := ParseBytes(in)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %d, %v; want %q", in, got, err, want)
		}
		if err != nil && want != "is too large" && !strings.Contains(err.Error(), "100MB") {
			t.Errorf("%q: the error does not show the accepted forms: %v", in, err)
		}
	}
}

func TestEverySizeSettingAcceptsUnits(t *testing.T) {
	t.Parallel()
	sizes := 0
	for _, s := range Settings() {
		if s.set("1GiB") != nil || s.set("some bytes") == nil || s.set("1Gb") != nil || s.set("GiB") == nil {
			continue // not a size
		}
		sizes++
		if err := s.set("1T"); err != nil {
			t.Errorf("%s: %v", s.Env, err)
		}
		for _, in := range []string{"-1", "ten", "1.5GB", "99999999999G"} {
			_, err := ParseEnviron([]string{s.Env + "=" + in})
			if err == nil || !strings.Contains(err.Error(), s.Env) || !strings.Contains(err.Error(), strconv.Quote(in)) {
				t.Errorf("%s=%s: the error does not name the setting and the value: %v", s.Env, in, err)
			}
		}
	}
	if sizes != 8 {
		t.Errorf("%d settings are sizes", sizes)
	}
}

func TestBytesAsText(t *testing.T) {
	t.Parallel()
	for in, want := range map[Bytes]string{0: "0", 1: "1", 1000: "1000", 1024: "1KiB", 3 << 30: "3GiB", 1536 << 10: "1536KiB", 1 << 62: "4194304TiB"} {
		if got := in.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(in), got, want)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"0", "100MB", "1G", "512KiB", "-1", "1.5MiB", "2 GiB", "9223372036854775808", "İ", "1K"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := ParseBytes(in)
		if plain, perr := strconv.ParseUint(in, 10, 62); perr == nil && (err != nil || uint64(n) != plain) {
			t.Fatalf("%q: %d, %v", in, n, err)
		}
		if err != nil {
			return
		}
		if n < 0 || n > maxBytes {
			t.Fatalf("%q is %d", in, n)
		}
		if again, err := ParseBytes(n.String()); err != nil || again != n {
			t.Fatalf("%q is %d, and its text %q is %d, %v", in, n, n, again, err)
		}
	})
}
