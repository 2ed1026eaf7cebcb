package domain

// ActiveDatasource is the part of a datasource that retrieval needs: the generation visible to readers and the
// properties shown with a fragment.
type ActiveDatasource struct {
	ID               string
	DatastoreID      string
	GroupID          string
	Type             DatasourceType
	Name             string
	CustomID         string
	Place            Place  // place that serves its datastore, read at the same time as ActiveGeneration
	ActiveGeneration uint64 // 0: no generation is active yet, so no rows may be shown
	MIMEType         string
	SourceURL        string
	FileName         string
	FileID           string         // File that it was created from; "" if there is none
	Metadata         map[string]any // metadata set by the caller
	Document         *DocumentInfo  // metadata found in the content; nil: none
}
