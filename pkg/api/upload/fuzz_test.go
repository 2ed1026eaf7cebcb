package upload

import (
	"mime/multipart"
	"os"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// FuzzForm reads arbitrary bytes as a form. An accepted form must have a file within the size limit and a valid name.
// No form may leave a temporary file behind.
func FuzzForm(f *testing.F) {
	part := func(header, body string) string {
		return "--x\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + body + "\r\n"
	}
	file := part(`name="file"; filename="../a\\b.txt"`, "content")
	for _, form := range []string{
		part(`name="datastoreId"`, "d") + file + "--x--\r\n",
		part(`name="datastoreId"`, "d") + part(`name="metadata"`, `{"team":"ops"}`) + part(`name="fileName"`, "..") + file + "--x--\r\n",
		part(`name="metadata"`, "team=ops,year=2026") + part(`name="custom_id"`, "\xff") + file + file + "--x--\r\n",
		part(`name="metadata[team]"`, "ops") + part(`name="filename"`, "a") + part(`name="config.text"`, "a") + file,
		file + part(`name="file2"`, strings.Repeat("a", 200)), "--x--", "",
	} {
		f.Add([]byte(form))
	}
	o := Options{TempDir: f.TempDir(), MaxBytes: 100}
	f.Fuzz(func(t *testing.T, body []byte) {
		form, err := Receive(t.Context(), multipart.NewReader(strings.NewReader(string(body)), "x"), o)
		if err == nil {
			err = form.Check()
		}
		if err == nil {
			head, headErr := form.Head()
			if name := form.Name(); headErr != nil || len(head) == 0 || len(head) > 100 || name == "" || strings.ContainsAny(name, "/\\\x00\n") {
				t.Errorf("a form passes with the file %q of %d bytes: %v", name, len(head), headErr)
			}
		} else if code := domain.CodeOf(err); code != domain.CodeInvalid && code != domain.CodeTooLarge {
			t.Errorf("refused with %v", err)
		}
		if err := form.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
			t.Errorf("%d temporary files are left: %v", len(left), err)
		}
	})
}
