package app

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
)

// TestFilesExpireOnTime lists files until all have expired. No file may disappear before its expiry time or still be
// listed a minute after it. The program is killed three seconds before the first file expires. The minimum lifetime of
// a file is an hour. With TEST_EXPIRY=hour (make check-expiry), the test waits that long, and a vector store expires as
// well. Otherwise it sets the program's clock forward while the program is down.
func TestFilesExpireOnTime(t *testing.T) {
	t.Parallel()
	const margin = 3 * time.Second
	waits := os.Getenv("TEST_EXPIRY") == "hour"
	number := 5
	if waits {
		number = 120
	}
	clock := newTestClock(t)
	p := newProgram(t, clockVariable+"="+clock.file)
	p.start()
	client := openAIClient(p)
	ctx := t.Context()
	type file struct {
		word    string
		expires time.Time
	}
	files := map[string]file{}
	var ids []string
	create := func(word string, lifetime int64) {
		t.Helper()
		params := openai.FileNewParams{File: openai.File(strings.NewReader("This note mentions "+word+" once."), word+".txt", "text/plain"), Purpose: openai.FilePurposeUserData}
		if lifetime > 0 {
			params.ExpiresAfter = openai.FileNewParamsExpiresAfter{Seconds: lifetime}
		}
		f, err := client.Files.New(ctx, params)
		p.must(err)
		ids = append(ids, f.ID)
		if lifetime > 0 {
			files[f.ID] = file{word, time.Unix(f.CreatedAt+lifetime, 0)}
		}
	}
	for n := range number {
		create(fmt.Sprintf("wombat%03d", n), int64(3600+n))
	}
	first := files[ids[0]].expires
	create("quokka", 0)
	upload, err := client.Uploads.New(ctx, openai.UploadNewParams{Bytes: 20, Filename: "part.txt", MimeType: "text/plain", Purpose: openai.FilePurposeAssistants})
	p.must(err)
	addPart := func() error {
		_, err := client.Uploads.Parts.New(ctx, upload.ID, openai.UploadPartNewParams{Data: strings.NewReader("word")})
		return err
	}
	made, err := client.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("Notes")})
	p.must(err)
	store := strings.TrimPrefix(made.ID, "vs_")
	batch, err := client.VectorStores.FileBatches.NewAndPoll(ctx, made.ID, openai.VectorStoreFileBatchNewParams{FileIDs: ids}, 200)
	p.must(err)
	if batch.FileCounts.Completed != int64(len(ids)) {
		t.Fatalf("the batch is %s", batch.RawJSON())
	}

	if waits {
		select {
		case <-time.After(first.Add(-margin).Sub(clock.now())):
		case err := <-p.exited:
			t.Fatalf("the program ended: %v", err)
		}
	}
	p.kill()
	if !waits {
		clock.jump(first.Add(-margin).Sub(clock.now()))
	}
	p.start()
	started := clock.now()
	if err := addPart(); err != nil && clock.now().Before(time.Unix(upload.ExpiresAt, 0)) {
		t.Errorf("the upload refuses a part before its time: %v", err)
	}
	var latest time.Duration
	p.eventually(time.Minute+time.Duration(number)*time.Second, "some files have not expired", func() bool {
		before := clock.now()
		page, err := client.Files.List(ctx, openai.FileListParams{})
		p.must(err)
		sources, err := p.sources(store, "")
		p.must(err)
		after := clock.now()
		for id, f := range files {
			listed := slices.ContainsFunc(page.Data, func(o openai.FileObject) bool { return o.ID == id })
			inStore := slices.ContainsFunc(sources, func(s source) bool { return s.Name == f.word+".txt" })
			if (!listed || !inStore) && after.Before(f.expires) {
				t.Fatalf("%s is gone %v before its time", f.word, f.expires.Sub(after))
			}
			due := f.expires
			if due.Before(started) {
				due = started
			}
			if (listed || inStore) && before.After(due.Add(time.Minute)) {
				t.Fatalf("%s is there %v after its time", f.word, before.Sub(due))
			}
			if !listed && !inStore {
				latest = max(latest, after.Sub(f.expires))
				delete(files, id)
			}
		}
		return len(files) == 0
	})
	t.Logf("the last of %d files is gone, each at most %v after its time", number, latest.Round(time.Millisecond))
	p.eventually(time.Minute, "the upload still takes parts", func() bool { return addPart() != nil })
	if early := time.Unix(upload.ExpiresAt, 0).Sub(clock.now()); early > 0 {
		t.Errorf("the upload expired %v before its time", early)
	}
	for n := range number {
		word := fmt.Sprintf("wombat%03d", n)
		for _, hit := range p.query(store, word, 5) {
			if strings.Contains(hit.Text, word) {
				t.Errorf("%s is still found", word)
			}
		}
	}
	if found := p.query(store, "quokka", 1); len(found) != 1 || !strings.Contains(found[0].Text, "quokka") {
		t.Errorf("the file without a lifetime is not found: %+v", found)
	}
	if !waits {
		return
	}

	// The minimum lifetime of a vector store is a day, so set the clock forward.
	short, err := client.VectorStores.New(ctx, openai.VectorStoreNewParams{FileIDs: ids[number:], ExpiresAfter: openai.VectorStoreNewParamsExpiresAfter{Days: 1}})
	p.must(err)
	p.settled(strings.TrimPrefix(short.ID, "vs_"), time.Minute)
	short, err = client.VectorStores.Get(ctx, short.ID)
	p.must(err)
	expires := time.Unix(short.ExpiresAt, 0)
	p.kill()
	clock.jump(expires.Add(-margin).Sub(clock.now()))
	p.start()
	p.eventually(time.Minute+margin, "the vector store has not expired", func() bool {
		before := clock.now()
		got, err := client.VectorStores.Get(ctx, short.ID)
		p.must(err)
		after, isExpired := clock.now(), got.Status == openai.VectorStoreStatusExpired
		switch {
		case isExpired && after.Before(expires):
			t.Fatalf("the vector store expired %v before its time", expires.Sub(after))
		case !isExpired && before.After(expires.Add(time.Minute)):
			t.Fatalf("the vector store has not expired %v after its time", before.Sub(expires))
		case isExpired:
			t.Logf("the vector store expired at most %v after its time", after.Sub(expires).Round(time.Millisecond))
		}
		return isExpired
	})
}
