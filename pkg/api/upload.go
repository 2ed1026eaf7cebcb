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
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// upload creates a file datasource.
func (s *server) upload(ctx context.Context, caller access.Caller, parts *multipart.Reader) (domain.Datasource, error) {
	if !idempotency.IsRepeated(ctx) { // otherwise an earlier run of the request may have stored the file
		if err := s.Usage.CheckStorage(ctx, caller.Workspace()); err != nil {
			transfer.FinishUpload(ctx, false)
			return domain.Datasource{}, err
		}
	}
	form, err := upload.Receive(ctx, parts, s.uploads)
	defer s.closeForm(form)
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
	mimeType, err := s.typeOf(form, d.Name)
	if err != nil {
		return domain.Datasource{}, err
	}
	return s.createWithOriginal(ctx, store, d, mimeType, form.File)
}

// closeForm removes the form's temporary file.
func (s *server) closeForm(form *upload.Form) {
	if err := form.Close(); err != nil {
		s.log.Warn("cannot remove an upload's temporary file", "error", err)
	}
}

// typeOf returns the MIME type of an uploaded file, which must be in a readable format or a ZIP archive. For a ZIP
// archive, the job later changes the datasource's type to archive, unless the file is a document in a packed format.
func (s *server) typeOf(form *upload.Form, name string) (string, error) {
	head, err := form.Head()
	if err != nil {
		return "", err
	}
	mimeType := s.DetectType(head, name, form.Declared)
	if mimeType == format.TypeZip {
		return mimeType, nil
	}
	return mimeType, upload.CheckType(name, mimeType, s.Formats)
}

// ReplaceOriginal implements StrictServerInterface.
func (s *server) ReplaceOriginal(ctx context.Context, r ReplaceOriginalRequestObject) (ReplaceOriginalResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err == nil {
		err = takesFile(d)
	}
	if err != nil {
		transfer.FinishUpload(ctx, false)
		return nil, err
	}
	options := s.uploads
	options.Fields = []string{"fileName"}
	form, err := upload.Receive(ctx, r.Body, options)
	defer s.closeForm(form)
	if err != nil {
		return nil, err
	}
	if err := form.CheckReplacement(); err != nil {
		return nil, err
	}
	if !idempotency.HasJobID(ctx, d.JobID, 0) { // otherwise an earlier run of the request has replaced the file
		if d, err = s.replaceFile(ctx, d, form); err != nil {
			return nil, err
		}
	}
	s.Watcher.Changed(d.DatastoreID, d.ID)
	shown, err := s.renderDatasource(ctx, d)
	return ReplaceOriginal200JSONResponse(shown), err
}

// takesFile returns an error if the datasource's file can't be replaced.
func takesFile(d domain.Datasource) error {
	switch {
	case d.Type != domain.TypeFile && d.Type != domain.TypeArchive:
		return domain.Errorf(domain.CodeConflict, "datasource %q is a %s; only a file or an archive can be replaced by a file", d.ID, d.Type)
	case d.GroupID != "":
		return domain.Errorf(domain.CodeConflict, "datasource %q belongs to an archive; replace the archive, datasource %q, instead", d.ID, d.GroupID)
	case d.FileID() != "":
		return domain.Errorf(domain.CodeConflict, "datasource %q is a file from the vector store API, which cannot be replaced; upload a new file", d.ID)
	default:
		return nil
	}
}

// replaceFile stores the form's file as the datasource's new content.
func (s *server) replaceFile(ctx context.Context, d domain.Datasource, form *upload.Form) (domain.Datasource, error) {
	name := d.Config.FileName
	if form.IsNamed() {
		name = form.Name()
	}
	mimeType, err := s.typeOf(form, name)
	if err == nil && d.Type == domain.TypeArchive {
		err = form.CheckArchive(name)
	}
	if err != nil {
		return d, err
	}
	job, err := s.Jobs.NewJob(ctx, d, domain.JobIngest)
	if err != nil {
		return d, err
	}
	replacement := catalog.Replacement{Type: d.Type, Job: idempotency.WithJobID(ctx, job, 0), Priority: catalog.PriorityFresh}
	if form.Fields["fileName"] != "" {
		replacement.Name, replacement.FileName = &name, &name
	}
	if replacement.Original, err = s.Originals.Put(ctx, d.ID, name, mimeType, form.File); err != nil {
		return d, err
	}
	replaced, err := s.Documents.ReplaceContent(ctx, d.WorkspaceID, d.ID, replacement)
	if err != nil {
		s.dropRefused(ctx, err, replacement.Original)
	}
	return replaced, err
}

// textType and textName are the type and the file name under which a text datasource's content is stored. The
// datasource's own name can't be used: a text named "page.html" would be read as HTML.
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

// storeUpload first stores the content, and then the datasource's row and its job in one transaction. A crash in
// between may leave content without a row, which control.Auditor removes later, but never a row without content. Every
// run uses a new key for the content, so that no run can remove another's.
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
	d.SetOriginal(original)
	created, err := s.createOne(ctx, d, domain.NewIngestJob(d, store))
	if err != nil {
		s.dropRefused(ctx, err, original)
		return domain.Datasource{}, err
	}
	return created, nil
}

// dropRefused removes content whose row the catalog rejected. After any other error the row may exist, so the content
// stays; if it turns out to have no row, control.Auditor removes it later.
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
			s.log.Warn("cannot remove rejected content", "key", o.Key, "error", err)
		}
	}
}
