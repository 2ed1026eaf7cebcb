// Package upload parses a multipart form that contains a file. It enforces limits, stores the file temporarily and
// reports everything that is wrong with the form. It does not depend on datasources; pkg/api may import it.
package upload

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/rules"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Upload limits other than the file's size.
const (
	maxParts      = 50
	maxFieldBytes = 16 << 10
	maxNameChars  = 500
)

// HeadBytes is the number of bytes at the start of a file that are used to detect its type.
const HeadBytes = 4 << 10

// MaxCustomID is the maximum length of a custom id in characters.
const MaxCustomID = 200

// uploadFields are the parts of a datasource form other than its file.
var uploadFields = []string{"type", "datastoreId", "fileName", "custom_id", "metadata"}

// metadataExample is a valid value for the metadata field, shown in error messages.
const metadataExample = `{"team": "ops"}`

// Form is a received multipart form. The file is on disk, because the parts may arrive in any order.
type Form struct {
	Fields   map[string]string
	Metadata map[string]any // parsed from the `metadata` field; nil if there is none
	File     *os.File       // nil if there is none
	Size     int64
	fileName string // as sent with the part
	Declared string // the part's Content-Type
	faults   []domain.FieldError
}

// Fault adds a fault in the form.
func (f *Form) Fault(field, format string, args ...any) {
	f.faults = append(f.faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Close removes the file from the disk.
func (f *Form) Close() error {
	if f.File == nil {
		return nil
	}
	err := errors.Join(f.File.Close(), os.Remove(f.File.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Options are an upload's limits.
type Options struct {
	TempDir     string        // directory for the temporary file
	MaxBytes    int64         // maximum file size
	Setting     string        // name of the setting of MaxBytes, for error messages; "" if it has none
	ReadTimeout time.Duration // value passed to transfer.ExpectBody, for error messages

	File   string   // name of the part with the file; default "file"
	Fields []string // names of the other parts; default: those for a datasource. Unknown parts are ignored.
}

// MaxBody returns the maximum size of the whole form in bytes.
func (o Options) MaxBody() int64 { return o.MaxBytes + maxParts*maxFieldBytes }

// Accept checks a form request's header and returns the request with its body limited to MaxBody. If it fails, it
// returns the original request along with the error.
func (o Options) Accept(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if err := transfer.RefuseEncoded(r); err != nil {
		return r, err
	}
	// The generated routing compares the start of the Content-Type literally, so normalise it.
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return r, domain.Invalid("Content-Type", "is multipart/form-data without a boundary; let the HTTP client set the header")
	}
	r.Header.Set("Content-Type", mime.FormatMediaType("multipart/form-data", params))
	if r.ContentLength > o.MaxBody() {
		return r, TooLarge(o.MaxBytes, o.Setting)
	}
	return transfer.LimitUpload(w, r, o.MaxBody()), nil
}

// Receive reads all parts of an upload, finishes it (see transfer.FinishUpload) and keeps its digest. The returned form
// is never nil, and the caller must close it.
func Receive(ctx context.Context, parts *multipart.Reader, o Options) (*Form, error) {
	form := &Form{Fields: map[string]string{}}
	var digest transfer.FormDigest
	err := form.receive(parts, o, &digest)
	transfer.FinishUpload(ctx, err == nil)
	transfer.KeepDigest(ctx, digest.String())
	var tooLarge *http.MaxBytesError
	var onDisk *fs.PathError
	switch {
	case err == nil:
		return form, nil
	case errors.As(err, &tooLarge):
		return form, TooLarge(o.MaxBytes, o.Setting)
	case errors.As(err, &onDisk):
		return form, fmt.Errorf("receiving an upload: %w", diskFault(err))
	default:
		return form, transfer.ReadError(err, o.ReadTimeout)
	}
}

func (f *Form) receive(parts *multipart.Reader, o Options, digest *transfer.FormDigest) error {
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == maxParts {
			f.Fault("body", "has more than %d parts", maxParts)
			return nil
		}
		if err := f.receivePart(part, digest.Add(part), o); err != nil {
			return err
		}
	}
}

// receivePart reads one part of the form. It reads the part's content from `content`, not directly from `part`.
func (f *Form) receivePart(part *multipart.Part, content io.Reader, o Options) error {
	file, fields := cmp.Or(o.File, "file"), o.Fields
	if fields == nil {
		fields = uploadFields
	}
	switch name := part.FormName(); {
	case name == file:
		if f.File != nil {
			f.Fault(file, "was sent more than once; send one file per request")
			return nil
		}
		return f.spool(part, content, o)
	case slices.Contains(fields, name):
		if _, twice := f.Fields[name]; twice {
			f.Fault(name, "was sent more than once; send it only once")
		}
		text, err := io.ReadAll(io.LimitReader(content, maxFieldBytes+1))
		if err != nil {
			return err
		}
		switch {
		case len(text) > maxFieldBytes:
			f.Fault(name, "is longer than %s", jsonbody.ByteSize(maxFieldBytes))
		case jsonbody.InvalidUTF8(text) >= 0 || strings.ContainsRune(string(text), 0):
			f.Fault(name, "must be valid UTF-8 without NUL characters")
		}
		f.Fields[name] = strings.TrimSpace(string(text))
		return nil
	case o.Fields != nil:
		_, err := io.Copy(io.Discard, content)
		return err
	default:
		field := jsonbody.ClosestName(append([]string{file}, fields...), name)
		switch object := strings.FieldsFunc(name, func(r rune) bool { return r == '[' || r == '.' }); {
		case field != "":
			f.Fault(jsonbody.Shorten(name), "is unknown; did you mean %s?", field)
		case len(object) > 1 && object[0] == "metadata":
			f.Fault(jsonbody.Shorten(name), "is unknown; send a single metadata field with a JSON object: %s", metadataExample)
		case len(object) > 0 && object[0] == "config":
			f.Fault(jsonbody.Shorten(name), "is not allowed in a form; send custom_id and metadata as separate fields")
		}
		_, err := io.Copy(io.Discard, content) // ignore unknown fields
		return err
	}
}

// spool writes the file to disk, up to the size limit.
func (f *Form) spool(part *multipart.Part, content io.Reader, o Options) error {
	file, err := os.CreateTemp(o.TempDir, "sluice-upload-*")
	if err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	f.File, f.fileName, f.Declared = file, part.FileName(), part.Header.Get("Content-Type")
	f.Size, err = io.Copy(file, io.LimitReader(content, o.MaxBytes+1))
	if err != nil {
		return err
	}
	if f.Size > o.MaxBytes {
		return &http.MaxBytesError{Limit: o.MaxBytes}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewinding a temporary file: %w", err)
	}
	return nil
}

// CheckFile adds a fault if there is no file or it is empty. It returns all of the form's faults as one error, or nil.
func (f *Form) CheckFile(name string) error {
	switch {
	case f.File == nil:
		f.Fault(name, "is required; send the file in this part")
	case f.Size == 0:
		f.Fault(name, "is empty")
	}
	return problem.Invalid(f.faults)
}

// CheckReplacement checks a form with a new version of a datasource's file. It returns all faults as one error, or nil.
func (f *Form) CheckReplacement() error {
	f.checkFileName()
	return f.CheckFile("file")
}

func (f *Form) checkFileName() {
	if n := utf8.RuneCountInString(f.Fields["fileName"]); n > maxNameChars {
		f.Fault("fileName", "has %d characters; the limit is %d", n, maxNameChars)
	}
}

// Check returns all faults in a datasource form as one error, or nil.
func (f *Form) Check() error {
	if f.Fields["datastoreId"] == "" {
		f.Fault("datastoreId", "is required; send the id of the datastore to add the file to")
	}
	if kind := f.Fields["type"]; kind != "" && kind != string(domain.TypeFile) {
		f.Fault("type", "is %s, but uploads must have the type file; send other types as JSON", jsonbody.Describe(kind))
	}
	f.checkFileName()
	if n := utf8.RuneCountInString(f.Fields["custom_id"]); n > MaxCustomID {
		f.Fault("custom_id", "has %d characters; the limit is %d", n, MaxCustomID)
	}
	f.readMetadata()
	return f.CheckFile("file")
}

// readMetadata parses the JSON object in the `metadata` field, if it is present and has no faults.
func (f *Form) readMetadata() {
	text := f.Fields["metadata"]
	if text == "" || slices.ContainsFunc(f.faults, func(e domain.FieldError) bool { return e.Field == "metadata" }) {
		return
	}
	if way := pairsAsJSON(text); way != "" {
		f.Fault("metadata", `is %s; it must be a JSON object: %s`, jsonbody.Describe(text), way)
		return
	}
	value, faults := jsonbody.Parse([]byte(text))
	object, isObject := value.(map[string]any)
	switch {
	case len(faults) == 0 && value == nil: // null means no metadata
	case len(faults) > 0:
		for _, e := range faults {
			switch {
			case e.Field != "body":
				f.Fault(jsonbody.Join("metadata", e.Field), "%s", e.Message)
			case strings.HasPrefix(text, "{"):
				f.Fault("metadata", "%s", e.Message)
			default:
				f.Fault("metadata", "is %s; it must be a JSON object, such as %s", jsonbody.Describe(text), metadataExample)
			}
		}
	case !isObject:
		f.Fault("metadata", "is %s; it must be a JSON object, such as %s", jsonbody.Describe(value), metadataExample)
	default:
		f.Metadata = object
		f.faults = append(f.faults, rules.MetadataFaults("metadata", object)...)
		f.faults = append(f.faults, rules.CustomIDFaults(map[string]any{"custom_id": f.Fields["custom_id"], "metadata": object}, "custom_id", "metadata.custom_id")...)
	}
}

// pairPattern matches name=value, the notation of forms and shells.
var pairPattern = lazyregexp.New(`^\s*([\pL\pN_.-]{1,100})\s*=\s*([^=]*)$`)

// pairsAsJSON converts team=ops or team=ops,year=2026 to a JSON object for an error message. It returns "" for any
// other text.
func pairsAsJSON(text string) string {
	const limit = 20 // maximum number of pairs in the message
	object := map[string]any{}
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("&,;\n", r) }) {
		found := pairPattern().FindStringSubmatch(pair)
		if found == nil || len(object) == limit {
			return ""
		}
		object[found[1]] = jsonbody.Shorten(strings.TrimSpace(found[2]))
	}
	if len(object) == 0 {
		return ""
	}
	encoded, err := json.Marshal(object)
	if err != nil { // cannot happen, because texts can always be encoded
		return ""
	}
	return string(encoded)
}

// Name returns the file name without folders and control characters: the value of the fileName field or, if that is
// missing, the name sent with the part.
func (f *Form) Name() string {
	name := f.Fields["fileName"]
	if name == "" {
		name = strings.ToValidUTF8(f.fileName, "�")
	}
	return CleanFileName(name)
}

// IsNamed reports whether the form has a name for the file.
func (f *Form) IsNamed() bool { return f.Fields["fileName"] != "" || f.fileName != "" }

// CleanFileName returns a safe file name: without folders, control characters and characters that change the text
// direction.
func CleanFileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
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

// Head returns the file's first bytes, used to detect its type.
func (f *Form) Head() ([]byte, error) {
	head := make([]byte, HeadBytes)
	n, err := f.File.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a temporary file: %w", diskFault(err))
	}
	return head[:n], nil
}

