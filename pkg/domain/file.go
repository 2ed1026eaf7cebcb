package domain

import (
	"strings"
	"time"
)

// File is an uploaded original that may belong to any number of datastores, as in OpenAI's API. In each of these
// datastores, a datasource refers to the file and shares its original.
type File struct {
	ID          string
	WorkspaceID string
	Name        string
	Purpose     string // as the caller gave it
	Original    Original
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
}

// UploadStatus is the state of an Upload.
type UploadStatus string

// States of uploads. Only a pending upload can change.
const (
	UploadPending   UploadStatus = "pending"
	UploadCompleted UploadStatus = "completed"
	UploadCancelled UploadStatus = "cancelled"
	UploadExpired   UploadStatus = "expired"
)

// Upload is a file that is uploaded in parts.
type Upload struct {
	ID          string
	WorkspaceID string
	Name        string
	Purpose     string
	MIMEType    string
	Bytes       int64         // announced size of the file
	KeepFor     time.Duration // how long the file is kept; 0: until it is deleted
	Status      UploadStatus
	FileID      string // the file, once the upload is completed
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// UploadPart is a part of an upload.
type UploadPart struct {
	ID        string
	UploadID  string
	Original  Original
	CreatedAt time.Time
}

// FileChunking is the chunking that was requested for a file in a datastore. Chunks never overlap, because a search
// merges adjacent chunks. The requested overlap is stored only so that clients can read it.
type FileChunking struct {
	MaxTokens     int `json:"max_tokens"`
	OverlapTokens int `json:"overlap_tokens"`
}

// Chunking returns chunk sizes for the requested maximum. The target size has the same ratio to the maximum as in the
// defaults.
func (c FileChunking) Chunking() Chunking {
	limit := min(c.MaxTokens, MaxChunkTokens)
	return Chunking{TargetTokens: max(limit*DefaultChunkTokens/DefaultMaxChunkTokens, MinChunkTokens), MaxTokens: limit}
}

// VectorStore is a datastore with the properties that OpenAI's clients give it.
type VectorStore struct {
	Datastore
	VectorStoreOptions
	LastActiveAt time.Time
	ExpiresAt    time.Time // zero: never
	Expired      bool      // its content was removed, and no content can be added
	Counts       map[Status]int64
	TextBytes    int64 // bytes of the chunks' text
}

// VectorStoreOptions are properties of a datastore that only OpenAI's clients set.
type VectorStoreOptions struct {
	Metadata    map[string]string
	ExpiresDays int // days after the last activity; 0: never
}

// VectorStorePatch changes a vector store. A nil field leaves the property unchanged.
type VectorStorePatch struct {
	Name        *string
	Metadata    *map[string]string
	ExpiresDays *int
}

// FileBatch is a set of files that were added to a datastore together.
type FileBatch struct {
	ID          string
	DatastoreID string
	CreatedAt   time.Time
	Cancelled   bool
	Counts      map[Status]int64
	Missing     int64 // files that did not exist when the batch was created
}

// StoredFile is a file in a datastore. It is usually a datasource. In a file batch, it may also be the id of a file
// that did not exist when the batch was created.
type StoredFile struct {
	Datasource
	MissingFileID string // id of the file that did not exist; "" for a datasource
}

// Owner returns the id of the datasource or file for which the original was stored. The id is the first part of the
// original's key. Owner returns "" if the key contains no id.
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

// FileID returns the id of the File that the datasource was created from, or "" if it was created without one. After a
// datasource has been restored from the job log, Config.FileID is empty, so FileID uses the owner of the original.
func (d *Datasource) FileID() string {
	if d.Config.FileID != "" || d.Type != TypeFile {
		return d.Config.FileID
	}
	if owner := d.Original.Owner(); owner != d.ID {
		return owner
	}
	return ""
}

// SharesOriginal reports whether the original belongs to the datasource's file, so that other datasources may use it.
func (d *Datasource) SharesOriginal() bool {
	owner := d.Original.Owner()
	return owner != "" && owner == d.FileID()
}

// AttachedID returns the id of the datasource that represents a file in a datastore. The id depends only on the
// arguments, so adding the file again does not create a second datasource.
func AttachedID(datastoreID, fileID string) string {
	return DerivedID("attached", datastoreID, fileID)
}

// CancelUnread ends the processing of a datasource that has no searchable content. If its job is still running, the
// job's results will be refused.
func (d *Datasource) CancelUnread(at time.Time) {
	d.finish(StatusSkipped, at)
	d.Error, d.JobID, d.Resume = "cancelled before it was read", NewID(), nil
}
