"""Tests /datastores/query/{id} with LangChain's unmodified DataberryRetriever, both synchronously and asynchronously."""

import asyncio
import os

from langchain_community.retrievers.databerry import DataberryRetriever

URL = f"{os.environ['SLUICE_URL']}/datastores/query/{os.environ['DATASTORE']}"
retriever = DataberryRetriever(datastore_url=URL, top_k=1, api_key=os.environ["SLUICE_API_KEY"])


def check(documents):
    assert len(documents) == 1, documents
    assert "thirty months" in documents[0].page_content, documents
    assert documents[0].metadata["score"] > 0 and "source" in documents[0].metadata, documents


check(retriever.invoke("How long is the warranty of the Aurora pump?"))
check(asyncio.run(retriever.ainvoke("How long is the warranty of the Aurora pump?")))
every = DataberryRetriever(datastore_url=URL, top_k=None, api_key=os.environ["SLUICE_API_KEY"])
assert len(every.invoke("warranty pump logger")) == 2
print("   DataberryRetriever, sync and async")
