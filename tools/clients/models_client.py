"""Clients that use the models directly: openai, LangChain and LlamaIndex for embeddings, cohere and Jina's for reranking."""

import math
import os

import cohere
import openai
from langchain_community.document_compressors import jina_rerank
from langchain_core.documents import Document
from langchain_openai import OpenAI, OpenAIEmbeddings
from llama_index.embeddings.openai import OpenAIEmbedding

URL, KEY, AGENT = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"], os.environ["CHECK_AGENT"]
MODEL = "builtin-en-256-v1"
TEXTS = ["The pump has a warranty of thirty months.", "The logger shows error code E-23.", "Bananas are yellow."]
QUESTION = "How long is the warranty of the Aurora pump?"
client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)


def similar(a, b):
    return sum(x * y for x, y in zip(a, b))


def models():
    assert MODEL in [m.id for m in client.models.list()]
    assert client.models.retrieve(MODEL).owned_by == "sluice"


def embeddings():
    """The client asks for base64 unless a format is named."""
    got = client.embeddings.create(model=MODEL, input=TEXTS)
    assert [d.index for d in got.data] == [0, 1, 2] and got.model == MODEL, got
    assert all(len(d.embedding) == 256 and math.isclose(similar(d.embedding, d.embedding), 1, abs_tol=1e-3) for d in got.data)
    assert got.usage.prompt_tokens == got.usage.total_tokens > 0
    numbers = client.embeddings.create(model=MODEL, input=TEXTS[0], encoding_format="float", dimensions=256).data[0].embedding
    assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(numbers, got.data[0].embedding))
    tokens = client.embeddings.create(model=MODEL, input=[791, 14155, 706, 264, 8642, 315, 27219, 4038, 13])
    assert tokens.data[0].embedding == got.data[0].embedding, "the tokens of the text have another vector"


def refused(kind, code, call, **asked):
    try:
        call(**asked)
    except kind as e:
        assert e.code == code and e.message, e
        return
    raise AssertionError(f"{asked} was not refused with {kind}")


def errors():
    create = client.embeddings.create
    refused(openai.NotFoundError, "model_not_found", create, model="text-embedding-ada-002", input="a")
    refused(openai.BadRequestError, "invalid_request", create, model=MODEL, input="a", dimensions=64)
    refused(openai.BadRequestError, "invalid_request", create, model=MODEL, input="")
    refused(openai.AuthenticationError, "invalid_api_key", client.with_options(api_key="sk_wrong").embeddings.create, model=MODEL, input="a")


def completions():
    whole = client.completions.create(model=AGENT, prompt=QUESTION)
    assert "thirty months" in whole.choices[0].text and whole.choices[0].finish_reason == "stop", whole
    pieces = list(client.completions.create(model=AGENT, prompt=QUESTION, stream=True, stream_options={"include_usage": True}))
    assert "".join(p.choices[0].text for p in pieces if p.choices) == whole.choices[0].text
    assert pieces[-1].usage.total_tokens == whole.usage.total_tokens
    langchain = OpenAI(base_url=URL + "/v1", api_key=KEY, model=AGENT, max_tokens=500)
    assert "thirty months" in langchain.invoke(QUESTION)


def langchain():
    # Without this setting the client downloads a vocabulary to send tokens, which `embeddings` does.
    model = OpenAIEmbeddings(base_url=URL + "/v1", api_key=KEY, model=MODEL, check_embedding_ctx_length=False)
    passages, question = model.embed_documents(TEXTS), model.embed_query(QUESTION)
    assert max(range(3), key=lambda i: similar(passages[i], question)) == 0


def llamaindex():
    model = OpenAIEmbedding(model_name=MODEL, api_base=URL + "/v1", api_key=KEY)
    passages, question = model.get_text_embedding_batch(TEXTS), model.get_query_embedding(QUESTION)
    assert max(range(3), key=lambda i: similar(passages[i], question)) == 0


def cohere_rerank():
    documents = [TEXTS[2], TEXTS[1], TEXTS[0]]
    got = cohere.ClientV2(api_key=KEY, base_url=URL).rerank(model=MODEL, query=QUESTION, documents=documents, top_n=2)
    assert got.results[0].index == 2 and len(got.results) == 2, got
    assert 1 >= got.results[0].relevance_score > got.results[1].relevance_score >= 0
    assert "cosine" in got.meta.warnings[0], got.meta
    try:
        cohere.ClientV2(api_key=KEY, base_url=URL).rerank(model="rerank-v3.5", query=QUESTION, documents=documents)
    except cohere.NotFoundError as e:
        assert MODEL in str(e.body), e
    else:
        raise AssertionError("an unknown model was not refused")


def jina():
    jina_rerank.JINA_API_URL = URL + "/v1/rerank"  # the class has no parameter for it
    ranker = jina_rerank.JinaRerank(jina_api_key=KEY, model=MODEL, top_n=1)
    got = ranker.compress_documents([Document(page_content=t) for t in TEXTS], QUESTION)
    assert [d.page_content for d in got] == [TEXTS[0]] and got[0].metadata["relevance_score"] > 0, got


for check in (models, embeddings, errors, completions, langchain, llamaindex, cohere_rerank, jina):
    check()
    print("  ", check.__name__)
print("   openai", openai.__version__, "· cohere", cohere.__version__)
