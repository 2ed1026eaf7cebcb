package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestConstantsAreWorkedOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package p\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "const a = 3 << 10\nconst (\n\tb = 2 * time.Minute\n\tc, d = (a + 1) * 2, 1_000\n)\nconst text = \"x\"\nconst half = 0.5\nvar v = 1\n")
	write("b_test.go", "const e = 1\n")
	all, err := declared(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"a": 3072, "b": 120e9, "c": 6146, "d": 1000} {
		if got, err := all.value(name); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"v", "e", "nobody", "half", "text"} {
		if got, err := all.value(name); err == nil {
			t.Errorf("%s is %d", name, got)
		}
	}
}

func TestFiguresAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		number(0): "0", number(-2): "-2", number(999): "999", number(1_234_567): "1,234,567", number(-1000): "-1,000",
		bytesOf(20 << 20): "20 MiB", bytesOf(1500): "1,500 bytes", bytesOf(1 << 30): "1 GiB",
		timeOf(24 * 3600e9): "1 day", timeOf(90e9): "90 seconds", timeOf(36 * 3600e9): "36 hours",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPagesAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*bytes.Buffer, string) error{"limits.md": limits, "errors.md": errorCodes} {
		want, err := os.ReadFile(filepath.Join("../../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			var b bytes.Buffer
			if err := write(&b, "../../.."); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Fatalf("docs/%s is not what the code says; run go generate ./pkg/api", name)
			}
		}
	}
}
