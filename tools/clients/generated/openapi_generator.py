"""Tests the client that openapi-generator generates for Python: it creates a datastore, uploads a file and queries it."""

import os
import sys
import time

sys.path.insert(0, sys.argv[1])
import openapi_client as sluice  # noqa: E402

configuration = sluice.Configuration(host=os.environ["SLUICE_URL"], access_token=os.environ["SLUICE_API_KEY"])
with sluice.ApiClient(configuration) as client:
    datastores, datasources, agents = sluice.DatastoresApi(client), sluice.DatasourcesApi(client), sluice.AgentsApi(client)
    store = datastores.create_datastore(sluice.DatastoreCreate(name="openapi-generator"))
    text = b"The warranty of the Aurora pump lasts thirty months."
    source = datasources.upload_datasource(datastore_id=store.id, file=("warranty.txt", text), custom_id="warranty")
    assert (source.type, source.name, source.group_id) == (sluice.DatasourceType.FILE, "warranty.txt", ""), source
    assert source.last_synch is None, source
    deadline = time.monotonic() + 60
    while (source := datasources.get_datasource(source.id)).status != sluice.DatasourceStatus.SYNCHED:
        assert time.monotonic() < deadline, source
        time.sleep(0.2)
    assert source.last_synch is not None, source
    assert [d.id for d in datasources.list_datasources(datastore_id=store.id).data] == [source.id]
    filters = sluice.Filters(custom_ids=["warranty"])
    found = datastores.query_datastore(store.id, sluice.DatastoreQuery(query="How long is the warranty?", filters=filters))
    assert len(found) == 1 and type(found[0]) is sluice.Fragment and "thirty months" in found[0].text, found
    agent = agents.create_agent(sluice.AgentCreate(name="Support", datastoreIds=[store.id]))
    assert agent.prompt_type == sluice.PromptType.RAW, agent
    answer = agents.query_agent(agent.id, sluice.AgentQuery(query="How long is the warranty?"))
    assert "thirty months" in answer.answer and answer.sources[0].datasource_id == source.id, answer
    agents.delete_agent(agent.id)
    assert datastores.delete_datastore(store.id).id == store.id
    try:
        datastores.get_datastore(store.id)
    except sluice.exceptions.NotFoundException as e:
        assert "NOT_FOUND" in e.body, e
    else:
        raise AssertionError("a datastore that was deleted is there")
print("   openapi-generator (python)")
