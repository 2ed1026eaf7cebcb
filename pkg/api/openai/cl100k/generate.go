//go:build ignore

// This program writes vocabulary.gz from the file cl100k_base.tiktoken. Each line of that file contains a token in
// base64 and its number. The file is part of github.com/pkoukk/tiktoken-go-loader; OpenAI publishes it under the MIT
// licence.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/pkoukk/tiktoken-go-loader@v0.0.2"

func main() {
	log.SetFlags(0)
	dir, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		log.Fatalf("downloading %s: %v", module, err)
	}
	_, rest, _ := strings.Cut(string(dir), `"Dir": "`)
	path, _, _ := strings.Cut(rest, `"`)
	lines, err := os.ReadFile(filepath.Join(path, "assets", "cl100k_base.tiktoken"))
	if err != nil {
		log.Fatal(err)
	}
	var lengths, text []byte
	for line := range strings.Lines(string(lines)) {
		encoded, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		token, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || number != fmt.Sprint(len(lengths)) || len(token) > 255 {
			log.Fatalf("line %d is %q", len(lengths)+1, line)
		}
		lengths, text = append(lengths, byte(len(token))), append(text, token...)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := w.Write(append(lengths, text...)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("vocabulary.gz", packed.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}
