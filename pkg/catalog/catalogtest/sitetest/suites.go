// Package sitetest contains the catalog's conformance tests for web sites: pages, crawls and settings. They are run by
// catalogtest.
package sitetest

import (
	"testing"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
)

// Suites contains this package's test suites, keyed by name.
var Suites = map[string]func(*testing.T, world.Open){
	"sites":      testSites,
	"crawls":     testCrawls,
	"recrawls":   testRecrawls,
	"stops":      testStops,
	"refreshes":  testRefreshes,
	"duplicates": testDuplicates,
	"canonicals": testCanonicals,
	"links":      testLinks,
	"scopes":     testScopes,
	"refused":    testRefused,
}
