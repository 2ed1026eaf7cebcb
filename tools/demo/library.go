package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice/sluice/pkg/client"
)

// library fills and queries a datastore through the client package, like a user's program.
type library struct {
	*client.Client
	storeID string
	out     io.Writer
}

func newLibrary(ctx context.Context, c *client.Client, name string, out io.Writer) (*library, error) {
	store, err := c.CreateDatastore(ctx, client.DatastoreCreate{Name: name})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "\nDatastore %q has the id %s.\n", name, store.Id)
	return &library{Client: c, storeID: store.Id, out: out}, nil
}

func (l *library) uploadAll(ctx context.Context, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		source, err := l.UploadFile(ctx, l.storeID, filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("uploading %s: %w", f.Name(), err)
		}
		fmt.Fprintf(l.out, "  POST /datasources  %-45s %s\n", f.Name(), source.Status)
	}
	return nil
}

func (l *library) addSite(ctx context.Context, root string) error {
	name := "Tarnholm web site"
	source, err := l.CreateDatasource(ctx, client.DatasourceCreate{
		DatastoreId: l.storeID, Type: client.DatasourceCreateTypeWebSite, Name: &name, Config: &client.DatasourceConfigCreate{SourceUrl: &root},
	})
	if err != nil {
		return fmt.Errorf("adding the web site: %w", err)
	}
	fmt.Fprintf(l.out, "  POST /datasources  %-45s %s\n", "web_site "+root, source.Status)
	return nil
}

// follow prints the datasources' progress until all are synched. It returns an error if one ends in another state.
func (l *library) follow(ctx context.Context) error {
	fmt.Fprintln(l.out, "\nProgress:")
	began, last := time.Now(), ""
	err := l.Settled(ctx, l.storeID, func(n client.DatasourceCounts) {
		line := fmt.Sprintf("unsynched %d  pending %d  running %d  synched %d  error %d", n.Unsynched, n.Pending, n.Running, n.Synched, n.Error)
		if line != last {
			fmt.Fprintf(l.out, "  %5.2fs  %s\n", time.Since(began).Seconds(), line)
			last = line
		}
	})
	if err != nil {
		return fmt.Errorf("waiting for the datasources: %w", err)
	}
	var faults []error
	for s, err := range l.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &l.storeID}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(l.out, "  %-9s %-9s %4d chunks  %s\n", s.Status, s.Type, s.Chunks, s.Name)
		if s.Status != client.DatasourceStatusSynched {
			why := "no reason was given"
			if s.Error != nil {
				why = *s.Error
			}
			faults = append(faults, fmt.Errorf("%s ended with status %s: %s", s.Name, s.Status, why))
		}
	}
	return errors.Join(faults...)
}
