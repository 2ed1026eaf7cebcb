"""A retriever for LlamaIndex (pip install llama-index-core httpx).

Needs SLUICE_URL, SLUICE_API_KEY and DATASTORE, a datastore's id.
"""

import os

import httpx
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode


class SluiceRetriever(BaseRetriever):
    def __init__(self, url, key, datastore, top_k=5):
        super().__init__()
        self._query = dict(url=f"{url}/datastores/{datastore}/query", timeout=60, headers={"Authorization": f"Bearer {key}"})
        self._top_k = top_k

    def _nodes(self, answer):
        answer.raise_for_status()
        return [NodeWithScore(node=TextNode(id_=f["chunk_id"], text=f.pop("text"), metadata=f), score=f["score"]) for f in answer.json()]

    def _retrieve(self, query_bundle):
        return self._nodes(httpx.post(**self._query, json={"query": query_bundle.query_str, "topK": self._top_k}))

    async def _aretrieve(self, query_bundle):
        async with httpx.AsyncClient() as client:
            return self._nodes(await client.post(**self._query, json={"query": query_bundle.query_str, "topK": self._top_k}))


retriever = SluiceRetriever(os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"], os.environ["DATASTORE"])
for found in retriever.retrieve("How long is the warranty?"):
    print(found.score, found.text)
