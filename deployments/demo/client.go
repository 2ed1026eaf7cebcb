package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// client makes the requests of the demo.
type client struct {
	base, key string
	out       io.Writer
}

type datasource struct {
	ID, Type, Name, Status, GroupID string
	Error                           string
	Chunks                          int64
}

type fragment struct {
	Text, Source   string
	Score          float64
	DatasourceName string `json:"datasource_name"`
	Citation       int
}

func (c client) createDatastore(ctx context.Context, name string) (string, error) {
	var store struct{ ID string }
	if err := c.post(ctx, "/datastores", map[string]any{"name": name}, &store); err != nil {
		return "", err
	}
	fmt.Fprintf(c.out, "\nDatastore %q is %s.\n", name, store.ID)
	return store.ID, nil
}

func (c client) uploadAll(ctx context.Context, storeID, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		source, err := c.upload(ctx, storeID, filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("uploading %s: %w", f.Name(), err)
		}
		fmt.Fprintf(c.out, "  POST /datasources  %-45s %s\n", f.Name(), source.Status)
	}
	return nil
}

func (c client) upload(ctx context.Context, storeID, path string) (datasource, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return datasource{}, err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"type": "file", "datastoreId": storeID, "fileName": filepath.Base(path)} {
		if err := form.WriteField(name, value); err != nil {
			return datasource{}, err
		}
	}
	part, err := form.CreateFormFile("file", filepath.Base(path))
	if err != nil {
		return datasource{}, err
	}
	if _, err := part.Write(content); err != nil {
		return datasource{}, err
	}
	if err := form.Close(); err != nil {
		return datasource{}, err
	}
	var source datasource
	err = c.do(ctx, http.MethodPost, "/datasources", form.FormDataContentType(), &body, &source)
	return source, err
}

func (c client) addSite(ctx context.Context, storeID, root string) error {
	var source datasource
	err := c.post(ctx, "/datasources", map[string]any{
		"datastoreId": storeID, "type": "web_site", "name": "Tarnholm web site", "config": map[string]string{"source_url": root},
	}, &source)
	if err != nil {
		return fmt.Errorf("adding the web site: %w", err)
	}
	fmt.Fprintf(c.out, "  POST /datasources  %-45s %s\n", "web_site "+root, source.Status)
	return nil
}

// follow shows the datasources on their way from unsynched to synched and fails if one ends otherwise.
func (c client) follow(ctx context.Context, storeID string) error {
	fmt.Fprintln(c.out, "\nProgress:")
	began, last := time.Now(), ""
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		sources, err := c.datasources(ctx, storeID)
		if err != nil {
			return err
		}
		counts, waiting := map[string]int{}, 0
		for _, s := range sources {
			counts[s.Status]++
			if s.Status != "synched" && s.Status != "error" {
				waiting++
			}
		}
		line := fmt.Sprintf("unsynched %d  pending %d  running %d  synched %d  error %d",
			counts["unsynched"], counts["pending"], counts["running"], counts["synched"], counts["error"])
		if line != last {
			fmt.Fprintf(c.out, "  %5.2fs  %s\n", time.Since(began).Seconds(), line)
			last = line
		}
		if waiting == 0 {
			return c.summary(sources)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d datasources: %w", waiting, ctx.Err())
		case <-tick.C:
		}
	}
}

func (c client) summary(sources []datasource) error {
	var faults []error
	for _, s := range sources {
		fmt.Fprintf(c.out, "  %-9s %-9s %4d chunks  %s\n", s.Status, s.Type, s.Chunks, s.Name)
		if s.Status != "synched" {
			faults = append(faults, fmt.Errorf("%s ended with status %s: %s", s.Name, s.Status, s.Error))
		}
	}
	return errors.Join(faults...)
}

func (c client) datasources(ctx context.Context, storeID string) ([]datasource, error) {
	var all []datasource
	for cursor := ""; ; {
		var page struct {
			Data       []datasource
			NextCursor *string
		}
		q := url.Values{"datastoreId": {storeID}, "limit": {"200"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		if err := c.do(ctx, http.MethodGet, "/datasources?"+q.Encode(), "", nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if page.NextCursor == nil {
			return all, nil
		}
		cursor = *page.NextCursor
	}
}

func (c client) post(ctx context.Context, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, "application/json", bytes.NewReader(b), into)
}

func (c client) do(ctx context.Context, method, path, contentType string, body io.Reader, into any) error {
	resp, err := c.send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("reading the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// send returns a response with a 2xx status; its body is the caller's to close.
func (c client) send(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, b)
	}
	return resp, nil
}

// stream reads server-sent events and calls event for each, until the data [DONE].
func stream(body io.Reader, event func(name, data string) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var name string
	var data []string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && data != nil:
			joined := strings.Join(data, "\n")
			switch {
			case joined == "[DONE]":
				return nil
			case strings.HasPrefix(joined, "[ERROR]"):
				return errors.New(joined)
			}
			if err := event(name, joined); err != nil {
				return err
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return errors.Join(lines.Err(), errors.New("the stream ended without [DONE]"))
}
