package domain

// ActiveDatasource is what retrieval needs of a datasource: which generation readers may see, and what a fragment
// shows.
type ActiveDatasource struct {
	ID               string
	DatastoreID      string
	GroupID          string
	Type             DatasourceType
	Name             string
	CustomID         string
	Place            Place  // where its datastore serves readers from; read together with ActiveGeneration
	ActiveGeneration uint64 // 0: none yet, no row of it may be shown
	MIMEType         string
	SourceURL        string
	FileName         string
	Metadata         map[string]any // the caller's
	Document         *DocumentInfo  // what its content says of itself; nil: nothing
}
