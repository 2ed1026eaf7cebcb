package api

import (
	"context"
	"io"
	"time"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Catalog is the metadata the API serves. Methods that take a workspace answer domain.CodeNotFound for what lies in
// another one. Lists return the next page's cursor, "" after the last.
type Catalog interface {
	Agents
	Datastores
	Datasources
	Conversations
	Keys
	Accounts
}

// Sealer encrypts the headers of a protected site.
type Sealer interface {
	// Seal encrypts headers for the origin of an address, so that only crawlers can open them.
	Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error)
}

// Agents stores agents.
type Agents interface {
	CreateAgent(ctx context.Context, a domain.Agent) (domain.Agent, error)
	WorkspaceName(ctx context.Context, id string) (string, error)
	Agent(ctx context.Context, ws, id string) (domain.Agent, error)
	// PublicAgent returns the agent when it is public, whatever its workspace; otherwise domain.CodeNotFound.
	PublicAgent(ctx context.Context, id string) (domain.Agent, error)
	Agents(ctx context.Context, ws string, p catalog.Page) ([]domain.Agent, string, error)
	UpdateAgent(ctx context.Context, ws, id string, p domain.AgentPatch) (domain.Agent, error)
	DeleteAgent(ctx context.Context, ws, id string) (domain.Agent, error)
}

// Datastores stores datastores.
type Datastores interface {
	CreateDatastore(ctx context.Context, d domain.Datastore) (domain.Datastore, error)
	Datastore(ctx context.Context, ws, id string) (domain.Datastore, error)
	// PublicDatastore returns the datastore when it is public, whatever its workspace; otherwise domain.CodeNotFound.
	PublicDatastore(ctx context.Context, id string) (domain.Datastore, error)
	Datastores(ctx context.Context, ws string, p catalog.Page) ([]domain.Datastore, string, error)
	// UpdateDatastore begins, replaces or cancels a move when the patch names a place.
	UpdateDatastore(ctx context.Context, ws, id string, p domain.DatastorePatch) (domain.Datastore, error)
	// MoveProgress is how far the move of a datastore is.
	MoveProgress(ctx context.Context, id string) (domain.MoveProgress, error)
	DeleteDatastore(ctx context.Context, ws, id string) (domain.Datastore, error)
	// DatastoreCounts counts the datasources of a datastore; a status that none has is absent.
	DatastoreCounts(ctx context.Context, ws, id string) (map[domain.Status]int64, error)
}

// Datasources stores datasources, each change together with the job that follows from it.
type Datasources interface {
	// CreateDatasources creates all of them or none.
	CreateDatasources(ctx context.Context, in []catalog.NewDatasource) ([]domain.Datasource, error)
	// UpsertDatasources is CreateDatasources, but one whose CustomID exists in its datastore replaces the content of
	// that one, which keeps its id. The result is in the order of in.
	UpsertDatasources(ctx context.Context, in []catalog.NewDatasource) ([]domain.Datasource, error)
	Datasource(ctx context.Context, ws, id string) (domain.Datasource, error)
	DatasourceByCustomID(ctx context.Context, ws, datastoreID, customID string) (domain.Datasource, error)
	Datasources(ctx context.Context, ws string, f catalog.DatasourceFilter, p catalog.Page) ([]domain.Datasource, string, error)
	ReplaceContent(ctx context.Context, ws, id string, r catalog.Replacement) (domain.Datasource, error)
	// NewJob makes the job of that kind for a datasource that exists, for Requeue.
	NewJob(ctx context.Context, d domain.Datasource, kind domain.JobKind) (domain.Job, error)
	Requeue(ctx context.Context, ws, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error)
	// Replay queues a batch of what the filter selects, behind all fresh content, and returns how many, and the cursor of
	// the next batch, "" after the last.
	Replay(ctx context.Context, f catalog.ReplayFilter, cursor string) (queued int64, next string, err error)
	DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error)
	// Describe changes what a datasource is called and what stands in its metadata, together with the job that follows.
	Describe(ctx context.Context, ws, id string, d catalog.Description, job domain.Job) (domain.Datasource, error)
	// UpdateWebConfig changes how a web page or site is fetched from its next fetch on.
	UpdateWebConfig(ctx context.Context, ws, id string, p domain.WebPatch) (domain.Datasource, error)
	// StopCrawl ends the crawl of a site or page; what is searchable stays so.
	StopCrawl(ctx context.Context, ws, id string) (domain.Datasource, error)
	// SiteProgress counts the pages of sites, by the sites' ids.
	SiteProgress(ctx context.Context, siteIDs ...string) (map[string]domain.SiteProgress, error)
}

// Conversations shows what was asked and answered.
type Conversations interface {
	// Conversation reads a conversation of the workspace, with that agent unless agentID is empty.
	Conversation(ctx context.Context, ws, agentID, id string) (domain.Conversation, error)
	// FindConversation returns the conversation with the id, and whether there is one; of another workspace or agent it is
	// domain.CodeNotFound.
	FindConversation(ctx context.Context, ws, agentID, id string) (v domain.Conversation, exists bool, err error)
	Conversations(ctx context.Context, ws string, f catalog.ConversationFilter, p catalog.Page) ([]domain.Conversation, string, error)
	// Messages returns the newest of them, oldest first.
	Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error)
	// EachMessage calls f with every message, oldest first, holding few at a time, until f fails, and returns its error.
	EachMessage(ctx context.Context, conversationID string, f func(domain.Message) error) error
	DeleteConversation(ctx context.Context, ws, id string) (domain.Conversation, error)
	ConversationsByCallerID(ctx context.Context, ws, agentID, visitorID, callerID string, limit int) ([]domain.Conversation, error)
}

