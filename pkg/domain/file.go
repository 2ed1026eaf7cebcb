package domain

import (
	"strings"
	"time"
)

// File is an uploaded original that any number of datastores can use, as in OpenAI's API. In each of them, a datasource
// refers to the file and shares its original.
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

// FileChunking is the chunking requested for a file in a datastore. The overlap is stored only so that clients can read
// it back. Chunks never overlap, because searches merge adjacent chunks.
type FileChunking struct {
	MaxTokens     int `json:"max_tokens"`
	OverlapTokens int `json:"overlap_tokens"`
}

// Chunking converts the requested maximum to chunk sizes, with the same ratio of target to maximum as the defaults.
func (c FileChunking) Chunking() Chunking {
	limit := min(c.MaxTokens, MaxChunkTokens)
	return Chunking{TargetTokens: max(limit*DefaultChunkTokens/DefaultMaxChunkTokens, MinChunkTokens), MaxTokens: limit}
}

// VectorStore is a datastore plus the properties that OpenAI's API adds to it.
type VectorStore struct {
	Datastore
	VectorStoreOptions
	LastActiveAt time.Time
	ExpiresAt    time.Time // zero means never
	Expired      bool      // whether the content was removed and no more can be added
	Counts       map[Status]int64
	TextBytes    int64 // bytes of the chunks' text
}

// VectorStoreOptions are datastore properties that can be set only through OpenAI's API.
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

// Owner returns the id of the datasource or file for which the original was stored, which is the first part of the
// original's key. It returns "" if the key contains none.
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

// FileID returns the id of the datasource's File, or "". For a datasource restored from the job log, which has no
// Config.FileID, it returns the original's owner.
func (d *Datasource) FileID() string {
	if d.Config.FileID != "" || d.Type != TypeFile {
		return d.Config.FileID
	}
	if owner := d.Original.Owner(); owner != d.ID {
		return owner
	}
	return ""
}

// SharesOriginal reports whether the original belongs to the datasource's file and may therefore be used by other
// datasources, too.
func (d *Datasource) SharesOriginal() bool {
	owner := d.Original.Owner()
	return owner != "" && owner == d.FileID()
}

// AttachedID returns the id of the datasource for a file in a datastore. It is always the same, so adding a file twice
// does not create two datasources.
func AttachedID(datastoreID, fileID string) string {
	return DerivedID("attached", datastoreID, fileID)
}

// CancelUnread ends the processing of a datasource without searchable content. The results of a job that is still
// running will be rejected.
func (d *Datasource) CancelUnread(at time.Time) {
	d.finish(StatusSkipped, at)
	d.Error, d.JobID, d.Resume = "cancelled before it was read", NewID(), nil
}
