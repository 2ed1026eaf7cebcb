package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sluice/sluice/pkg/lists"
)

func openAIClient(p *program) openai.Client {
	return openai.NewClient(option.WithBaseURL("http://"+p.addr+"/v1/"), option.WithAPIKey(testKey), option.WithMaxRetries(0))
}

func TestTheOfficialOpenAIClientKeepsFilesInVectorStores(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	client := openAIClient(p)
	ctx := t.Context()
	upload := func(name, text string) string {
		t.Helper()
		f, err := client.Files.New(ctx, openai.FileNewParams{File: openai.File(strings.NewReader(text), name, "text/plain"), Purpose: openai.FilePurposeAssistants})
		if err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	store, err := client.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("Rivers")})
	p.must(err)
	first, second := upload("heron.txt", "The heron nests on the island of Reed."), upload("otter.txt", "The otter swims near the mill of Stone.")
	batch, err := client.VectorStores.FileBatches.NewAndPoll(ctx, store.ID, openai.VectorStoreFileBatchNewParams{FileIDs: []string{first, second}}, 100)
	p.must(err)
	if batch.FileCounts.Completed != 2 || batch.Status != openai.VectorStoreFileBatchStatusCompleted {
		t.Fatalf("the batch is %s", batch.RawJSON())
	}

	t.Run("both interfaces show the same", func(t *testing.T) {
		id := strings.TrimPrefix(store.ID, "vs_")
		var d struct{ Name string }
		p.must(p.get("/datastores/"+id, &d))
		all, err := p.sources(id, "")
		p.must(err)
		names := lists.Map(all, func(s source) string { return s.Name })
		slices.Sort(names)
		if d.Name != "Rivers" || !slices.Equal(names, []string{"heron.txt", "otter.txt"}) {
			t.Errorf("the datastore %q contains %v", d.Name, names)
		}
		other := p.newDatastore()
		p.must(p.upload(other, "swan.txt", "", []byte("The swan of Marsh is white."), nil))
		p.settled(other, time.Minute)
		page, err := client.VectorStores.Files.List(ctx, "vs_"+other, openai.VectorStoreFileListParams{})
		p.must(err)
		if len(page.Data) != 1 || page.Data[0].Status != openai.VectorStoreFileStatusCompleted {
			t.Fatalf("the files are %s", page.RawJSON())
		}
		content, err := client.Files.Content(ctx, page.Data[0].ID)
		p.must(err)
		defer content.Body.Close()
		if text, err := io.ReadAll(content.Body); err != nil || string(text) != "The swan of Marsh is white." {
			t.Errorf("the content is %q, %v", text, err)
		}
	})
	t.Run("deleting one use keeps the content of the others", func(t *testing.T) {
		other, err := client.VectorStores.New(ctx, openai.VectorStoreNewParams{FileIDs: []string{first}})
		p.must(err)
		_, err = client.VectorStores.Files.Delete(ctx, store.ID, first)
		p.must(err)
		p.must(p.post("/datastores/"+strings.TrimPrefix(other.ID, "vs_")+"/resync", map[string]string{"mode": "reindex"}, nil))
		p.settled(strings.TrimPrefix(other.ID, "vs_"), time.Minute)
		found, err := client.VectorStores.Search(ctx, other.ID, openai.VectorStoreSearchParams{Query: openai.VectorStoreSearchParamsQueryUnion{OfString: openai.String("Where does the heron nest?")}})
		p.must(err)
		if len(found.Data) != 1 || found.Data[0].FileID != first || !strings.Contains(found.Data[0].Content[0].Text, "island of Reed") {
			t.Errorf("found %s", found.RawJSON())
		}
		if _, err := client.Files.Delete(ctx, first); err != nil {
			t.Fatal(err)
		}
		gone, err := client.VectorStores.Get(ctx, other.ID)
		p.must(err)
		if gone.FileCounts.Total != 0 {
			t.Errorf("the vector store still has files: %s", gone.RawJSON())
		}
	})
	t.Run("a file that cannot be read fails with its reason", func(t *testing.T) {
		f, err := client.Files.New(ctx, openai.FileNewParams{File: openai.File(bytes.NewReader([]byte{0x7f, 'E', 'L', 'F', 1, 2, 3, 0, 0, 0, 0}), "program.bin", "application/octet-stream"), Purpose: openai.FilePurposeUserData})
		p.must(err)
		got, err := client.VectorStores.Files.NewAndPoll(ctx, store.ID, openai.VectorStoreFileNewParams{FileID: f.ID}, 100)
		p.must(err)
		if got.Status != openai.VectorStoreFileStatusFailed || got.LastError.Code != "unsupported_file" || got.LastError.Message == "" {
			t.Errorf("got %s", got.RawJSON())
		}
	})
}

