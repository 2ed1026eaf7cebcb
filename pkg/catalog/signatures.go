package catalog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

type Options struct {
	Path            string // of the SQLite database
	Log             *slog.Logger
	Now             func() time.Time
	MaxPagesPerSite int // 0: 10,000
}

type Catalog struct{}

var errNotYet = errors.New("not yet")

func Open(ctx context.Context, o Options) (*Catalog, error)                   { return nil, errNotYet }
func (c *Catalog) Close() error                                               { return errNotYet }
func (c *Catalog) Ready(ctx context.Context) error                            { return errNotYet }
func (c *Catalog) OutboxWake() <-chan struct{}                                { return nil }
func (c *Catalog) SweepWake() <-chan struct{}                                 { return nil }
func (c *Catalog) EnsureWorkspace(ctx context.Context, id, name string) error { return errNotYet }
func (c *Catalog) CreateKey(ctx context.Context, k domain.APIKey) error       { return errNotYet }
func (c *Catalog) Keys(ctx context.Context, ws string) ([]domain.APIKey, error) {
	return nil, errNotYet
}
func (c *Catalog) KeyByHash(ctx context.Context, hash string) (domain.APIKey, error) {
	return domain.APIKey{}, errNotYet
}
func (c *Catalog) RevokeKey(ctx context.Context, ws, id string) (domain.APIKey, error) {
	return domain.APIKey{}, errNotYet
}
func (c *Catalog) TouchKey(ctx context.Context, id string, at time.Time) error { return errNotYet }
func (c *Catalog) CountKeys(ctx context.Context) (int64, error)                { return 0, errNotYet }
func (c *Catalog) CreateAgent(ctx context.Context, a domain.Agent) (domain.Agent, error) {
	return a, errNotYet
}
func (c *Catalog) Agent(ctx context.Context, ws, id string) (domain.Agent, error) {
	return domain.Agent{}, errNotYet
}
func (c *Catalog) PublicAgent(ctx context.Context, id string) (domain.Agent, error) {
	return domain.Agent{}, errNotYet
}
func (c *Catalog) Agents(ctx context.Context, ws string, p Page) ([]domain.Agent, string, error) {
	return nil, "", errNotYet
}
func (c *Catalog) UpdateAgent(ctx context.Context, ws, id string, p domain.AgentPatch) (domain.Agent, error) {
	return domain.Agent{}, errNotYet
}
func (c *Catalog) DeleteAgent(ctx context.Context, ws, id string) (domain.Agent, error) {
	return domain.Agent{}, errNotYet
}
func (c *Catalog) CreateDatastore(ctx context.Context, d domain.Datastore) (domain.Datastore, error) {
	return d, errNotYet
}
func (c *Catalog) Datastore(ctx context.Context, ws, id string) (domain.Datastore, error) {
	return domain.Datastore{}, errNotYet
}
func (c *Catalog) PublicDatastore(ctx context.Context, id string) (domain.Datastore, error) {
	return domain.Datastore{}, errNotYet
}
func (c *Catalog) Datastores(ctx context.Context, ws string, p Page) ([]domain.Datastore, string, error) {
	return nil, "", errNotYet
}

// EachDatastore calls f for every datastore of every workspace: for audits and sweeps.
func (c *Catalog) EachDatastore(ctx context.Context, f func(domain.Datastore) error) error {
	return errNotYet
}
func (c *Catalog) UpdateDatastore(ctx context.Context, ws, id string, p domain.DatastorePatch) (domain.Datastore, error) {
	return domain.Datastore{}, errNotYet
}
func (c *Catalog) DeleteDatastore(ctx context.Context, ws, id string) (domain.Datastore, error) {
	return domain.Datastore{}, errNotYet
}
func (c *Catalog) CreateDatasources(ctx context.Context, in []NewDatasource) ([]domain.Datasource, error) {
	return nil, errNotYet
}
func (c *Catalog) Datasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	return domain.Datasource{}, errNotYet
}
func (c *Catalog) DatasourceByCustomID(ctx context.Context, ws, datastoreID, customID string) (domain.Datasource, error) {
	return domain.Datasource{}, errNotYet
}
func (c *Catalog) Datasources(ctx context.Context, ws string, f DatasourceFilter, p Page) ([]domain.Datasource, string, error) {
	return nil, "", errNotYet
}
func (c *Catalog) ReplaceContent(ctx context.Context, ws, id string, r Replacement) (domain.Datasource, error) {
	return domain.Datasource{}, errNotYet
}
func (c *Catalog) Requeue(ctx context.Context, ws, id string, job domain.Job, p Priority) (domain.Datasource, error) {
	return domain.Datasource{}, errNotYet
}
func (c *Catalog) DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	return domain.Datasource{}, errNotYet
}

