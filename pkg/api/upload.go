package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// Bounds of an upload beside the file's size.
const (
	maxParts      = 50
	maxFieldBytes = 16 << 10
	maxNameChars  = 500
	maxCustomID   = 200
	headBytes     = 4 << 10 // what the file's type is told from
)

// uploadFields are the parts that a form may have.
var uploadFields = []string{"file", "type", "datastoreId", "fileName", "custom_id", "metadata"}

// metadataExample is what the field metadata may hold, for error messages.
const metadataExample = `{"team": "ops"}`

// uploadForm is a multipart form as it arrived. Its parts come in any order, so the file waits on disk.
type uploadForm struct {
	fields   map[string]string
	metadata map[string]any // of the field of this name; nil when there was none
	file     *os.File       // nil when there was none
	size     int64
	fileName string // as the part had it
	declared string // its Content-Type
	faults   []domain.FieldError
}

func (f *uploadForm) fault(field, format string, args ...any) {
	f.faults = append(f.faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// close removes the file from the disk.
func (f *uploadForm) close() error {
	if f.file == nil {
		return nil
	}
	err := errors.Join(f.file.Close(), os.Remove(f.file.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// upload makes a datasource of type file.
func (s *server) upload(ctx context.Context, who caller, parts *multipart.Reader) (domain.Datasource, error) {
	form := &uploadForm{fields: map[string]string{}}
	defer func() {
		if err := form.close(); err != nil {
			s.log.Warn("removing an upload's temporary file", "error", err)
		}
	}()
	if !isRepeated(ctx) { // else an earlier run of the request may have stored it
		if err := s.Usage.CheckStorage(ctx, who.workspace()); err != nil {
			received(ctx, false)
			return domain.Datasource{}, err
		}
	}
	err := s.receive(form, parts)
	received(ctx, err == nil)
	if err != nil {
		return domain.Datasource{}, s.uploadError(err)
	}
	checkUpload(form)
	if err := invalid(form.faults); err != nil {
		return domain.Datasource{}, err
	}
	store, err := s.datastore(ctx, who, form.fields["datastoreId"])
	if err != nil {
		return domain.Datasource{}, err
	}
	d := s.newDatasource(ctx, store, domain.TypeFile, 0)
	d.Name = fileName(form)
	d.CustomID = form.fields["custom_id"]
	if form.metadata != nil {
		d.Metadata = form.metadata
		d.CustomID = cmp.Or(d.CustomID, customIDIn(form.metadata))
	}
	d.Config.FileName, d.Config.CustomID = d.Name, d.CustomID
	mimeType, err := s.typeOf(form, d.Name)
	if err != nil {
		return domain.Datasource{}, err
	}
	return s.createWithOriginal(ctx, store, d, mimeType, form.file)
}

// receive reads all parts.
func (s *server) receive(form *uploadForm, parts *multipart.Reader) error {
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == maxParts {
			form.fault("body", "has more than %d parts", maxParts)
			return nil
		}
		if err := s.receivePart(form, part); err != nil {
			return err
		}
	}
}

func (s *server) receivePart(form *uploadForm, part *multipart.Part) error {
	switch name := part.FormName(); name {
	case "file":
		if form.file != nil {
			form.fault("file", "is there more than once; send one file a request")
			return nil
		}
		return s.spool(form, part)
	case "type", "datastoreId", "fileName", "custom_id", "metadata":
		if _, twice := form.fields[name]; twice {
			form.fault(name, "is there more than once; send it once")
		}
		text, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
		if err != nil {
			return err
		}
		switch {
		case len(text) > maxFieldBytes:
			form.fault(name, "is longer than %s", byteSize(maxFieldBytes))
		case jsonbody.InvalidUTF8(text) >= 0 || strings.ContainsRune(string(text), 0):
			form.fault(name, "is not UTF-8 text without NUL characters")
		}
		form.fields[name] = strings.TrimSpace(string(text))
		return nil
	default:
		field := jsonbody.Meant(uploadFields, name)
		switch object := strings.FieldsFunc(name, func(r rune) bool { return r == '[' || r == '.' }); {
		case field != "":
			form.fault(jsonbody.Shorten(name), "is not known; did you mean %s?", field)
		case len(object) > 1 && object[0] == "metadata":
			form.fault(jsonbody.Shorten(name), "is not known; send one field metadata with a JSON object: %s", metadataExample)
		case len(object) > 0 && object[0] == "config":
			form.fault(jsonbody.Shorten(name), "is not known in a form; send custom_id and metadata as fields of their own")
		}
		_, err := io.Copy(io.Discard, part) // fields not known are ignored
		return err
	}
}

// spool writes the file to the disk, no more of it than the limit.
func (s *server) spool(form *uploadForm, part *multipart.Part) error {
	file, err := os.CreateTemp(s.opts.TempDir, "sluice-upload-*")
	if err != nil {
		return fmt.Errorf("making a temporary file: %w", err)
	}
	form.file, form.fileName, form.declared = file, part.FileName(), part.Header.Get("Content-Type")
	form.size, err = io.Copy(file, io.LimitReader(part, s.opts.MaxUploadBytes+1))
	if err != nil {
		return err
	}
	if form.size > s.opts.MaxUploadBytes {
		return &http.MaxBytesError{Limit: s.opts.MaxUploadBytes}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewinding a temporary file: %w", err)
	}
	return nil
}

// checkUpload finds what is missing or wrong in a form that has been read.
func checkUpload(form *uploadForm) {
	switch {
	case form.file == nil:
		form.fault("file", "is required: the part with the file")
	case form.size == 0:
		form.fault("file", "is empty")
	}
	if form.fields["datastoreId"] == "" {
		form.fault("datastoreId", "is required: the datastore that the file goes to")
	}
	if kind := form.fields["type"]; kind != "" && kind != string(domain.TypeFile) {
		form.fault("type", "is %s; an upload is of type file, other types are sent as JSON", jsonbody.Describe(kind))
	}
	if n := utf8.RuneCountInString(form.fields["fileName"]); n > maxNameChars {
		form.fault("fileName", "has %d characters; the limit is %d", n, maxNameChars)
	}
	if n := utf8.RuneCountInString(form.fields["custom_id"]); n > maxCustomID {
		form.fault("custom_id", "has %d characters; the limit is %d", n, maxCustomID)
	}
	form.readMetadata()
}

// readMetadata reads the JSON object in the field metadata, if there is one and no fault was found in it before.
func (f *uploadForm) readMetadata() {
	text := f.fields["metadata"]
	if text == "" || slices.ContainsFunc(f.faults, func(e domain.FieldError) bool { return e.Field == "metadata" }) {
		return
	}
	if way := pairsAsJSON(text); way != "" {
		f.fault("metadata", `is %s; it must be a JSON object: %s`, jsonbody.Describe(text), way)
		return
	}
	value, faults := jsonbody.Parse([]byte(text))
	object, isObject := value.(map[string]any)
	switch {
	case len(faults) == 0 && value == nil: // null: there is none
	case len(faults) > 0:
		for _, e := range faults {
			switch {
			case e.Field != "body":
				f.fault(jsonbody.Join("metadata", e.Field), "%s", e.Message)
			case strings.HasPrefix(text, "{"):
				f.fault("metadata", "%s", e.Message)
			default:
				f.fault("metadata", "is %s; it must be a JSON object, such as %s", jsonbody.Describe(text), metadataExample)
			}
		}
	case !isObject:
		f.fault("metadata", "is %s; it must be a JSON object, such as %s", jsonbody.Describe(value), metadataExample)
	default:
		f.metadata = object
		f.faults = append(f.faults, metadataFaults("metadata", object)...)
		f.faults = append(f.faults, customIDFaults(map[string]any{"custom_id": f.fields["custom_id"], "metadata": object}, "custom_id", "metadata.custom_id")...)
	}
}

// aPair matches name=value, the notation of forms and shells.
var aPair = regexp.MustCompile(`^\s*([\pL\pN_.-]{1,100})\s*=\s*([^=]*)$`)

// pairsAsJSON converts team=ops or team=ops,year=2026 to a JSON object for an error message. It returns "" for other texts.
func pairsAsJSON(text string) string {
	const most = 20 // maximum number of pairs in the message
	object := map[string]any{}
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("&,;\n", r) }) {
		found := aPair.FindStringSubmatch(pair)
		if found == nil || len(object) == most {
			return ""
		}
		object[found[1]] = jsonbody.Shorten(strings.TrimSpace(found[2]))
	}
	if len(object) == 0 {
		return ""
	}
	encoded, err := json.Marshal(object)
	if err != nil { // texts always encode
		return ""
	}
	return string(encoded)
}

// fileName is the name the caller gave, or the part's own, without folders and control characters.
func fileName(form *uploadForm) string {
	name := form.fields["fileName"]
	if name == "" {
		name = strings.ToValidUTF8(form.fileName, "�")
	}
	return bareName(name)
}

// bareName is a name as it may stand for a file.
func bareName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name))
	if runes := []rune(name); len(runes) > maxNameChars {
		name = string(runes[:maxNameChars])
	}
	if name == "" || name == "." || name == ".." || name == "/" {
		return "file"
	}
	return name
}

