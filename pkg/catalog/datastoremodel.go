package catalog

import "context"

// DatastoreModel returns the id of the datastore's embedding model, whatever its workspace: for sweeps and audits, which
// must find its rows.
func (c *Catalog) DatastoreModel(ctx context.Context, id string) (string, error) {
	d, err := scanDatastore(c.db.read.queryRow(ctx, `SELECT `+datastoreColumns+` FROM datastores WHERE id = ?`, id))
	if err != nil {
		return "", found(err, "datastore", id)
	}
	return d.EmbeddingModel, nil
}
