package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicencesAreKnownByTheirText(t *testing.T) {
	t.Parallel()
	mit, apache := "Permission is hereby granted, free of charge,\nto any person obtaining a copy of", "   Apache License\n     Version 2.0, January 2004"
	for text, want := range map[string]string{
		mit:                 "MIT",
		apache:              "Apache-2.0",
		apache + "\n" + mit: "Apache-2.0 MIT",
		"Redistribution and use in source and\nbinary forms, with or without":                                                                   "BSD",
		"Mozilla Public License\nVersion 2.0 … the GNU General Public License, Version 2.0, the GNU Affero General Public License, Version 3.0": "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE\n   Version 3":                                                                                              "",
		"GNU LESSER GENERAL PUBLIC LICENSE Version 2.1":                                                                                         "",
		mit + " GNU AFFERO GENERAL PUBLIC LICENSE Version 3":                                                                                    "",
		"All rights reserved.": "",
	} {
		if got, err := classify(text); strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%.30q is %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	t.Parallel()
	with, without := t.TempDir(), t.TempDir()
	for dir, name := range map[string]string{with: "LICENSE.md", without: "license.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("Mozilla Public License\nVersion 2.0"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := document([]module{{"a.example/with", "v1.0.0", with}, {"a.example/without", "v1.0.0", without}})
	if !strings.Contains(string(text), "## MPL-2.0\n\n```text\na.example/with\n```\n") || err == nil || !strings.Contains(err.Error(), "a.example/without v1.0.0: has no licence file") {
		t.Errorf("%v\n%s", err, text)
	}
}
