"""Stands between Llama Stack's tests and a service: bridge.py PORT, with SLUICE_URL, SLUICE_API_KEY and CHECK_MODEL.

The tests send a key of their own, and look up the providers and models of Llama Stack's server before they begin. The bridge sends the
service's key instead, lists providers, and adds the chat model CHECK_MODEL to the list of models. It passes everything else on unchanged.
"""

import http.client
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SERVICE, KEY = urlsplit(os.environ["SLUICE_URL"]), os.environ["SLUICE_API_KEY"]
MODEL = os.environ["CHECK_MODEL"]
PROVIDERS = [
    {"api": api, "provider_id": name, "provider_type": kind, "config": {}, "health": {"status": "OK"}}
    for api, name, kind in [
        ("vector_io", "sqlite-vec", "inline::sqlite-vec"),  # the tests are skipped for providers that they do not know
        ("inference", "sluice", "remote::openai"),
        ("files", "sluice", "inline::localfs"),
    ]
]
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "authorization"}


class Bridge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        path = urlsplit(self.path).path
        if self.command == "GET" and path in ("/v1/providers", "/v1/health"):
            self.reply({"data": PROVIDERS} if path.endswith("providers") else {"status": "OK"})
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
        headers["Authorization"] = f"Bearer {KEY}"
        service = http.client.HTTPConnection(SERVICE.hostname, SERVICE.port, timeout=120)
        service.request(self.command, self.path, body or None, headers)
        answer = service.getresponse()
        if self.command == "GET" and path == "/v1/models" and answer.status == 200:
            models = json.load(answer)
            models["data"].append({"id": MODEL, "object": "model", "created": 1, "owned_by": "sluice"})
            self.reply(models)
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.read1(1 << 16):
            self.wfile.write(piece)
            self.wfile.flush()
        service.close()
        self.close_connection = True

    do_GET = do_POST = do_DELETE = do_PUT = pass_on

    def reply(self, value):
        encoded = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Bridge).serve_forever()
