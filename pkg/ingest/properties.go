package ingest

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// rowMetadata returns the metadata for a document's rows: the metadata of its parts, plus the datasource properties
// that filters can use.
func rowMetadata(job domain.Job, doc *domain.Document) map[string]any {
	out := withoutProperties(domain.FragmentMetadata(job.Metadata, doc.Info()))
	if job.CreatedAt.IsZero() { // a job from an earlier version; without PropertyID, the properties count as unknown
		return out
	}
	for key, value := range map[string]string{
		filter.PropertyID: job.DatasourceID, filter.PropertyName: cmp.Or(job.Name, doc.Title), filter.PropertyType: string(job.Type),
		filter.PropertyCustomID: job.CustomID, filter.PropertySite: job.GroupID, filter.PropertySourceURL: pageURL(job),
		filter.PropertyMIMEType: doc.MIMEType, filter.PropertyCreated: formatProperty(job.CreatedAt),
		filter.PropertyChanged: formatProperty(cmp.Or(job.ChangedAt, job.CreatedAt)),
	} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

func formatProperty(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// withoutProperties returns a copy of metadata without the values that filters would mistake for datasource properties.
// `metadata` may be nil.
func withoutProperties(metadata map[string]any) map[string]any {
	out := maps.Clone(metadata)
	if out == nil {
		out = make(map[string]any)
	}
	name := strings.TrimSuffix(filter.PropertyPrefix, ".")
	inner, isObject := out[name].(map[string]any)
	if isObject {
		inner = maps.Clone(inner)
		out[name] = inner
	}
	for _, key := range filter.Properties {
		delete(out, key)
		delete(inner, strings.TrimPrefix(key, filter.PropertyPrefix))
	}
	return out
}
