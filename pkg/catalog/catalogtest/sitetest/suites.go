// Package sitetest is the part of the catalog's conformance suite about web sites: their pages, crawls and settings.
// catalogtest runs it.
package sitetest

import (
	"testing"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
)

// Suites holds the test suites of this package by name.
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
