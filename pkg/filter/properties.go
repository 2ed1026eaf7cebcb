package filter

import "slices"

// PropertyPrefix is the start of keys that name a property of the datasource instead of metadata.
const PropertyPrefix = "datasource."

// Properties of a datasource. Content indexed by an old version lacks them. It must be indexed again before filters can
// use them.
const (
	PropertyID        = PropertyPrefix + "id"         // present in each row that has properties
	PropertyName      = PropertyPrefix + "name"       // name at the time of indexing
	PropertyType      = PropertyPrefix + "type"       // see domain.DatasourceType
	PropertyCustomID  = PropertyPrefix + "custom_id"  // id chosen by the caller
	PropertySite      = PropertyPrefix + "site_id"    // of a page: the site it belongs to
	PropertySourceURL = PropertyPrefix + "source_url" // of a web page: its address
	PropertyMIMEType  = PropertyPrefix + "mime_type"  // type of the content
	PropertyCreated   = PropertyPrefix + "created_at" // time when the datasource was created
	PropertyChanged   = PropertyPrefix + "changed_at" // time when its content or metadata last changed
)

// Properties lists all properties.
var Properties = []string{
	PropertyID, PropertyName, PropertyType, PropertyCustomID, PropertySite, PropertySourceURL, PropertyMIMEType, PropertyCreated, PropertyChanged,
}

// IsProperty reports whether a key names a property.
func IsProperty(key string) bool { return slices.Contains(Properties, key) }
