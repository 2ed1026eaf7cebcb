package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fleetTools returns a function that runs commands from docs/deployment.md. The commands run in a shared directory and
// get the fleet's addresses from the environment. fleetTools looks for PostgreSQL's tools in PATH and Debian's
// directories. TEST_BACKUP_FLEET is the path to the NATS CLI.
func fleetTools(t *testing.T) (run func(f *fleet, commands string)) {
	t.Helper()
	nats := os.Getenv("TEST_BACKUP_FLEET")
	if nats == "" {
		t.Skip("TEST_BACKUP_FLEET, the command of NATS, is not set: make backup-fleet runs it")
	}
	path := filepath.Dir(nats) + ":" + os.Getenv("PATH")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(found) > 0 {
		path = found[len(found)-1] + ":" + path // no older than the server started by the test
	}
	dir := t.TempDir()
	return func(f *fleet, commands string) {
		t.Helper()
		cmd := exec.Command("bash", "-e", "-c", commands)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+path, "DATABASE_URL="+f.postgres.URL(), "NATS_URL="+f.nats.URL())
		out, err := cmd.CombinedOutput() // standard input is empty, as in a cron job
		if err != nil {
			t.Fatalf("%s: %v\n%s", commands, err, tail(string(out), 3000))
		}
	}
}

// documentedCommands returns the first block of shell commands below a heading in docs/deployment.md.
func documentedCommands(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n## "+heading+"\n")
	_, block, hasBlock := strings.Cut(below, "```sh\n")
	commands, _, ends := strings.Cut(block, "```")
	if !found || !hasBlock || !ends {
		t.Fatalf("docs/deployment.md has no commands below %q", heading)
	}
	return commands
}

// TestAFleetComesBackFromItsBackups backs up a busy fleet as docs/deployment.md describes: first the database, then the
// NATS streams. It then discards everything and restores it with new, empty engines. Content accepted before the
// database was copied must be back, and unfinished work must get done. Content accepted after that, but before the
// streams were copied, must come back from the job log. The index must be rebuilt from the originals.
func TestAFleetComesBackFromItsBackups(t *testing.T) {
	run := fleetTools(t)
	backup, restore := documentedCommands(t, "Back up a fleet"), documentedCommands(t, "Restore")
	ofCatalog, ofStreams, split := strings.Cut(backup, "for ")
	if !split || !strings.HasPrefix(ofCatalog, "pg_dump") {
		t.Fatalf("the backup does not begin with the database: %s", backup)
	}
	docs := mixedDocuments(t, 24)
	done, waiting, between, late := docs[:12], docs[12:16], docs[16:20], docs[20:]

	f := newFleet(t, 2)
	store := f.api.newDatastore()
	f.api.addContent(store, done)
	var agent struct{ ID string }
	f.api.must(f.api.post("/agents", map[string]any{"name": "Helper", "datastoreIds": []string{store}}, &agent))
	for _, d := range done[:2] {
		f.api.must(f.api.post("/datastores/update/"+store, map[string]any{
			"id": d.id, "text": "This now says " + d.newWord() + " only.", "metadata": map[string]string{"custom_id": d.customID},
		}, nil))
		d.replaced = confirmed
	}
	f.api.must(f.api.delete("/datasources/" + done[2].id))
	done[2].deleted = confirmed
	f.api.settled(store, time.Minute)
	for _, p := range f.ingestors {
		f.api.must(p.terminate()) // leaves unfinished work
	}
	put := func(docs []*document) {
		t.Helper()
		for _, d := range docs {
			if !f.api.putIn(store, d) {
				t.Fatalf("%s cannot be put in", d.customID)
			}
		}
	}
	put(waiting)
	run(f, ofCatalog)
	put(between)
	run(f, "for "+ofStreams)
	put(late)
	for _, p := range []*program{f.api, f.crawler} {
		p.kill()
	}
	for name, err := range map[string]error{"NATS": f.nats.Stop(), "PostgreSQL": f.postgres.Stop(), "Milvus": f.milvus.Stop()} {
		if err != nil {
			t.Fatalf("stopping %s: %v", name, err)
		}
	}

	f = newFleetEngines(t)
	run(f, restore)
	f.start(2)
	kept := docs[:20]
	f.api.eventually(time.Minute, "what was accepted between the copies does not come back", func() bool {
		have, err := f.api.sources(store, "")
		f.api.must(err)
		return len(have) >= len(kept)-1
	})
	f.api.must(f.api.get("/agents/"+agent.ID, nil))
	f.api.repair() // queues content missing from the index, as a later audit would
	f.api.eventually(2*time.Minute, "the index has not the texts of all documents", func() bool {
		f.api.checkSources(kept, f.api.settled(store, 2*time.Minute))
		return f.api.holdsTexts(kept)
	})
	f.api.swept()
	f.api.says(f.api.repair(), "* datasources checked: "+consistent)
	if len(f.api.query(store, "A note that mentions a word once", 5)) == 0 {
		t.Error("a query finds nothing")
	}
	for _, p := range f.processes() {
		f.api.must(p.terminate())
	}
	f.api.sameRows(store)
	if strings.Contains(f.api.stderr.String(), "level=ERROR") {
		t.Errorf("errors were logged:\n%s", tail(f.api.stderr.String(), 3000))
	}
}

// holdsTexts reports whether the index contains each document's current text.
func (p *program) holdsTexts(docs []*document) bool {
	p.t.Helper()
	for _, d := range docs {
		if d.deleted == confirmed || d.word == "" {
			continue
		}
		word := d.word
		if d.replaced == confirmed {
			word = d.newWord()
		}
		var chunks struct{ Data []struct{ Text string } }
		p.must(p.get("/datasources/"+d.id+"/chunks", &chunks))
		if len(chunks.Data) == 0 || !strings.Contains(chunks.Data[0].Text, word) {
			return false
		}
	}
	return true
}
