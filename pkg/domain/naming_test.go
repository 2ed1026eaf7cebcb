package domain

import (
	"strings"
	"testing"
	"time"
)

func TestUsefulTitle(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Installing the Fjordmast 3":           "Installing the Fjordmast 3",
		"  Installing\n the\tFjordmast  ":      "Installing the Fjordmast",
		"":                                     "",
		"Untitled":                             "",
		"PowerPoint Presentation":              "",
		"2024-11-05":                           "",
		"Microsoft Word - Annual report 2025":  "Annual report 2025",
		"Microsoft Word - AR_2025_final2.docx": "",
		"report.indd":                          "",
		"泵的安装":                                 "泵的安装",
		"\xff\xfeReport":                       "Report",
		strings.Repeat("a", 400):               strings.Repeat("a", 299) + "…",
	} {
		if got := usefulTitle(title); got != want {
			t.Errorf("%q gives %q, want %q", title, got, want)
		}
	}
}

func TestADocumentBehindALinkIsNamedByItsTitle(t *testing.T) {
	t.Parallel()
	const address = "https://pumps.example/manual.pdf"
	store := Datastore{ID: "s"}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	read := func(d *Datasource, generation uint64, title string) {
		t.Helper()
		job := NewIngestJob(*d, store)
		d.JobID, d.Status = job.ID, StatusRunning
		ev := Event{
			Type: EventSynched, JobKind: JobIngest, JobID: job.ID, Generation: generation, Places: []Place{store.Serving()}, At: at,
			Inputs: job.Inputs(), Document: &DocumentInfo{Title: title},
		}
		if Apply(d, store, ev); d.ActiveGeneration != generation {
			t.Fatalf("generation %d is active", d.ActiveGeneration)
		}
	}
	page := func(name string) *Datasource {
		return &Datasource{
			ID: "d", Type: TypeWebPage, Name: name, Config: DatasourceConfig{SourceURL: address}, Original: &Original{Key: "k", SHA256: "a"},
		}
	}
	d := page(address)
	for n, step := range []struct{ title, want string }{
		{"Installing pumps", "Installing pumps"}, {"Installing pumps, 2nd edition", "Installing pumps, 2nd edition"}, {"untitled", address}, {"Pumps", "Pumps"},
	} {
		read(d, uint64(n+1), step.title)
		if d.Name != step.want {
			t.Errorf("%q makes its name %q, want %q", step.title, d.Name, step.want)
		}
		if again := NewIngestJob(*d, store); again.Inputs() != d.Inputs || again.Name != address {
			t.Errorf("after %q it would be read again, as %q", step.title, again.Name)
		}
	}
	named := page("The manual")
	if read(named, 1, "Installing pumps"); named.Name != "The manual" {
		t.Errorf("a datasource that its owner has named is called %q", named.Name)
	}
	file := page("manual.pdf")
	file.Type = TypeFile
	if read(file, 1, "Installing pumps"); file.Name != "manual.pdf" {
		t.Errorf("a file is called %q", file.Name)
	}
	fetched := Event{Type: EventFetched, JobID: "c", At: at, Fetched: &Fetched{Original: Original{Key: "l", SHA256: "b"}, URL: address, Title: "A page"}}
	d.JobID, d.Status = "c", StatusRunning
	Apply(d, store, fetched)
	if d.Name != "A page" || d.Config.NamedByDocument || NewIngestJob(*d, store).Name != "A page" {
		t.Errorf("when it has become a page with a title its name is %q", d.Name)
	}
}