// typeOf is the file's MIME type, if it is one that can be read.
func (s *server) typeOf(form *uploadForm, name string) (string, error) {
	head := make([]byte, headBytes)
	n, err := form.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading a temporary file: %w", diskFault(err))
	}
	mimeType := s.DetectType(head[:n], name, form.declared)
	if !slices.Contains(s.SupportedTypes, mimeType) {
		return "", domain.Errorf(domain.CodeUnsupported, "%s is %s, which cannot be read; send one of: %s",
			jsonbody.Describe(name), mimeType, strings.Join(kindsOf(s.SupportedTypes), ", "))
	}
	return mimeType, nil
}

// kinds is what people call files of the types that have names of their own.
var kinds = map[string]string{
	"text/csv": "CSV", "text/plain": "text", "text/markdown": "Markdown", "text/html": "HTML", "application/json": "JSON", "application/pdf": "PDF",
	"message/rfc822": "mail (eml)", "multipart/related": "web archive (mht)",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint (pptx)",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "Word (docx)",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "Excel (xlsx)",
}

func kindsOf(types []string) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = cmp.Or(kinds[t], t)
	}
	return names
}

// uploadError tells what the client did wrong in sending the form from what failed here.
func (s *server) uploadError(err error) error {
	var tooLarge *http.MaxBytesError
	var onDisk *fs.PathError
	switch {
	case errors.As(err, &tooLarge):
		return tooLargeFile(s.opts.MaxUploadBytes)
	case errors.As(err, &onDisk):
		return fmt.Errorf("receiving an upload: %w", diskFault(err))
	default:
		return s.readError(err)
	}
}

// diskFault says that the disk where uploads wait takes no more, or that no more files can be opened: it passes with its
// cause, and nothing was stored.
func diskFault(err error) error {
	return &domain.Error{
		Code: domain.CodeUnavailable, Message: "the service cannot write uploads to its disk at the moment; try again later", Err: err,
	}
}

func tooLargeFile(limit int64) *domain.Error {
	return domain.Errorf(domain.CodeTooLarge, "the file is larger than the limit of %s; split it", byteSize(limit))
}
