package catalog

import (
	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/conversations"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

type ( // types of the stores' methods, for users of a complete Catalog
	ActiveState        = maintenance.ActiveState
	Adopted            = maintenance.Adopted
	Applied            = pipeline.Applied
	Claim              = accounts.Claim
	ConversationFilter = conversations.ConversationFilter
	DatasourceFilter   = resources.DatasourceFilter
	Description        = resources.Description
	NewDatasource      = resources.NewDatasource
	NewerError         = db.NewerError
	OlderError         = db.OlderError
	OriginalRef        = maintenance.OriginalRef
	Page               = db.Page
	Priority           = record.Priority
	Refresh            = pipeline.Refresh
	RepairRequest      = maintenance.RepairRequest
	RepairState        = maintenance.RepairState
	Replacement        = resources.Replacement
	ReplayFilter       = pipeline.ReplayFilter
	SiteBatch          = sites.SiteBatch
	SiteTask           = sites.SiteTask
	Snapshot           = maintenance.Snapshot
	StoredResponse     = accounts.StoredResponse
	StuckDatasource    = pipeline.StuckDatasource
	SweepTask          = pipeline.SweepTask
	Waiting            = pipeline.Waiting
)

// Values of these types.
const (
	PriorityFresh    = record.PriorityFresh
	PriorityPages    = record.PriorityPages
	PriorityReplay   = record.PriorityReplay
	NothingAdopted   = maintenance.NothingAdopted
	AdoptedContent   = maintenance.AdoptedContent
	AdoptedUnknown   = maintenance.AdoptedUnknown
	DefaultPageSize  = db.DefaultPageSize
	MaxPageSize      = db.MaxPageSize
	IdempotencyLease = accounts.IdempotencyLease
)

// ErrDamaged is returned if the file of a SQLite catalog is damaged.
var ErrDamaged = db.ErrDamaged
