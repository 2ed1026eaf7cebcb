"""Programs above OpenAI's interface: LiteLLM's responses, LangChain's and LlamaIndex's Responses and embeddings, and the Agents SDK.

MODEL_URL is a service with a chat model.
"""

import asyncio
import os

import agents
import litellm
import openai
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from llama_index.core import Document, VectorStoreIndex
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAIResponses

URL, KEY, STORE = os.environ["SLUICE_URL"] + "/v1", os.environ["SLUICE_API_KEY"], "vs_" + os.environ["DATASTORE"]
MODEL_URL, MODEL_STORE = os.environ["MODEL_URL"] + "/v1", "vs_" + os.environ["MODEL_DATASTORE"]
EMBEDDINGS = "builtin-en-256-v1"
QUESTION = "How long is the warranty of the Aurora pump?"
SEARCH = {"type": "file_search", "vector_store_ids": [STORE]}
TEXTS = ["The pump has a warranty of thirty months.", "The logger shows error code E-23.", "Bananas are yellow."]


def litellm_responses():
    where = {"model": "openai/gpt-4o-mini", "api_base": URL, "api_key": KEY}
    got = litellm.responses(input=QUESTION, tools=[SEARCH], **where)
    assert "thirty months" in got.output_text, got
    text = "".join(e.delta for e in litellm.responses(input=QUESTION, tools=[SEARCH], stream=True, **where) if e.type == "response.output_text.delta")
    assert text == got.output_text, text
    litellm.delete_responses(response_id=got.id, custom_llm_provider="openai", api_base=URL, api_key=KEY)
    vectors = litellm.embedding(model=f"openai/{EMBEDDINGS}", input=TEXTS, api_base=URL, api_key=KEY).data
    assert len(vectors) == 3 and len(vectors[0]["embedding"]) == 256


def litellm_search():
    found = litellm.vector_stores.search(vector_store_id=STORE, query=QUESTION, custom_llm_provider="openai", api_base=URL, api_key=KEY)
    assert "thirty months" in found["data"][0]["content"][0]["text"], found


def langchain_responses():
    model = ChatOpenAI(base_url=URL, api_key=KEY, model="gpt-4o-mini", use_responses_api=True)
    got = model.bind_tools([SEARCH]).invoke(QUESTION)
    assert "thirty months" in got.text, got
    cited = [a for block in got.content if isinstance(block, dict) for a in block.get("annotations", [])]
    assert any(a.get("file_id") for a in cited), got
    streamed = "".join(chunk.text for chunk in model.bind_tools([SEARCH]).stream(QUESTION))
    assert streamed == got.text, streamed


def langchain_vectors():
    embeddings = OpenAIEmbeddings(base_url=URL, api_key=KEY, model=EMBEDDINGS, check_embedding_ctx_length=False)
    found = InMemoryVectorStore.from_texts(TEXTS, embeddings).similarity_search(QUESTION, k=1)
    assert found[0].page_content == TEXTS[0], found


def llamaindex_responses():
    model = OpenAIResponses(model="gpt-4o-mini", api_base=URL, api_key=KEY, built_in_tools=[SEARCH])
    assert "thirty months" in str(model.complete(QUESTION))
    assert "thirty months" in "".join(piece.delta or "" for piece in model.stream_complete(QUESTION))


def llamaindex_vectors():
    embeddings = OpenAIEmbedding(model_name=EMBEDDINGS, api_base=URL, api_key=KEY)
    index = VectorStoreIndex.from_documents([Document(text=t) for t in TEXTS], embed_model=embeddings)
    found = index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    assert found[0].text == TEXTS[0], found


def agents_sdk():
    """The agent searches files with Sluice, and calls a function of this program."""
    agents.set_tracing_disabled(True)
    asked = []

    @agents.function_tool
    def weather(place: str) -> str:
        """Returns the weather at a place."""
        asked.append(place)
        return "rain"

    def agent(base, tools):
        model = agents.OpenAIResponsesModel(model="gpt-4o-mini", openai_client=openai.AsyncOpenAI(base_url=base, api_key=KEY))
        return agents.Agent(name="Support", instructions="Answer from the manuals.", model=model, tools=tools)

    async def run():
        search = agents.FileSearchTool(vector_store_ids=[STORE], max_num_results=3, include_search_results=True)
        got = await agents.Runner.run(agent(URL, [search]), QUESTION)
        assert "thirty months" in got.final_output, got
        assert any(getattr(item.raw_item, "type", "") == "file_search_call" for item in got.new_items), got.new_items
        streamed = agents.Runner.run_streamed(agent(URL, [search]), QUESTION)
        kinds = [e.data.type async for e in streamed.stream_events() if e.type == "raw_response_event"]
        assert "response.output_text.delta" in kinds and "thirty months" in streamed.final_output, kinds
        search = agents.FileSearchTool(vector_store_ids=[MODEL_STORE])
        called = await agents.Runner.run(agent(MODEL_URL, [search, weather]), "How is the weather in Oslo?")
        assert asked == ["Oslo"] and "rain" in called.final_output, called

    asyncio.run(run())


for check in (litellm_responses, litellm_search, langchain_responses, langchain_vectors, llamaindex_responses, llamaindex_vectors, agents_sdk):
    check()
    print("  ", check.__name__)