// TestAcceptedFilesSurviveAKill kills the process at random moments while files are uploaded, some of them in parts,
// and added in batches. In the end, every acknowledged file must have been completed exactly once.
func TestAcceptedFilesSurviveAKill(t *testing.T) {
	t.Parallel()
	kills, total := 12, 36
	if testing.Short() {
		kills, total = 3, 9
	}
	if text := os.Getenv("TEST_KILLED_FILES"); text != "" { // set by make check-kills
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("TEST_KILLED_FILES is %q; it must be a number of files", text)
		}
		kills, total = 30, n
	}
	random := rand.New(rand.NewPCG(2026, 34))
	p := newProgram(t)
	p.start()
	client := openAIClient(p)
	made, err := client.VectorStores.New(t.Context(), openai.VectorStoreNewParams{Name: openai.String("Kept")})
	p.must(err)
	type file struct{ word, id string }
	var files []file     // acknowledged
	var rest []string    // acknowledged files that are in no acknowledged batch
	var batches []string // acknowledged
	began := time.Now()
	life := max(2*total/kills, 2) // a process is killed after half as many files on average
	perBatch := min(max(life/6, 2), 100)
	killed := 0
	for ; killed < kills || len(files) < total; killed++ {
		last := random.IntN(life) // the process is killed while this file is uploaded, or while its batch is created or read
		inBatch := random.IntN(2) == 0
		dead := make(chan struct{})
		process := p.cmd.Process
		kill := func(within time.Duration) {
			time.AfterFunc(time.Duration(random.Int64N(int64(within))), func() { _ = process.Kill(); close(dead) })
		}
		isDead := func() bool {
			select {
			case <-dead:
				return true
			default:
				return false
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		var fresh []string
		planned := false
		for n := 0; !isDead() && ctx.Err() == nil; n++ {
			if n >= last && !inBatch && !planned {
				planned = true
				kill(20 * time.Millisecond)
			}
			f := file{word: fmt.Sprintf("wombat%02dx%04d", killed, n)}
			text := "This note mentions " + f.word + " once."
			if n%3 == 2 {
				f.id = uploadInParts(ctx, client, f.word+".txt", text)
			} else if got, err := client.Files.New(ctx, openai.FileNewParams{File: openai.File(strings.NewReader(text), f.word+".txt", "text/plain"), Purpose: openai.FilePurposeAssistants}); err == nil {
				f.id = got.ID
			}
			if f.id != "" {
				files, fresh = append(files, f), append(fresh, f.id)
			}
			if len(fresh) < perBatch {
				continue
			}
			if n >= last && !planned {
				planned = true
				kill(200 * time.Millisecond)
			}
			if b, err := client.VectorStores.FileBatches.New(ctx, made.ID, openai.VectorStoreFileBatchNewParams{FileIDs: fresh}); err == nil {
				batches = append(batches, b.ID)
			} else {
				rest = append(rest, fresh...)
			}
			fresh = nil
		}
		cancel()
		rest = append(rest, fresh...)
		p.kill() // it is dead already, unless the time is up
		p.start()
	}
	t.Logf("%d files and %d batches were acknowledged, and the process was killed %d times, in %v", len(files), len(batches), killed, time.Since(began).Round(time.Millisecond))
	for part := range slices.Chunk(rest, 2000) { // adding a file a second time is harmless
		b, err := client.VectorStores.FileBatches.New(t.Context(), made.ID, openai.VectorStoreFileBatchNewParams{FileIDs: part})
		p.must(err)
		batches = append(batches, b.ID)
	}
	p.eventually(2*time.Minute+time.Duration(len(files))*100*time.Millisecond, "some files are still in progress", func() bool {
		v, err := client.VectorStores.Get(t.Context(), made.ID)
		p.must(err)
		return v.FileCounts.InProgress == 0
	})
	t.Logf("all files were read after %v", time.Since(began).Round(time.Millisecond))
	for _, id := range batches {
		b, err := client.VectorStores.FileBatches.Get(t.Context(), made.ID, id)
		p.must(err)
		if b.FileCounts.Completed != b.FileCounts.Total || b.Status != openai.VectorStoreFileBatchStatusCompleted {
			t.Errorf("the batch is %s", b.RawJSON())
		}
	}
	seen := map[string]int{}
	for pages := client.VectorStores.Files.ListAutoPaging(t.Context(), made.ID, openai.VectorStoreFileListParams{Limit: openai.Int(int64(min(perBatch+1, 100)))}); pages.Next(); {
		seen[pages.Current().ID]++
		if f := pages.Current(); f.Status != openai.VectorStoreFileStatusCompleted {
			t.Errorf("the file is %s", f.RawJSON())
		}
	}
	store := strings.TrimPrefix(made.ID, "vs_")
	for _, f := range files {
		if seen[f.id] != 1 {
			t.Errorf("the file with %s is there %d times", f.word, seen[f.id])
		}
		if found := p.query(store, f.word, 1); len(found) != 1 || !strings.Contains(found[0].Text, f.word) {
			t.Errorf("%s is not found: %+v", f.word, found)
		}
	}
	t.Logf("all files were found after %v", time.Since(began).Round(time.Millisecond))
	if len(batches) == 0 {
		t.Fatal("no batch was accepted")
	}
	if err := p.terminate(); err != nil {
		t.Fatal(err)
	}
	checkRows(t, p.dir, store)
}

// uploadInParts uploads a text in two parts. It returns the file's id, or "" if it isn't known whether the upload
// succeeded.
func uploadInParts(ctx context.Context, client openai.Client, name, text string) string {
	u, err := client.Uploads.New(ctx, openai.UploadNewParams{Bytes: int64(len(text)), Filename: name, MimeType: "text/plain", Purpose: openai.FilePurposeAssistants})
	if err != nil {
		return ""
	}
	var parts []string
	for _, piece := range []string{text[:7], text[7:]} {
		part, err := client.Uploads.Parts.New(ctx, u.ID, openai.UploadPartNewParams{Data: strings.NewReader(piece)})
		if err != nil {
			return ""
		}
		parts = append(parts, part.ID)
	}
	done, err := client.Uploads.Complete(ctx, u.ID, openai.UploadCompleteParams{PartIDs: parts})
	if err != nil {
		return ""
	}
	return done.File.ID
}
