package catalog

import (
	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/conversations"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/files"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/catalog/responses"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Aliases, so that users of a Catalog don't have to import the stores' packages.
type (
	// ActiveState is maintenance.ActiveState.
	ActiveState = maintenance.ActiveState
	// Adopted is maintenance.Adopted.
	Adopted = maintenance.Adopted
	// Applied is pipeline.Applied.
	Applied = pipeline.Applied
	// Claim is accounts.Claim.
	Claim = accounts.Claim
	// ConversationFilter is conversations.ConversationFilter.
	ConversationFilter = conversations.ConversationFilter
	// DatasourceFilter is resources.DatasourceFilter.
	DatasourceFilter = resources.DatasourceFilter
	// Description is resources.Description.
	Description = resources.Description
	// FilePage is files.Page.
	FilePage = files.Page
	// NewFile is files.NewFile.
	NewFile = files.NewFile
	// NewDatasource is resources.NewDatasource.
	NewDatasource = resources.NewDatasource
	// OriginalRef is maintenance.OriginalRef.
	OriginalRef = maintenance.OriginalRef
	// Page is db.Page.
	Page = db.Page
	// Priority is record.Priority.
	Priority = record.Priority
	// Refresh is pipeline.Refresh.
	Refresh = pipeline.Refresh
	// RepairRequest is maintenance.RepairRequest.
	RepairRequest = maintenance.RepairRequest
	// RepairState is maintenance.RepairState.
	RepairState = maintenance.RepairState
	// Replacement is resources.Replacement.
	Replacement = resources.Replacement
	// ReplayFilter is pipeline.ReplayFilter.
	ReplayFilter = pipeline.ReplayFilter
	// SiteBatch is sites.SiteBatch.
	SiteBatch = sites.SiteBatch
	// SiteTask is sites.SiteTask.
	SiteTask = sites.SiteTask
	// StoredResponse is accounts.StoredResponse.
	StoredResponse = accounts.StoredResponse
	// StuckDatasource is pipeline.StuckDatasource.
	StuckDatasource = pipeline.StuckDatasource
	// SweepTask is pipeline.SweepTask.
	SweepTask = pipeline.SweepTask
	// Waiting is pipeline.Waiting.
	Waiting = pipeline.Waiting
)

// Constants for the types above.
const (
	PriorityFresh    = record.PriorityFresh
	PriorityReplay   = record.PriorityReplay
	NothingAdopted   = maintenance.NothingAdopted
	AdoptedContent   = maintenance.AdoptedContent
	AdoptedUnknown   = maintenance.AdoptedUnknown
	DefaultPageSize  = db.DefaultPageSize
	MaxPageSize      = db.MaxPageSize
	IdempotencyLease = accounts.IdempotencyLease

	MaxConversationItems = responses.MaxItems
)

// ErrDamaged means that an SQLite catalog's file is damaged.
var ErrDamaged = db.ErrDamaged