// Keys stores API keys by the hash of their secret.
type Keys interface {
	CreateKey(ctx context.Context, k domain.APIKey) (domain.APIKey, error)
	Keys(ctx context.Context, ws string) ([]domain.APIKey, error)
	KeyByHash(ctx context.Context, hash string) (domain.APIKey, error)
	RevokeKey(ctx context.Context, ws, id string) (domain.APIKey, error)
	TouchKey(ctx context.Context, id string, at time.Time) error
}

// Accounts counts use and remembers answers.
type Accounts interface {
	// Count adds to the account's use in this month.
	Count(ctx context.Context, a domain.Account, uses map[domain.Metric]int64) error
	// CountSoon is Count for what no limit is held against: it is stored a little later, with others.
	CountSoon(a domain.Account, uses map[domain.Metric]int64)
	// Admit counts one agent query, or fails with domain.CodeUsageLimit when a limit is reached; of many at once no more
	// pass than are left.
	Admit(ctx context.Context, a domain.Account) error
	Usage(ctx context.Context, ws string, month time.Time) (map[domain.Metric]int64, error)
	// KeyUsage is Usage by the ids of keys; "" is what was used without one.
	KeyUsage(ctx context.Context, ws string, month time.Time) (map[string]map[domain.Metric]int64, error)
	Stored(ctx context.Context, ws string) (chunks, bytes int64, err error)
	// CheckStorage fails with domain.CodeUsageLimit when nothing more may be stored. What stores something checks again.
	CheckStorage(ctx context.Context, ws string) error
	// Limits are those set for a workspace or a key, LimitsInForce those that hold for a workspace.
	Limits(ctx context.Context, a domain.Account) (domain.Limits, error)
	LimitsInForce(ctx context.Context, ws string) (domain.Limits, error)
	SetLimits(ctx context.Context, a domain.Account, limits domain.Limits) error
	// BeginIdempotent returns the answer stored under the key, or a claim: go on, Keep it, then Finish, Release or
	// Abandon. A key in use by a request that is under way, or used for another request, is domain.CodeConflict.
	BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*catalog.Claim, *catalog.StoredResponse, error)
	// KeepIdempotent says that the request is being worked on, and reports whether nobody else has taken it over.
	KeepIdempotent(ctx context.Context, claim *catalog.Claim) (holds bool, err error)
	FinishIdempotent(ctx context.Context, claim *catalog.Claim, r catalog.StoredResponse) error
	// ReleaseIdempotent lets a request be repeated that may have done something.
	ReleaseIdempotent(ctx context.Context, claim *catalog.Claim) error
	// AbandonIdempotent frees the key of a request that has done nothing.
	AbandonIdempotent(ctx context.Context, claim *catalog.Claim) error
}

// Originals keeps raw content.
type Originals interface {
	// Put stores all of r as a datasource's content, under a fresh key, and returns once it is safe.
	Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error)
	// Get returns the content under a key, which must be closed; domain.CodeNotFound when it is no longer kept. A reader
	// fails in place of ending when what was read is not what was stored.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes what no row refers to.
	Delete(ctx context.Context, key string) error
}

// ChunkReader reads the chunks of a datasource's active generation in order.
type ChunkReader interface {
	// Chunks returns up to limit chunks from the ordinal on.
	Chunks(ctx context.Context, d domain.Datasource, fromOrdinal, limit int) ([]domain.Chunk, error)
}

// Retriever finds fragments.
type Retriever interface {
	// Retrieve returns at most TopK fragments, best first. Rerank: true where there is no reranker is domain.CodeInvalid.
	Retrieve(ctx context.Context, r retrieve.Request) (retrieve.Result, error)
}

// Answerer answers questions and keeps the conversations they belong to.
type Answerer interface {
	// Answer calls emit with every piece of the text as it comes, and returns the whole. It stops when emit fails or
	// ctx ends. It does not call emit after it has returned, nor from two goroutines at once. A nil emit says that
	// nobody waits for pieces. A ConversationID of another workspace or agent is domain.CodeNotFound. The tokens used are
	// set also when the answer failed.
	Answer(ctx context.Context, r answer.Request, emit func(text string) error) (answer.Answer, error)
}

// Watcher tells of changes to datasources.
type Watcher interface {
	// Watch returns a channel that receives the id of every datasource of the datastore whose row has changed, after
	// the change is stored. It is closed when ctx ends or nothing more can be told. A slow reader may miss ids.
	Watch(ctx context.Context, datastoreID string) (<-chan string, error)
	// Changed has all who watch the datastore told of a datasource whose row has changed, or is gone. It must not block.
	Changed(datastoreID, datasourceID string)
}

// Check asks one dependency whether it can serve.
type Check struct {
	Name  string
	Ready func(ctx context.Context) error
	// Degrades says that without it the service can do part of its work: it then stays ready.
	Degrades bool
	// Note, if set, says what the dependency lacks, "" when nothing.
	Note func(ctx context.Context) string
}
