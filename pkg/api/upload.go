package api

import (
	"cmp"
	"context"
	"io"
	"mime/multipart"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/domain"
)

// upload creates a file datasource.
func (s *server) upload(ctx context.Context, caller access.Caller, parts *multipart.Reader) (domain.Datasource, error) {
	if !idempotency.IsRepeated(ctx) { // otherwise an earlier run of the request may have stored the file
		if err := s.Usage.CheckStorage(ctx, caller.Workspace()); err != nil {
			transfer.FinishUpload(ctx, false)
			return domain.Datasource{}, err
		}
	}
	form, err := upload.Receive(parts, s.uploads)
	defer func() {
		if err := form.Close(); err != nil {
			s.log.Warn("removing an upload's temporary file", "error", err)
		}
	}()
	transfer.FinishUpload(ctx, err == nil)
	if err != nil {
		return domain.Datasource{}, err
	}
	if err := form.Check(); err != nil {
		return domain.Datasource{}, err
	}
	store, err := s.datastore(ctx, caller, form.Fields["datastoreId"])
	if err != nil {
		return domain.Datasource{}, err
	}
	d := s.newDatasource(ctx, store, domain.TypeFile, 0)
	d.Name = form.Name()
	d.CustomID = form.Fields["custom_id"]
	if form.Metadata != nil {
		d.Metadata = form.Metadata
		d.CustomID = cmp.Or(d.CustomID, customIDIn(form.Metadata))
	}
	d.Config.FileName, d.Config.CustomID = d.Name, d.CustomID
	head, err := form.Head()
	if err != nil {
		return domain.Datasource{}, err
	}
	mimeType := s.DetectType(head, d.Name, form.Declared)
	if err := upload.CheckType(d.Name, mimeType, s.Formats); err != nil {
		return domain.Datasource{}, err
	}
	return s.createWithOriginal(ctx, store, d, mimeType, form.File)
}

// textType and textName are the type and file name stored with a text datasource's content. The datasource's own name
// is unsuitable: a text named "page.html" would be read as HTML.
const (
	textType = "text/plain"
	textName = "document.txt"
)

// createWithOriginal creates a datasource with its content, unless an earlier run of the request has already created
// it.
func (s *server) createWithOriginal(ctx context.Context, store domain.Datastore, d domain.Datasource, mimeType string, content io.Reader) (domain.Datasource, error) {
	return idempotency.CreateOnce(ctx, s.findExisting(ctx, d), func() (domain.Datasource, error) {
		return s.storeUpload(ctx, store, d, mimeType, content)
	})
}

// storeUpload stores the content, and then the datasource's row and its job in one transaction. A crash in between
// leaves content without a row, which control.Auditor removes later, but never a row without content. Each run of a
// repeated request stores the content under a new key, so that no run can remove another's content.
func (s *server) storeUpload(ctx context.Context, store domain.Datastore, d domain.Datasource, mimeType string, content io.Reader) (domain.Datasource, error) {
	if err := s.Usage.CheckStorage(ctx, d.WorkspaceID); err != nil {
		return domain.Datasource{}, err
	}
	name := d.Config.FileName
	if d.Type == domain.TypeText || d.Type == domain.TypeQA {
		name = textName
	}
	original, err := s.Originals.Put(ctx, d.ID, name, mimeType, content)
	if err != nil {
		return domain.Datasource{}, err
	}
	setOriginal(&d, original)
	created, err := s.createOne(ctx, d, domain.NewIngestJob(d, store))
	if err != nil {
		s.dropRefused(ctx, err, original)
		return domain.Datasource{}, err
	}
	return created, nil
}

func setOriginal(d *domain.Datasource, o domain.Original) {
	d.Original = &o
	d.Config.MIMEType, d.Config.FileSize, d.Config.SHA256 = o.MIMEType, o.Size, o.SHA256
}

// dropRefused removes content if err says that the catalog rejected its row. After any other error the row may have
// been stored, so dropRefused keeps the content. If no row refers to it, control.Auditor removes it later.
func (s *server) dropRefused(ctx context.Context, err error, originals ...domain.Original) {
	switch domain.CodeOf(err) {
	case domain.CodeNotFound, domain.CodeConflict, domain.CodeInvalid, domain.CodeUsageLimit:
		s.dropOriginals(ctx, originals...)
	}
}

// dropOriginals removes content that no row refers to.
func (s *server) dropOriginals(ctx context.Context, originals ...domain.Original) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	for _, o := range originals {
		if o.Key == "" {
			continue
		}
		if err := s.Originals.Delete(ctx, o.Key); err != nil {
			s.log.Warn("removing content that was not accepted", "key", o.Key, "error", err)
		}
	}
}
