package mail_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzMail(f *testing.F) {
	readtest.Format(f, ".eml", sample, strings.ReplaceAll(sample, "base64", "quoted-printable"), "From: a@a.example\nDate: x\nContent-Type: message/rfc822\n\nFrom: b@b.example\nSubject: x\n\ntext")
}

func FuzzMHTML(f *testing.F) { readtest.Format(f, ".mht", extracttest.ArchiveSample) }
