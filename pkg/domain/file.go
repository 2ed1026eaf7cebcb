package domain

import (
	"strings"
	"time"
)

// File is an uploaded original that may belong to any number of datastores, as OpenAI's clients use it. In each of
// these, a datasource refers to the file and shares its original.
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

// FileChunking is the chunking that was requested for a file in a datastore. Chunks never overlap, because search
// merges adjacent ones; the overlap is kept only to be shown.
type FileChunking struct {
	MaxTokens     int `json:"max_tokens"`
	OverlapTokens int `json:"overlap_tokens"`
}

// Chunking returns the chunk sizes. The ratio of the target to the maximum is that of the defaults.
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

// StoredFile is a file in a datastore: a datasource, or a file of a batch that did not exist.
type StoredFile struct {
	Datasource
	MissingFileID string // id of the file that did not exist; "" for a datasource
}

// Owner returns the id in the original's key: that of the datasource or file for which the original was stored. It
// returns "" if the key contains no id.
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

// FileID returns the id of the file that the datasource was created from, or "" if it was created without one. A
// datasource that was restored from the job log knows its file only by the owner of its original.
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

// AttachedID returns the id of the datasource that adds a file to a datastore. It is the same in every attempt, so that
// a file is in a datastore at most once.
func AttachedID(datastoreID, fileID string) string {
	return DerivedID("attached", datastoreID, fileID)
}

// CancelUnread ends the processing of a datasource without searchable content. Results of its unfinished job are
// refused.
func (d *Datasource) CancelUnread(at time.Time) {
	d.finish(StatusSkipped, at)
	d.Error, d.JobID, d.Resume = "cancelled before it was read", NewID(), nil
}
