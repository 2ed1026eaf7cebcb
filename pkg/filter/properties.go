package filter

import "slices"

// PropertyPrefix is the prefix of keys that name a datasource's property rather than metadata.
const PropertyPrefix = "datasource."

// Properties of a datasource. Content indexed by an old version lacks them and can't be filtered by them until it is
// re-indexed.
const (
	PropertyID        = PropertyPrefix + "id"         // present in every row with properties
	PropertyName      = PropertyPrefix + "name"       // name at the time of indexing
	PropertyType      = PropertyPrefix + "type"       // see domain.DatasourceType
	PropertyCustomID  = PropertyPrefix + "custom_id"  // id assigned by the caller
	PropertySite      = PropertyPrefix + "site_id"    // the page's site; pages only
	PropertySourceURL = PropertyPrefix + "source_url" // the web page's address
	PropertyMIMEType  = PropertyPrefix + "mime_type"  // content type
	PropertyCreated   = PropertyPrefix + "created_at" // when the datasource was created
	PropertyChanged   = PropertyPrefix + "changed_at" // when its content or metadata last changed
)

// Properties lists all properties.
var Properties = []string{
	PropertyID, PropertyName, PropertyType, PropertyCustomID, PropertySite, PropertySourceURL, PropertyMIMEType, PropertyCreated, PropertyChanged,
}

// IsProperty reports whether a key names a property.
func IsProperty(key string) bool { return slices.Contains(Properties, key) }
