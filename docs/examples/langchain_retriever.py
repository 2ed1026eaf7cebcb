"""A retriever for LangChain (pip install langchain-core httpx).

Needs SLUICE_URL, SLUICE_API_KEY and DATASTORE, a datastore's id.
"""

import os

import httpx
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class SluiceRetriever(BaseRetriever):
    url: str
    key: str
    datastore: str
    top_k: int = 5
    filters: dict = {}

    def _request(self, query):
        return dict(url=f"{self.url}/datastores/{self.datastore}/query", timeout=60, headers={"Authorization": f"Bearer {self.key}"},
                    json={"query": query, "topK": self.top_k, "filters": self.filters})

    def _documents(self, answer):
        answer.raise_for_status()
        return [Document(page_content=f.pop("text"), id=f["chunk_id"], metadata=f) for f in answer.json()]

    def _get_relevant_documents(self, query, *, run_manager):
        return self._documents(httpx.post(**self._request(query)))

    async def _aget_relevant_documents(self, query, *, run_manager):
        async with httpx.AsyncClient() as client:
            return self._documents(await client.post(**self._request(query)))


retriever = SluiceRetriever(url=os.environ["SLUICE_URL"], key=os.environ["SLUICE_API_KEY"], datastore=os.environ["DATASTORE"])
for document in retriever.invoke("How long is the warranty?"):
    print(document.metadata["score"], document.page_content)
