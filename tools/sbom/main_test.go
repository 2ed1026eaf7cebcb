package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pack puts this test binary, which is a Go program, and a text file into each kind of archive.
func pack(t *testing.T) (tarball, zipped string, program []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.ReadFile(self); err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	z := gzip.NewWriter(&a)
	members, files := tar.NewWriter(z), zip.NewWriter(&b)
	for name, content := range map[string][]byte{"sluice_1/sluice": program, "sluice_1/LICENSE": []byte("text")} {
		w, err := files.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := members.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
		if _, err := members.Write(content); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	tarball, zipped = filepath.Join(dir, "a.tar.gz"), filepath.Join(dir, "a.zip")
	for _, err := range []error{members.Close(), z.Close(), files.Close(), os.WriteFile(tarball, a.Bytes(), 0o600), os.WriteFile(zipped, b.Bytes(), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tarball, zipped, program
}

func TestArchivesAreRead(t *testing.T) {
	t.Parallel()
	tarball, zipped, _ := pack(t)
	var first string
	for _, name := range []string{tarball, zipped, tarball} {
		var out bytes.Buffer
		if err := run([]string{name}, &out); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = out.String()
		}
		if out.String() != first {
			t.Errorf("%s gives another document", filepath.Base(name))
		}
		var b bom
		if err := json.Unmarshal(out.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		if b.Format != "CycloneDX" || b.Components[0].Name != "sluice" || len(b.Components[0].Hashes[0].Content) != 64 {
			t.Errorf("%+v", b.Components[0])
		}
		known := map[string]bool{b.Metadata.Component.Ref: true}
		for _, c := range b.Components {
			if known[c.Ref] {
				t.Errorf("%s is there twice", c.Ref)
			}
			known[c.Ref] = true
		}
		for _, d := range b.Dependencies {
			for _, on := range append(d.On, d.Ref) {
				if !known[on] {
					t.Errorf("nothing is %s", on)
				}
			}
		}
	}
}

func TestTheVersionThatIsGivenIsThatOfTheProgramsAndTheWhole(t *testing.T) {
	t.Parallel()
	tarball, _, _ := pack(t)
	for _, version := range []string{"v1.2.3", ""} {
		var out bytes.Buffer
		if err := run([]string{"-version", version, tarball}, &out); err != nil {
			t.Fatal(err)
		}
		var b bom
		if err := json.Unmarshal(out.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		whole, address := b.Metadata.Component, "pkg:golang/github.com/sluice/sluice"
		if version != "" {
			address += "@" + version
		}
		if whole.Version != version || whole.URL != address || b.Components[0].Version != version {
			t.Errorf("with -version %q: %+v, %+v", version, whole, b.Components[0])
		}
		if strings.Contains(out.String(), "(devel)") {
			t.Errorf("with -version %q something is of the version (devel)", version)
		}
	}
}

func TestArchivesWithoutAProgramAreRefused(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{name}, {}, {name + ".tar.gz"}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%s was taken", strings.Join(args, " "))
		}
	}
}
