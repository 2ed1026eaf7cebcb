"""Requests of other programs: tika-client and tika (Python), and the request forms of Dify and Open WebUI."""

import json
import os
import pathlib
import tempfile
import urllib.error
import urllib.parse
import urllib.request

os.environ["TIKA_CLIENT_ONLY"] = "true"  # otherwise tika downloads a server

import tika.parser  # noqa: E402
import tika_client  # noqa: E402

URL, KEY, STORE = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"], os.environ["DATASTORE"]
WITH_KEY = URL.replace("://", f"://key:{KEY}@")  # these clients have no setting for a key
HTML = b"<html><head><title>The pump</title></head><body><h1>Warranty</h1><p>It lasts thirty months.</p></body></html>"


def send(method, path, body, **headers):
    headers = {"Authorization": f"Bearer {KEY}"} | headers
    request = urllib.request.Request(URL + path, method=method, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def paperless():
    """Paperless reads office documents with tika-client."""
    with tempfile.TemporaryDirectory() as folder, tika_client.TikaClient(tika_url=WITH_KEY) as client:
        file = pathlib.Path(folder) / "pump.html"
        file.write_bytes(HTML)
        got = client.tika.as_text.from_file(file, "text/html")
        assert got.content.split() == "Warranty It lasts thirty months.".split(), got.data
        assert got.type == "text/html" and got.data["dc:title"] == "The pump", got.data
        assert "thirty months" in client.tika.as_text.from_buffer(HTML, "text/html").content
        assert "thirty months" in client.rmeta.as_text.from_file(file, "text/html")[0].content


def python_tika():
    got = tika.parser.from_buffer(HTML, serverEndpoint=URL, headers={"Authorization": f"Bearer {KEY}"})
    assert got["status"] == 200 and "thirty months" in got["content"], got
    assert got["metadata"]["dc:title"] == "The pump", got


def open_webui():
    name = urllib.parse.quote("Größe der Pumpe.html")
    status, got = send("PUT", "/process", HTML, **{"Content-Type": "text/html", "X-Filename": name})
    assert status == 200 and "thirty months" in got["page_content"], got
    assert got["metadata"]["source"] == "Größe der Pumpe.html", got
    status, got = send("PUT", "/process", b"<html></html>", **{"Content-Type": "text/html"})
    assert status == 422 and "No extractable text" in got["detail"], (status, got)
    status, got = send("PUT", "/tika/text", HTML, **{"Content-Type": "text/html"})
    assert status == 200 and "thirty months" in got["X-TIKA:content"], got


def dify():
    """The body that Dify's ExternalDatasetService sends."""
    def retrieve(key=KEY, **changed):
        asked = {
            "retrieval_setting": {"top_k": 2, "score_threshold": 0.0},
            "query": "How long is the warranty of the Aurora pump?",
            "knowledge_id": STORE,
        } | changed
        return send("POST", "/retrieval", json.dumps(asked).encode(), **{"Content-Type": "application/json", "Authorization": f"Bearer {key}"})

    status, got = retrieve()
    assert status == 200 and "thirty months" in got["records"][0]["content"], got
    assert got["records"][0]["title"] == "Manual of the pump" and 0 < got["records"][0]["score"] <= 1, got
    status, got = retrieve(retrieval_setting={"top_k": 2, "score_threshold": 1.0})
    assert status == 200 and got == {"records": []}, got
    status, got = retrieve(key="sk_wrong")
    assert status == 403 and got["error_code"] == 1002, got
    status, got = retrieve(knowledge_id="0198c0de-0000-7000-8000-0000000000ff")
    assert status == 404 and got["error_code"] == 2001, got
    status, got = send("POST", "/retrieval", None)  # Dify checks the address and the key without a body
    assert status == 400, got


for check in (paperless, python_tika, open_webui, dify):
    check()
    print("  ", check.__name__)
