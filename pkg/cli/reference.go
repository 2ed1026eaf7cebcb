package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const referenceHead = `# The command line

<!-- Generated from the commands by go generate ./pkg/app; do not edit. -->

One binary, ` + "`api`" + `, is the service and its command line. Commands that bring documents in and ask talk to a running service over HTTP,
like any other client; those under "What a service keeps" open its data and need no key.

` + "```text" + `
bin/api ingest handbook/ --datastore Handbook --create    # files, folders, web pages; waits until they can be found
bin/api query "How long is the warranty?" --datastore Handbook
bin/api ask "How long is the warranty?" --datastore Handbook
` + "```" + `

**Which service.** ` + "`SLUICE_URL`" + ` and ` + "`SLUICE_API_KEY`" + ` (or ` + "`--url`" + ` and ` + "`--key`" + `) name a service anywhere. Without them it is the one of this machine: at
` + "`SLUICE_ADDR`" + `, or 127.0.0.1:8080, with the key that its first start has left in ` + "`./data`" + `, ` + "`SLUICE_DATA_DIR`" + ` or ` + "`--data-dir`" + `. That key is sent to a
service on this machine alone.

**For machines.** With ` + "`--json`" + ` every command answers with one JSON object (or, ` + "`query`" + `, an array) on the standard output, and says what is
wrong as ` + "`{\"error\": {\"code\", \"exit\", \"message\"}}`" + ` on the standard error, where progress goes, too. Fields may be added, and are never
renamed or removed.

**What is there is not sent again.** ` + "`ingest`" + ` and ` + "`import`" + ` keep nothing on this machine. They read from the service what it has: a document is known by its
custom id (a file's path as it was written, an export's id) and by the digest of its content. So a run that was killed is gone on with by running it
again, from another machine too: what the service has is left alone, what has changed replaces it once the new version can be found, and a request that was
under way when the run was killed is not done twice. A service that is busy (429, 503) is waited for, as long as it asks.

**Completion.** ` + "`source <(api completion bash)`" + `; zsh, fish and PowerShell likewise.

## Exit codes

| code | with ` + "`--json`" + ` | |
|---|---|---|
`

// Reference is a page about a program's commands.
func Reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", e.exit, e.code, e.text)
	}
	fmt.Fprintf(&b, "\n## Commands\n\n```text\n%s```\n", Help(root))
	for _, g := range root.Groups() {
		for _, sub := range root.Commands() {
			if sub.GroupID == g.ID && sub.Name() != "help" {
				writeReference(&b, sub)
			}
		}
	}
	return b.String()
}

func writeReference(b *strings.Builder, cmd *cobra.Command) {
	help := Help(cmd)
	if own, _ := ownFlags(cmd); cmd.Name() == "serve" || cmd.Name() == "healthcheck" {
		var flags strings.Builder
		writeFlags(&flags, "Flags", own)
		help = strings.Replace(help, flags.String(), "", 1) // they are the settings, which have a page of their own
	}
	fmt.Fprintf(b, "\n### %s\n\n```text\n%s```\n", cmd.CommandPath(), help)
	if cmd.Name() == "completion" {
		return // the same for each shell
	}
	for _, sub := range cmd.Commands() {
		writeReference(b, sub)
	}
}
