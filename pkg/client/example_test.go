package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/sluice/sluice/pkg/client"
)

// This example starts with an empty service and ends with a cited answer.
func Example() {
	ctx := context.Background()
	c, err := client.New(os.Getenv("SLUICE_URL"), os.Getenv("SLUICE_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	store, err := c.CreateDatastore(ctx, client.DatastoreCreate{Name: "Handbook"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.UploadFile(ctx, store.Id, "../../testdata/documents/aurora-x2-manual.pdf"); err != nil {
		log.Fatal(err)
	}
	if err := c.Settled(ctx, store.Id, nil); err != nil { // wait until the document is searchable
		log.Fatal(err)
	}
	agent, err := c.CreateAgent(ctx, client.AgentCreate{Name: "Support", DatastoreIds: &[]string{store.Id}})
	if err != nil {
		log.Fatal(err)
	}
	var text strings.Builder
	question := client.AgentQuery{Query: "How long is the warranty of the Aurora X2 pump?"}
	answer, err := c.StreamAgent(ctx, agent.Id, question, func(piece string) error {
		text.WriteString(piece) // or print each part as it arrives
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(text.String(), "7 years"), answer.Sources[0].Source)
	// Output: true aurora-x2-manual.pdf#page=1
}

// An error from the service has a machine-readable code and a human-readable message.
func ExampleCodeOf() {
	c, err := client.New(os.Getenv("SLUICE_URL"), os.Getenv("SLUICE_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	hot := 1.4
	_, err = c.CreateAgent(context.Background(), client.AgentCreate{Name: "Support", Temperature: &hot})
	if client.CodeOf(err) == client.CodeInvalid {
		fmt.Println(err)
	}
	// Output: INVALID_REQUEST: temperature: 1.4 is above the maximum of 1
}

// List methods return iterators that fetch pages as needed.
func ExampleClient_ListDatasources() {
	ctx := context.Background()
	c, err := client.New(os.Getenv("SLUICE_URL"), os.Getenv("SLUICE_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	store, err := c.CreateDatastore(ctx, client.DatastoreCreate{Name: "Notes"})
	if err != nil {
		log.Fatal(err)
	}
	first, second := "First", "Second"
	documents := []client.Document{{Name: &first, Text: "One."}, {Name: &second, Text: "Two."}}
	if _, err := c.UpsertDocuments(ctx, store.Id, documents...); err != nil {
		log.Fatal(err)
	}
	for d, err := range c.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &store.Id}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Type, d.Name)
	}
	// Unordered output:
	// text First
	// text Second
}
