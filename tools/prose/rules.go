package main

import "regexp"

// rule detects a kind of phrase that plain English avoids. CONTRIBUTING.md describes the rules.
type rule struct {
	name    string
	pattern *regexp.Regexp
	except  *regexp.Regexp // matches that are fine; nil for none
	instead string
}

var rules = []rule{
	{
		name:    "clause for a noun",
		pattern: regexp.MustCompile(`(?:^|[.:;]\s+)(?:Who|Whom|What|Which|Whose|Whoever)\s+[a-z]\w*(?: \w+)?`),
		except:  regexp.MustCompile(`(?:Who|Whom|What|Which|Whose|Whoever)\s+(?:does|do|happens)\b|(?:is|are) the\b|it does\b`),
		instead: "name the actor: the caller, a writer, the worker",
	},
	{
		name: "what is",
		pattern: regexp.MustCompile(`\b(?:what|whatever) (?:is|was|are|were|has|had|stands|lies|comes|came|goes|went|cannot|can|` +
			`may|must|needs)\b[^?]*$`),
		instead: "use a noun: the content, the remaining rows, pending jobs",
	},
	{
		name: "homemade verb",
		pattern: regexp.MustCompile(`\b(?:stands? (?:in|under|on|beside|for)\b|lies? (?:in|under|beside|by)\b|` +
			`tells? (?:of|how|what|whether|which|where|why|apart|the)\b|(?:is|are) told\b|mend(?:s|ed|ing)?\b|` +
			`(?:is|are) to be had\b|sees? to it\b)`),
		instead: "write is, contains, reports, repairs, is available, makes sure",
	},
	{
		name: "dated word",
		pattern: regexp.MustCompile(`\b(?:beside|likewise|nobody|somebody|thereby|therein|whence|hence|anew|aright|for good|` +
			`of ours|of theirs|in words|so many|as many as|but for|on purpose|no more than|never more than)\b`),
		instead: "write next to, also, no caller, again, permanently, our, up to, except",
	},
	{
		name:    "object first",
		pattern: regexp.MustCompile(`(?:^|[.:;]\s+)Of (?:a|an|the|all|these|those|each|what|one|several|two|three|its|their)\b`),
		instead: "put the subject first",
	},
	{
		name:    "is to",
		pattern: regexp.MustCompile(`\b(?:is|are|was|were) to (?:be|go|have|come|do|stay|say|see)\b`),
		instead: "write must, should, will, or the verb itself",
	},
}

// homemadeName matches identifiers such as mostRows, leastWait or howMany, for which maxRows, minWait and count are
// better.
var homemadeName = regexp.MustCompile(`^(?:most|least|few|many|how|who|what)[A-Z]`)

func (r rule) finds(text string) bool {
	for _, match := range r.pattern.FindAllString(text, -1) {
		if r.except == nil || !r.except.MatchString(match) {
			return true
		}
	}
	return false
}
