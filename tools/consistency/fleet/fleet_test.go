package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatchesFitTheCode fails if a code change makes a patch no longer fit. If it fails, adapt the patch.
func TestPatchesFitTheCode(t *testing.T) {
	t.Parallel()
	for _, name := range Planted() {
		changed, err := patched("../../..", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(changed) < 2 {
			t.Errorf("%s: only %d files are changed", name, len(changed))
		}
		for file, text := range changed {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := patched("../../..", "nothing"); err == nil {
		t.Error("an unknown fault is planted")
	}
}

func TestFaultsTakeTurnsAndAreHealed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, most := 0, 0
		var faults []Fault
		for i := range 3 {
			faults = append(faults, Fault{fmt.Sprint("fault ", i), 10 * time.Second, func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
				open++
				most = max(most, open)
				return "", func(context.Context) error { open--; return nil }, nil
			}})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		strikes, err := Disturb(ctx, faults, rand.New(rand.NewPCG(1, 2)), io.Discard, time.Now())
		if err != nil || open != 0 || most != 2 {
			t.Errorf("%v: %d faults are left, at most %d together", err, open, most)
		}
		for _, f := range faults {
			if n := strikes[f.Name]; n < 100 || n > strikes["fault 0"]+1 || n < strikes["fault 0"]-1 {
				t.Errorf("strikes are %v", strikes)
			}
		}
	})
}

func TestAFaultThatCannotHappenEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed, healed := errors.New("no such process"), false
		_, err := Disturb(t.Context(), []Fault{{"fault", time.Second, func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
			return "", func(context.Context) error { healed = true; return nil }, failed
		}}}, rand.New(rand.NewPCG(1, 2)), io.Discard, time.Now())
		if !errors.Is(err, failed) || !healed {
			t.Errorf("%v, healed %v", err, healed)
		}
	})
}

func TestOneBitIsFlipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := map[string][]byte{}
	for i := range 3 {
		name := filepath.Join(dir, fmt.Sprint("stream-", i), "1.blk")
		before[name] = bytes.Repeat([]byte{byte(i)}, 100)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, before[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := flip(dir, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for name, old := range before {
		now, err := os.ReadFile(name)
		if err != nil || len(now) != len(old) {
			t.Fatalf("%d bytes: %v", len(now), err)
		}
		for i := range now {
			flipped += bits.OnesCount8(now[i] ^ old[i])
		}
	}
	if flipped != 1 {
		t.Errorf("%d bits are flipped", flipped)
	}
	if _, err := flip(t.TempDir(), rand.New(rand.NewPCG(1, 2))); err == nil {
		t.Error("a bit of nothing is flipped")
	}
}

func TestAHookIsToldToStrikeAndToHeal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hook := filepath.Join(dir, "hook")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho $1 >> "+filepath.Join(dir, "said")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := Command(hook)
	_, heal, err := f.strike(t.Context(), nil)
	if err := errors.Join(err, heal(t.Context())); err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(filepath.Join(dir, "said")); err != nil || string(said) != "strike\nheal\n" {
		t.Errorf("the output is %q: %v", said, err)
	}
	if _, _, err := Command(filepath.Join(dir, "none")).strike(t.Context(), nil); err == nil {
		t.Error("a hook that does not exist strikes")
	}
}