// CheckArchive rejects a file that isn't a ZIP archive. It checks only the first bytes. The detected type isn't used,
// because it may have been derived from the names of files in the archive.
func (f *Form) CheckArchive(name string) error {
	head, err := f.Head()
	if err == nil && !bytes.HasPrefix(head, []byte("PK")) {
		err = domain.Errorf(domain.CodeUnsupported, "%s is not a ZIP archive, so it cannot replace one; create another datasource for it", jsonbody.Describe(name))
	}
	return err
}

// CheckType rejects a file whose type is not one of the supported formats.
func CheckType(name, mimeType string, formats []format.Format) error {
	labels := make([]string, len(formats))
	for i, f := range formats {
		if f.Type == mimeType {
			return nil
		}
		labels[i] = f.Label
	}
	return domain.Errorf(domain.CodeUnsupported, "%s has the type %s, which is not supported; supported types: %s, ZIP archives of these", jsonbody.Describe(name), mimeType, strings.Join(labels, ", "))
}

// diskFault returns the error for an upload that couldn't be written to disk, because the disk is full or too many
// files are open. The problem is temporary, and nothing was stored.
func diskFault(err error) error {
	return &domain.Error{
		Code: domain.CodeUnavailable, Message: "the service cannot store uploads on its disk at the moment; try again later", Err: err,
	}
}

// TooLarge returns the error for a file above the limit. `setting` is the name of the limit's setting, or "".
func TooLarge(limit int64, setting string) *domain.Error {
	if setting != "" {
		setting = " (" + setting + ")"
	}
	return domain.Errorf(domain.CodeTooLarge, "the file is larger than the limit of %s%s; send a smaller file, or several", jsonbody.ByteSize(limit), setting)
}

// LimitSetting names the setting for the maximum file size.
const LimitSetting = "SLUICE_LIMIT_UPLOAD"
