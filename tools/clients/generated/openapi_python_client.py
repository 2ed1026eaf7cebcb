"""Tests the client that openapi-python-client generates: it creates a datastore, uploads a file and queries it."""

import datetime
import io
import os
import sys
import time

sys.path.insert(0, sys.argv[1])
from sluice_client import AuthenticatedClient, models as m  # noqa: E402
from sluice_client.api.agents import create_agent, delete_agent, query_agent  # noqa: E402
from sluice_client.api.datasources import get_datasource, get_original, list_datasources, upload_datasource  # noqa: E402
from sluice_client.api.datastores import create_datastore, delete_datastore, get_datastore, query_datastore  # noqa: E402
from sluice_client.types import UNSET, File  # noqa: E402

client = AuthenticatedClient(base_url=os.environ["SLUICE_URL"], token=os.environ["SLUICE_API_KEY"])
store = create_datastore.sync(client=client, body=m.DatastoreCreate(name="openapi-python-client"))
text = b"The warranty of the Aurora pump lasts thirty months."
file = File(payload=io.BytesIO(text), file_name="warranty.txt", mime_type="text/plain")
source = upload_datasource.sync(client=client, body=m.DatasourceUpload(file=file, datastore_id=store.id, custom_id="warranty"))
assert isinstance(source, m.Datasource) and source.type_ == m.DatasourceType.FILE and source.group_id == "", source
assert source.last_synch is UNSET, source
deadline = time.monotonic() + 60
while (source := get_datasource.sync(source.id, client=client)).status != m.DatasourceStatus.SYNCHED:
    assert time.monotonic() < deadline, source
    time.sleep(0.2)
assert isinstance(source.last_synch, datetime.date), source
assert [d.id for d in list_datasources.sync(client=client, datastore_id=store.id).data] == [source.id]
assert get_original.sync_detailed(source.id, client=client).content == text
query = m.DatastoreQuery(query="How long is the warranty?", filters=m.Filters(custom_ids=["warranty"]))
found = query_datastore.sync(store.id, client=client, body=query)
assert len(found) == 1 and isinstance(found[0], m.Fragment) and "thirty months" in found[0].text, found
agent = create_agent.sync(client=client, body=m.AgentCreate(name="Support", datastore_ids=[store.id]))
assert agent.prompt_type == m.PromptType.RAW, agent
answer = query_agent.sync(agent.id, client=client, body=m.AgentQuery(query="How long is the warranty?"))
assert isinstance(answer, m.AgentAnswer) and "thirty months" in answer.answer, answer
assert answer.sources[0].datasource_id == source.id, answer
delete_agent.sync(agent.id, client=client, body=m.Empty())
delete_datastore.sync(store.id, client=client, body=m.Empty())
gone = get_datastore.sync(store.id, client=client)
assert isinstance(gone, m.Problem) and gone.error == m.ProblemError.NOT_FOUND, gone
print("   openapi-python-client")
