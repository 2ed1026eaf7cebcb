// Package catalogtest is the catalog's conformance suite, which runs on every database engine. Each subtest's name is a
// sentence from the contract.
package catalogtest

import (
	"maps"
	"testing"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/sitetest"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
)

// Run runs the suite.
func Run(t *testing.T, open world.Open) {
	suites := map[string]func(*testing.T, world.Open){
		"keys":            testKeys,
		"agents":          testAgents,
		"datastores":      testDatastores,
		"search settings": testSearchSettings,
		"datasources":     testDatasources,
		"lists":           testLists,
		"outbox":          testOutbox,
		"events":          testEvents,
		"descriptions":    testDescriptions,
		"deletion":        testDeletion,
		"sweeps":          testSweeps,
		"files":           testFiles,
		"file lists":      testFileLists,
		"file batches":    testFileBatches,
		"uploads":         testUploads,
		"expiry":          testExpiry,
		"retrieval":       testRetrieval,
		"rescue":          testRescue,
		"scans":           testScans,
		"archives":        testArchives,
		"conversations":   testConversations,
		"talk lists":      testConversationLists,
		"talk ends":       testConversationsEnd,
		"turns":           testConversationLocks,
		"responses":       testResponses,
		"items":           testItemConversations,
		"usage":           testUsage,
		"quotas":          testQuotas,
		"storage":         testStorage,
		"idempotency":     testIdempotency,
		"concurrency":     testConcurrency,
		"texts":           testTexts,
		"moves":           testMoves,
		"upheaval":        testConcurrentMoves,
		"leases":          testLeases,
		"clocks":          testClocks,
		"repairs":         testRepairs,
		"replay":          testReplay,
		"adoption":        testAdoption,
		"random":          testRandom,
	}
	maps.Copy(suites, sitetest.Suites)
	for name, suite := range suites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, open)
		})
	}
}