// ResolveFilters returns the ids that the filter's custom ids and datasource ids select (pages of a selected site
// included); nil when the filter names neither, empty when nothing matches.
func (c *Catalog) ResolveFilters(ctx context.Context, datastoreIDs []string, f domain.Filters) ([]string, error) {
	return nil, errNotYet
}
func (c *Catalog) DatastoreCounts(ctx context.Context, ws, id string) (map[domain.Status]int64, error) {
	return nil, errNotYet
}
func (c *Catalog) SiteCounts(ctx context.Context, siteID string) (map[domain.Status]int64, error) {
	return nil, errNotYet
}

// NewJob makes the job that reads the datasource again: NewIngestJob, NewCrawlJob or, for a page of a site, NewPageJob.
func (c *Catalog) NewJob(ctx context.Context, d domain.Datasource, kind domain.JobKind) (domain.Job, error) {
	return domain.Job{}, errNotYet
}
func (c *Catalog) Outbox(ctx context.Context, limit int) ([]domain.Job, error)     { return nil, errNotYet }
func (c *Catalog) Published(ctx context.Context, job domain.Job, seq uint64) error { return errNotYet }
func (c *Catalog) PublishedAll(ctx context.Context, published []domain.Job) error  { return errNotYet } // Generation is the sequence
func (c *Catalog) DeferJob(ctx context.Context, job domain.Job, until time.Time) error {
	return errNotYet
}
func (c *Catalog) InFlight(ctx context.Context) (int64, error) { return 0, errNotYet }
func (c *Catalog) Apply(ctx context.Context, ev domain.Event) (Applied, error) {
	return Applied{}, errNotYet
}
func (c *Catalog) ApplyAll(ctx context.Context, evs []domain.Event) ([]Applied, error) {
	return nil, errNotYet
}
func (c *Catalog) Sweeps(ctx context.Context, limit int) ([]SweepTask, error) { return nil, errNotYet }
func (c *Catalog) QueueSweep(ctx context.Context, s domain.Sweep) error       { return errNotYet }
func (c *Catalog) FinishSweep(ctx context.Context, ids ...string) error       { return errNotYet }
func (c *Catalog) DeferSweep(ctx context.Context, id string, until time.Time, cause string) error {
	return errNotYet
}
func (c *Catalog) Active(ctx context.Context, datasourceIDs []string) (map[string]ActiveDatasource, error) {
	return nil, errNotYet
}
func (c *Catalog) Stuck(ctx context.Context, before time.Time, limit int) ([]StuckDatasource, error) {
	return nil, errNotYet
}
func (c *Catalog) Reissue(ctx context.Context, datasourceID, expectJobID string, job domain.Job) (bool, error) {
	return false, errNotYet
}
func (c *Catalog) MaxGeneration(ctx context.Context) (uint64, error) { return 0, errNotYet }
func (c *Catalog) EachActive(ctx context.Context, datastoreID string, f func(ActiveState) error) error {
	return errNotYet
}
func (c *Catalog) EachOriginal(ctx context.Context, f func(key string) error) error { return errNotYet }
func (c *Catalog) EnsureConversation(ctx context.Context, v domain.Conversation) (domain.Conversation, error) {
	return v, errNotYet
}
func (c *Catalog) Conversation(ctx context.Context, ws, agentID, id string) (domain.Conversation, error) {
	return domain.Conversation{}, errNotYet
}
func (c *Catalog) AppendMessages(ctx context.Context, conversationID string, ms ...domain.Message) error {
	return errNotYet
}
func (c *Catalog) Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error) {
	return nil, errNotYet
}
func (c *Catalog) Conversations(ctx context.Context, ws, agentID string, p Page) ([]domain.Conversation, string, error) {
	return nil, "", errNotYet
}
func (c *Catalog) Count(ctx context.Context, ws string, m domain.Metric, n int64) error {
	return errNotYet
}
func (c *Catalog) Consume(ctx context.Context, ws string, m domain.Metric, n, limit int64) (bool, error) {
	return false, errNotYet
}
func (c *Catalog) Usage(ctx context.Context, ws string, month time.Time) (map[domain.Metric]int64, error) {
	return nil, errNotYet
}

// BeginIdempotent: nil means go on and then Finish or Abandon; a stored response is to be sent again.
func (c *Catalog) BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*StoredResponse, error) {
	return nil, errNotYet
}
func (c *Catalog) FinishIdempotent(ctx context.Context, ws, key string, r StoredResponse) error {
	return errNotYet
}
func (c *Catalog) AbandonIdempotent(ctx context.Context, ws, key string) error { return errNotYet }
