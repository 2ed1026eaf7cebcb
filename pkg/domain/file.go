package domain

import (
	"strings"
	"time"
)

// File is an uploaded original that may be in any number of datastores, as in OpenAI's API. In each datastore, a
// datasource refers to the file and shares its original.
type File struct {
	ID          string
	WorkspaceID string
	Name        string
	Purpose     string // as sent by the caller
	Original    Original
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero means never
}

// UploadStatus is the state of an Upload.
type UploadStatus string

// Upload states. Only a pending upload can change.
const (
	UploadPending   UploadStatus = "pending"
	UploadCompleted UploadStatus = "completed"
	UploadCancelled UploadStatus = "cancelled"
	UploadExpired   UploadStatus = "expired"
)

// Upload is a file uploaded in parts.
type Upload struct {
	ID          string
	WorkspaceID string
	Name        string
	Purpose     string
	MIMEType    string
	Bytes       int64         // announced size of the file
	KeepFor     time.Duration // how long the file is kept; 0 means until it is deleted
	Status      UploadStatus
	FileID      string // id of the file once the upload is completed
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// UploadPart is one part of an upload.
type UploadPart struct {
	ID        string
	UploadID  string
	Original  Original
	CreatedAt time.Time
}

// FileChunking is the chunking requested for a file in a datastore. Chunks never overlap, because searches merge
// adjacent chunks. The requested overlap is stored only so that clients can read it back.
type FileChunking struct {
	MaxTokens     int `json:"max_tokens"`
	OverlapTokens int `json:"overlap_tokens"`
}

// Chunking converts the requested maximum to chunk sizes. The ratio of target to maximum is the same as in the
// defaults.
func (c FileChunking) Chunking() Chunking {
	limit := min(c.MaxTokens, MaxChunkTokens)
	return Chunking{TargetTokens: max(limit*DefaultChunkTokens/DefaultMaxChunkTokens, MinChunkTokens), MaxTokens: limit}
}

// VectorStore is a datastore plus the properties that OpenAI's clients give it.
type VectorStore struct {
	Datastore
	VectorStoreOptions
	LastActiveAt time.Time
	ExpiresAt    time.Time // zero means never
	Expired      bool      // whether the content was removed and no more can be added
	Counts       map[Status]int64
	TextBytes    int64 // bytes of the chunks' text
}

// VectorStoreOptions are datastore properties that only OpenAI's clients set.
type VectorStoreOptions struct {
	Metadata    map[string]string
	ExpiresDays int // days after the last activity; 0 means never
}

// VectorStorePatch changes a vector store. Nil fields are left unchanged.
type VectorStorePatch struct {
	Name        *string
	Metadata    *map[string]string
	ExpiresDays *int
}

// FileBatch is a set of files added to a datastore together.
type FileBatch struct {
	ID          string
	DatastoreID string
	CreatedAt   time.Time
	Cancelled   bool
	Counts      map[Status]int64
	Missing     int64 // files that did not exist when the batch was created
}

// StoredFile is a file in a datastore. Usually it is a datasource, but in a file batch it may be just the id of a file
// that did not exist when the batch was created.
type StoredFile struct {
	Datasource
	MissingFileID string // id of a missing file; "" for a datasource
}

// Owner returns the id of the datasource or file the original was stored for. The id is the first part of the
// original's key; if the key contains none, Owner returns "".
func (o *Original) Owner() string {
	if o == nil {
		return ""
	}
	id, _, found := strings.Cut(o.Key, ".")
	if !found || !ValidID(id) {
		return ""
	}
	return id
}

// FileID returns the id of the datasource's File, or "". If the datasource was restored from the job log, Config.FileID
// is empty, and the original's owner is returned instead.
func (d *Datasource) FileID() string {
	if d.Config.FileID != "" || d.Type != TypeFile {
		return d.Config.FileID
	}
	if owner := d.Original.Owner(); owner != d.ID {
		return owner
	}
	return ""
}

// SharesOriginal reports whether the original belongs to the datasource's file, in which case other datasources may use
// it, too.
func (d *Datasource) SharesOriginal() bool {
	owner := d.Original.Owner()
	return owner != "" && owner == d.FileID()
}

// AttachedID returns the id of the datasource for a file in a datastore. It depends only on the arguments, so adding
// the file again does not create a second datasource.
func AttachedID(datastoreID, fileID string) string {
	return DerivedID("attached", datastoreID, fileID)
}

// CancelUnread ends the processing of a datasource without searchable content. If its job is still running, the job's
// results will be rejected.
func (d *Datasource) CancelUnread(at time.Time) {
	d.finish(StatusSkipped, at)
	d.Error, d.JobID, d.Resume = "cancelled before it was read", NewID(), nil
}
