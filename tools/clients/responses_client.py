"""The official OpenAI client for Python: Responses and Conversations."""

import os
import time

import openai

BASE, KEY, AGENT = os.environ["SLUICE_URL"] + "/v1", os.environ["SLUICE_API_KEY"], os.environ["CHECK_AGENT"]
QUESTION = "How long is the warranty of the Aurora pump?"
SEARCH = {"type": "file_search", "vector_store_ids": ["vs_" + os.environ["DATASTORE"]], "max_num_results": 5}
client = openai.OpenAI(base_url=BASE, api_key=KEY, max_retries=0)


def search():
    got = client.responses.create(
        model="gpt-4o-mini", input=QUESTION, tools=[SEARCH], include=["file_search_call.results"], metadata={"check": "yes"}
    )
    assert got.status == "completed" and "thirty months" in got.output_text, got
    call, message = got.output
    assert call.type == "file_search_call" and call.queries == [QUESTION], call
    assert "thirty months" in call.results[0].text and call.results[0].filename == "Manual of the pump", call
    part = message.content[0]
    citation = part.annotations[0]
    assert citation.type == "file_citation" and citation.file_id == call.results[0].file_id, citation
    assert part.text[citation.index :].startswith("[1]"), (part.text, citation)
    again = client.responses.retrieve(got.id, include=["file_search_call.results"])
    assert again.output == got.output and again.metadata == {"check": "yes"}, again
    assert client.responses.retrieve(got.id).output[0].results is None
    items = list(client.responses.input_items.list(got.id))
    assert [i.content[0].text for i in items] == [QUESTION], items
    client.responses.delete(got.id)
    try:
        client.responses.retrieve(got.id)
        raise AssertionError("the response was deleted")
    except openai.NotFoundError:
        pass


def agent_and_chain():
    first = client.responses.create(model=AGENT, input=QUESTION)
    assert "thirty months" in first.output_text, first
    second = client.responses.create(model=AGENT, input="And when does its warranty begin?", previous_response_id=first.id)
    assert "delivered" in second.output_text and second.previous_response_id == first.id, second
    stateless = client.responses.create(
        model=AGENT,
        store=False,
        input=[{"role": "user", "content": QUESTION}, *first.output, {"role": "user", "content": "And when does its warranty begin?"}],
    )
    assert "delivered" in stateless.output_text, stateless


def stream():
    with client.responses.stream(model="gpt-4o-mini", input=QUESTION, tools=[SEARCH]) as events:
        kinds, numbers, text = [], [], ""
        for event in events:
            kinds.append(event.type)
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                text += event.delta
        final = events.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert "response.file_search_call.searching" in kinds and "response.output_text.annotation.added" in kinds, kinds
    assert numbers == list(range(len(numbers))), numbers
    assert final.output_text == text and "thirty months" in text, text
    rest = [e.sequence_number for e in client.responses.retrieve(final.id, stream=True, starting_after=3)]
    assert rest == numbers[4:], rest


def background():
    got = client.responses.create(model=AGENT, input=QUESTION, background=True)
    assert got.status in ("queued", "in_progress"), got
    while got.status in ("queued", "in_progress"):
        time.sleep(0.05)
        got = client.responses.retrieve(got.id)
    assert got.status == "completed" and "thirty months" in got.output_text, got
    assert client.responses.cancel(got.id).status == "completed"
    kinds = [e.type for e in client.responses.create(model=AGENT, input=QUESTION, background=True, stream=True)]
    assert kinds[:3] == ["response.created", "response.queued", "response.in_progress"] and kinds[-1] == "response.completed", kinds


def conversation():
    made = client.conversations.create(metadata={"topic": "pumps"}, items=[{"type": "message", "role": "developer", "content": "Be brief."}])
    client.responses.create(model=AGENT, input=QUESTION, conversation=made.id)
    got = client.responses.create(model=AGENT, input="And when does its warranty begin?", conversation=made.id)
    assert "delivered" in got.output_text and got.conversation.id == made.id, got
    items = list(client.conversations.items.list(made.id, order="asc", limit=2))
    assert [i.role for i in items] == ["developer", "user", "assistant", "user", "assistant"], items
    assert client.conversations.items.retrieve(items[1].id, conversation_id=made.id).content[0].text == QUESTION
    added = client.conversations.items.create(made.id, items=[{"role": "user", "content": "Thanks."}])
    client.conversations.items.delete(added.data[0].id, conversation_id=made.id)
    assert len(list(client.conversations.items.list(made.id))) == 5
    assert client.conversations.update(made.id, metadata={"topic": "weights"}).metadata == {"topic": "weights"}
    assert client.conversations.retrieve(made.id).metadata == {"topic": "weights"}
    assert client.conversations.delete(made.id).deleted


def errors():
    for wrong, field in [
        ({"model": "no-such-model"}, "model"),
        ({"temperature": 3}, "temperature"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"previous_response_id": "resp_x"}, "previous_response_id"),
    ]:
        try:
            client.responses.create(**{"model": AGENT, "input": QUESTION, **wrong})
            raise AssertionError(f"{wrong} was accepted")
        except openai.APIStatusError as e:
            assert e.param == field, (wrong, e)


for check in [search, agent_and_chain, stream, background, conversation, errors]:
    check()
